use proptest::prelude::*;

use super::*;

/// Writes GGUF files as the specification says, byte by byte, independent of the reader.
#[derive(Clone)]
struct Made {
    keys: Vec<u8>,
    key_count: u64,
    tensors: Vec<u8>,
    tensor_count: u64,
    data: usize,
}

impl Made {
    fn new() -> Self {
        Self { keys: vec![], key_count: 0, tensors: vec![], tensor_count: 0, data: 0 }
    }

    fn key(mut self, name: &str, kind: u32, value: &[u8]) -> Self {
        self.keys.extend(text(name));
        self.keys.extend(kind.to_le_bytes());
        self.keys.extend(value);
        self.key_count += 1;
        self
    }

    fn text(self, name: &str, value: &str) -> Self {
        self.key(name, 8, &text(value))
    }

    fn tensor(mut self, name: &str, extents: &[u64], kind: u32, offset: u64) -> Self {
        self.tensors.extend(text(name));
        self.tensors.extend((extents.len() as u32).to_le_bytes());
        self.tensors.extend(extents.iter().flat_map(|extent| extent.to_le_bytes()));
        self.tensors.extend(kind.to_le_bytes());
        self.tensors.extend(offset.to_le_bytes());
        self.tensor_count += 1;
        self
    }

    fn data(mut self, bytes: usize) -> Self {
        self.data = bytes;
        self
    }

    fn bytes(&self) -> Vec<u8> {
        let mut file = b"GGUF".to_vec();
        file.extend(3_u32.to_le_bytes());
        file.extend(self.tensor_count.to_le_bytes());
        file.extend(self.key_count.to_le_bytes());
        file.extend(&self.keys);
        file.extend(&self.tensors);
        if self.data > 0 {
            file.resize(file.len().next_multiple_of(32) + self.data, 0);
        }
        file
    }
}

fn text(text: &str) -> Vec<u8> {
    let mut bytes = (text.len() as u64).to_le_bytes().to_vec();
    bytes.extend(text.bytes());
    bytes
}

fn read(bytes: &[u8]) -> Result<Gguf, GgufError> {
    Gguf::read(bytes, bytes.len() as u64)
}

/// Two tensors: 64 × 2 weights of Q4_1 (4 blocks of 20 bytes) and 8 of F32 at the next multiple of 32.
fn small() -> Made {
    Made::new()
        .text("general.architecture", "llama")
        .key("general.file_type", 4, &3_u32.to_le_bytes())
        .key("llama.context_length", 4, &8_192_u32.to_le_bytes())
        .key(
            "tokenizer.ggml.tokens",
            9,
            &[&8_u32.to_le_bytes()[..], &2_u64.to_le_bytes(), &text("a"), &text("bc")].concat(),
        )
        .key("tokenizer.ggml.scores", 9, &[&6_u32.to_le_bytes()[..], &2_u64.to_le_bytes(), &[0; 8]].concat())
        .key("general.quiet", 7, &[1])
        .key("general.shift", 11, &(-5_i64).to_le_bytes())
        .tensor("blk.0.weight", &[64, 2], 3, 0)
        .tensor("norm.weight", &[8], 0, 96)
        .data(128)
}

#[test]
fn a_made_file_is_read_back() {
    let gguf = read(&small().bytes()).unwrap();
    assert_eq!((gguf.version, gguf.tensors, gguf.parameters), (3, 2, 136));
    assert_eq!(gguf.tensor_bytes, Some(4 * 20 + 8 * 4));
    assert_eq!(gguf.text("general.architecture"), Some("llama"));
    assert_eq!(gguf.file_type().and_then(FileType::name), Some("Q4_1"));
    assert_eq!(gguf.number("llama.context_length"), Some(8_192));
    assert_eq!(gguf.metadata["tokenizer.ggml.tokens"], GgufValue::Skipped);
    assert_eq!(gguf.metadata["general.quiet"], GgufValue::Bool(true));
    assert_eq!(gguf.metadata["general.shift"], GgufValue::Signed(-5));
    assert_eq!(gguf.number("general.shift"), None);
}

#[test]
fn every_cut_of_a_file_is_told_as_cut_short() {
    let whole = small().bytes();
    for length in 0..whole.len() {
        let cut = read(&whole[..length]);
        assert!(
            matches!(cut, Err(GgufError::Truncated { needed, length: has }) if needed > has && has == length as u64),
            "{length} of {}: {cut:?}",
            whole.len()
        );
    }
}

#[test]
fn a_file_that_shrinks_while_it_is_read_is_told_as_cut_short() {
    let whole = small().bytes();
    let cut = Gguf::read(&whole[..100], whole.len() as u64);
    assert!(matches!(cut, Err(GgufError::Truncated { .. })), "{cut:?}");
}

#[test]
fn other_files_are_not_gguf() {
    for (found, shown) in
        [(&b"PK\x03\x04rest"[..], "`PK\\x03\\x04`"), (b"<!DOCTYPE html>", "`<!DO`"), (b"GG!", "`GG!\\x00`")]
    {
        let error = read(found).unwrap_err();
        assert!(matches!(error, GgufError::NotGguf { .. }), "{error:?}");
        assert!(error.to_string().contains(shown), "{error}");
    }
}

#[test]
fn versions_and_byte_orders_that_are_not_read_are_named() {
    let with_version = |version: [u8; 4]| {
        let mut bytes = small().bytes();
        bytes[4..8].copy_from_slice(&version);
        read(&bytes)
    };
    assert!(matches!(with_version(1_u32.to_le_bytes()), Err(GgufError::Version { version: 1 })));
    assert!(matches!(with_version(4_u32.to_le_bytes()), Err(GgufError::Version { version: 4 })));
    assert!(matches!(with_version(3_u32.to_be_bytes()), Err(GgufError::ByteOrder)));
    assert!(with_version(2_u32.to_le_bytes()).is_ok());
}

#[test]
fn lengths_that_are_only_claimed_allocate_nothing() {
    let claims = [
        Made::new().key("k", 8, &u64::MAX.to_le_bytes()),
        Made::new().key("k", 9, &[&8_u32.to_le_bytes()[..], &u64::MAX.to_le_bytes()].concat()),
        Made::new().key("k", 9, &[&0_u32.to_le_bytes()[..], &u64::MAX.to_le_bytes()].concat()),
        Made::new().tensor("t", &[1 << 40], 0, 0),
    ];
    for claim in claims {
        let read = read(&claim.bytes());
        assert!(matches!(read, Err(GgufError::Truncated { .. })), "{read:?}");
    }
}

#[test]
fn contradictions_are_told_with_their_place() {
    let cases = [
        (Made::new().key("k", 13, &[0; 8]), "unknown type"),
        (Made::new().key("k", 9, &[&9_u32.to_le_bytes()[..], &1_u64.to_le_bytes()].concat()), "unknown type"),
        (
            Made::new().key("k", 9, &[&12_u32.to_le_bytes()[..], &u64::MAX.to_le_bytes()].concat()),
            "larger than any file",
        ),
        (Made::new().key("general.alignment", 4, &48_u32.to_le_bytes()), "power of two"),
        (Made::new().tensor("t", &[1; 5], 0, 0), "four dimensions"),
        (Made::new().tensor("t", &[u64::MAX, 2], 0, 0), "larger than any file"),
        (Made::new().tensor("t", &[31, 1], 3, 0), "whole number of blocks"),
        (Made::new().tensor("t", &[8], 0, 7), "not aligned"),
        (Made::new().tensor("t", &[8], 0, u64::MAX - 31), "larger than any file"),
    ];
    for (made, what) in cases {
        let error = read(&made.bytes()).unwrap_err();
        assert!(
            matches!(error, GgufError::Malformed { .. }) && error.to_string().contains(what),
            "{what}: {error}"
        );
    }
}

#[test]
fn a_tensor_type_of_a_later_version_leaves_the_size_open() {
    let gguf = read(&Made::new().tensor("t", &[64], 99, 0).data(32).bytes()).unwrap();
    assert_eq!((gguf.parameters, gguf.tensor_bytes), (64, None));
}

#[test]
fn names_of_file_types_are_those_of_llama_cpp() {
    // llama.h: LLAMA_FTYPE_MOSTLY_Q4_1 = 3, …_Q4_K_M = 15, …_BF16 = 32; LLAMA_FTYPE_GUESSED = 1024 is added to them.
    for (number, name) in
        [(3, Some("Q4_1")), (15, Some("Q4_K_M")), (32, Some("BF16")), (1024 + 7, Some("Q8_0")), (33, None)]
    {
        assert_eq!(FileType::new(number).name(), name, "{number}");
    }
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let _ = read(&bytes);
        let _ = read(&[b"GGUF\x03\0\0\0".as_slice(), &bytes].concat());
    }

    #[test]
    fn no_changed_byte_makes_it_panic(at in 0_usize..500, to in any::<u8>()) {
        let mut bytes = small().bytes();
        let at = at % bytes.len();
        bytes[at] = to;
        let _ = read(&bytes);
    }
}
