//! Any bytes as a GGUF file of any length: a head or an error, without reading or keeping more than the bytes there are.
#![no_main]

use libfuzzer_sys::fuzz_target;
use wattspan_llama_cpp::Gguf;

fuzz_target!(|input: (u32, &[u8])| {
    let (more, bytes) = input;
    let _ = Gguf::read(bytes, bytes.len() as u64 + u64::from(more));
    // Blind bytes seldom begin with the magic and a version that is known.
    let mut file = b"GGUF\x03\0\0\0".to_vec();
    file.extend_from_slice(bytes);
    if let Ok(head) = Gguf::read(&*file, file.len() as u64) {
        let _ = head.text("general.architecture");
        let _ = head.file_type();
    }
});
