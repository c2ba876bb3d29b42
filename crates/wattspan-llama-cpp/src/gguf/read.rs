//! The reader: a position, a bound, and the layout.

use std::collections::BTreeMap;
use std::io::{self, Read};

use super::{Gguf, GgufError, GgufValue, tensor};

pub(super) fn read(input: impl Read, length: u64) -> Result<Gguf, GgufError> {
    let mut reader = Reader { input, length, position: 0 };
    let version = preamble(&mut reader)?;
    let tensors = reader.u64()?;
    let keys = reader.u64()?;
    let mut metadata = BTreeMap::new();
    for _ in 0..keys {
        let key = reader.key()?;
        let kind = reader.u32()?;
        let value = reader.value(kind)?;
        metadata.insert(key, value);
    }
    let mut gguf = Gguf { version, tensors, parameters: 0, tensor_bytes: Some(0), metadata };
    let alignment = gguf.number("general.alignment").unwrap_or(DEFAULT_ALIGNMENT);
    if !alignment.is_power_of_two() || alignment > MAX_ALIGNMENT {
        return Err(reader.malformed("its alignment is no power of two"));
    }
    let mut data_end = 0;
    for _ in 0..tensors {
        let end = tensor_info(&mut reader, &mut gguf, alignment)?;
        data_end = data_end.max(end);
    }
    if tensors > 0 {
        // The data section begins at the next multiple of the alignment.
        let begin = reader.position.checked_next_multiple_of(alignment);
        let needed = begin.and_then(|begin| begin.checked_add(data_end));
        let needed = needed.ok_or_else(|| reader.malformed("a tensor lies beyond any file"))?;
        if needed > length {
            return Err(GgufError::Truncated { needed, length });
        }
    }
    Ok(gguf)
}

fn preamble<R: Read>(reader: &mut Reader<R>) -> Result<u32, GgufError> {
    let mut found = [0; 4];
    let has = usize::try_from(reader.length.min(4)).unwrap_or(4);
    reader.fill(&mut found[..has])?;
    if has < 4 && MAGIC.starts_with(&found[..has]) {
        return Err(GgufError::Truncated { needed: SMALLEST, length: reader.length });
    }
    if &found != MAGIC {
        return Err(GgufError::NotGguf { found });
    }
    let version = reader.u32()?;
    match version {
        2 | 3 => Ok(version),
        // A small number that went through the other byte order has its low half empty.
        swapped if swapped != 0 && swapped.trailing_zeros() >= 16 => Err(GgufError::ByteOrder),
        version => Err(GgufError::Version { version }),
    }
}

/// Reads one tensor's description; answers where its data ends in the data section.
fn tensor_info<R: Read>(reader: &mut Reader<R>, gguf: &mut Gguf, alignment: u64) -> Result<u64, GgufError> {
    reader.key()?;
    let dimensions = reader.u32()?;
    if dimensions > MAX_DIMENSIONS {
        return Err(reader.malformed("a tensor has more than four dimensions"));
    }
    let (mut row, mut elements) = (1_u64, 1_u64);
    for at in 0..dimensions {
        let extent = reader.u64()?;
        if at == 0 {
            row = extent;
        }
        elements = elements
            .checked_mul(extent)
            .ok_or_else(|| reader.malformed("a tensor is larger than any file"))?;
    }
    let kind = reader.u32()?;
    let offset = reader.u64()?;
    if offset % alignment != 0 {
        return Err(reader.malformed("a tensor is not aligned"));
    }
    let total = gguf.parameters.checked_add(elements);
    gguf.parameters = total.ok_or_else(|| reader.malformed("the tensors are larger than any file"))?;
    let Some(block) = tensor::block(kind) else {
        // A type of a later ggml: the tensor has to begin inside the file, and its size is left open.
        gguf.tensor_bytes = None;
        return Ok(offset);
    };
    if row % block.elements != 0 {
        return Err(reader.malformed("a tensor's rows are no whole number of blocks"));
    }
    let size = (elements / block.elements).checked_mul(block.bytes);
    let end = size.and_then(|size| offset.checked_add(size));
    let (Some(size), Some(end)) = (size, end) else {
        return Err(reader.malformed("a tensor is larger than any file"));
    };
    gguf.tensor_bytes = gguf.tensor_bytes.and_then(|bytes| bytes.checked_add(size));
    Ok(end)
}

struct Reader<R> {
    input: R,
    length: u64,
    position: u64,
}

impl<R: Read> Reader<R> {
    fn malformed(&self, what: &'static str) -> GgufError {
        GgufError::Malformed { offset: self.position, what }
    }

    /// Moves the position, if the file is that long.
    fn claim(&mut self, bytes: u64) -> Result<(), GgufError> {
        let needed = self.position.saturating_add(bytes);
        if needed > self.length {
            return Err(GgufError::Truncated { needed, length: self.length });
        }
        self.position = needed;
        Ok(())
    }

    fn fill(&mut self, into: &mut [u8]) -> Result<(), GgufError> {
        self.claim(into.len() as u64)?;
        self.input.read_exact(into).map_err(|error| self.failed(error))
    }

    fn skip(&mut self, bytes: u64) -> Result<(), GgufError> {
        self.claim(bytes)?;
        let copied = io::copy(&mut self.input.by_ref().take(bytes), &mut io::sink());
        let copied = copied.map_err(|error| self.failed(error))?;
        if copied == bytes { Ok(()) } else { Err(self.failed(io::ErrorKind::UnexpectedEof.into())) }
    }

    /// A file that ends early although its length said otherwise has been cut while it was read.
    fn failed(&self, error: io::Error) -> GgufError {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => GgufError::Truncated {
                needed: self.position,
                length: self.length.min(self.position.saturating_sub(1)),
            },
            _ => GgufError::Io(error),
        }
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], GgufError> {
        let mut bytes = [0; N];
        self.fill(&mut bytes)?;
        Ok(bytes)
    }

    fn u32(&mut self) -> Result<u32, GgufError> {
        self.array().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Result<u64, GgufError> {
        self.array().map(u64::from_le_bytes)
    }

    fn key(&mut self) -> Result<String, GgufError> {
        let length = self.u64()?;
        if length > MAX_KEY {
            return Err(self.malformed("a name is longer than the specification allows"));
        }
        self.string(length)
    }

    fn string(&mut self, length: u64) -> Result<String, GgufError> {
        // Claimed before it is allocated: a length that the file only pretends to have costs nothing.
        self.claim(length)?;
        let mut bytes = Vec::new();
        let read = self.input.by_ref().take(length).read_to_end(&mut bytes);
        read.map_err(|error| self.failed(error))?;
        if bytes.len() as u64 != length {
            return Err(self.failed(io::ErrorKind::UnexpectedEof.into()));
        }
        Ok(String::from_utf8(bytes)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
    }

    fn value(&mut self, kind: u32) -> Result<GgufValue, GgufError> {
        Ok(match kind {
            0 => GgufValue::Unsigned(self.array::<1>()?[0].into()),
            1 => GgufValue::Signed(i8::from_le_bytes(self.array()?).into()),
            2 => GgufValue::Unsigned(u16::from_le_bytes(self.array()?).into()),
            3 => GgufValue::Signed(i16::from_le_bytes(self.array()?).into()),
            4 => GgufValue::Unsigned(self.u32()?.into()),
            5 => GgufValue::Signed(i32::from_le_bytes(self.array()?).into()),
            6 => GgufValue::Float(f32::from_le_bytes(self.array()?).into()),
            7 => GgufValue::Bool(self.array::<1>()?[0] != 0),
            8 => {
                let length = self.u64()?;
                if length <= MAX_TEXT {
                    GgufValue::Text(self.string(length)?)
                } else {
                    self.skip(length)?;
                    GgufValue::Skipped
                }
            }
            9 => {
                self.list()?;
                GgufValue::Skipped
            }
            10 => GgufValue::Unsigned(self.u64()?),
            11 => GgufValue::Signed(i64::from_le_bytes(self.array()?)),
            12 => GgufValue::Float(f64::from_le_bytes(self.array()?)),
            _ => return Err(self.malformed("a value is of an unknown type")),
        })
    }

    fn list(&mut self) -> Result<(), GgufError> {
        let kind = self.u32()?;
        let count = self.u64()?;
        let width = match kind {
            0 | 1 | 7 => 1,
            2 | 3 => 2,
            4..=6 => 4,
            10..=12 => 8,
            8 => {
                for _ in 0..count {
                    let length = self.u64()?;
                    self.skip(length)?;
                }
                return Ok(());
            }
            _ => return Err(self.malformed("a list is of an unknown type")),
        };
        let bytes = u64::checked_mul(width, count);
        let bytes = bytes.ok_or_else(|| self.malformed("a list is larger than any file"))?;
        self.skip(bytes)
    }
}

const MAGIC: &[u8; 4] = b"GGUF";

/// Magic, version and the two counts.
const SMALLEST: u64 = 24;

/// GGUF specification: keys have at most 2^16 − 1 bytes. Tensors' names are shorter.
const MAX_KEY: u64 = 65_535;

/// Longer texts (there are chat templates of some 10 KiB) are of no use here.
const MAX_TEXT: u64 = 1 << 20;

/// ggml, `GGML_MAX_DIMS`.
const MAX_DIMENSIONS: u32 = 4;

/// GGUF specification, `general.alignment`.
const DEFAULT_ALIGNMENT: u64 = 32;

/// It is a 32-bit number in the specification.
const MAX_ALIGNMENT: u64 = 1 << 31;
