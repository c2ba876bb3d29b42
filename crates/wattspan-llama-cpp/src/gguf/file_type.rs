//! Names of quantisations.

use std::fmt;

/// How most of a model's tensors are quantised: llama.cpp's `llama_ftype`.
///
/// ```
/// use wattspan_llama_cpp::FileType;
///
/// assert_eq!(FileType::new(15).to_string(), "Q4_K_M");
/// assert_eq!(FileType::new(999).to_string(), "file type 999");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FileType(u64);

impl FileType {
    /// From the number in `general.file_type`.
    pub const fn new(number: u64) -> Self {
        // llama.cpp marks a type that it has guessed from the tensors with a bit of its own.
        Self(number & !GUESSED)
    }

    /// The number.
    pub const fn number(self) -> u64 {
        self.0
    }

    /// The name, as in the names of files; `None` for a type that was removed or came later.
    ///
    /// **Source** llama.cpp as in llama-cpp-sys-2 0.1.161, `llama.h`, `enum llama_ftype`.
    pub const fn name(self) -> Option<&'static str> {
        Some(match self.0 {
            0 => "F32",
            1 => "F16",
            2 => "Q4_0",
            3 => "Q4_1",
            7 => "Q8_0",
            8 => "Q5_0",
            9 => "Q5_1",
            10 => "Q2_K",
            11 => "Q3_K_S",
            12 => "Q3_K_M",
            13 => "Q3_K_L",
            14 => "Q4_K_S",
            15 => "Q4_K_M",
            16 => "Q5_K_S",
            17 => "Q5_K_M",
            18 => "Q6_K",
            19 => "IQ2_XXS",
            20 => "IQ2_XS",
            21 => "Q2_K_S",
            22 => "IQ3_XS",
            23 => "IQ3_XXS",
            24 => "IQ1_S",
            25 => "IQ4_NL",
            26 => "IQ3_S",
            27 => "IQ3_M",
            28 => "IQ2_S",
            29 => "IQ2_M",
            30 => "IQ4_XS",
            31 => "IQ1_M",
            32 => "BF16",
            36 => "TQ1_0",
            37 => "TQ2_0",
            38 => "MXFP4_MOE",
            39 => "NVFP4",
            40 => "Q1_0",
            41 => "Q2_0",
            _ => return None,
        })
    }
}

impl fmt::Display for FileType {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => out.write_str(name),
            None => write!(out, "file type {}", self.0),
        }
    }
}

/// llama.cpp, `LLAMA_FTYPE_GUESSED`.
const GUESSED: u64 = 1024;
