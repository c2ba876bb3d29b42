//! Loading: facts, telemetry, and files that are no whole models.

use std::fs;
use std::io::Read as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use opentelemetry::trace::SpanKind;
use wattspan_core::{Bytes, Workload};
use wattspan_llama_cpp::{Error, FileType, Gguf, GgufError, Model, ModelFacts, ModelOptions};
use wattspan_testkit::peers;

use crate::support::{Rig, facts, number, text};

#[test]
fn a_load_is_an_operation_of_its_own_with_the_models_facts() {
    let rig = Rig::new();
    let model = rig.model();
    let span = rig.span();
    assert_eq!((&*span.name, &span.span_kind), ("load smollm2", &SpanKind::Internal));
    assert_eq!(text(&span, "wattspan.model.architecture").as_deref(), Some("llama"));
    assert_eq!(text(&span, "wattspan.model.quantization").as_deref(), Some("Q4_1"));
    assert_eq!(text(&span, "wattspan.model.license").as_deref(), Some("apache-2.0"));
    assert_eq!(number(&span, "wattspan.model.context_length"), 8_192);
    let (parameters, size) =
        (number(&span, "wattspan.model.parameters"), number(&span, "wattspan.model.size"));
    assert_eq!(u64::try_from(parameters).unwrap(), model.facts().parameters);
    assert_eq!(u64::try_from(size).unwrap(), model.facts().size.unwrap().bytes());
    assert!(span.attributes.iter().all(|pair| !pair.key.as_str().starts_with("gguf.")), "{span:?}");
    assert!(span.end_time > span.start_time);
    let seen = rig.seen();
    assert_eq!((seen.begin.workload, seen.prompted, seen.decoded), (Workload::Load, 0, 0));
    assert!(facts(&seen).error_type.is_none());

    // The head alone says the same as llama.cpp does of the loaded model.
    let gguf = Gguf::open(&peers::model()).unwrap();
    assert_eq!(&ModelFacts::new(&gguf), model.facts());
    let llama = model.llama();
    assert_eq!(gguf.parameters, llama.n_params());
    assert_eq!(gguf.tensor_bytes, Some(llama.size()));
    assert_eq!(model.facts().size, Some(Bytes::new(llama.size())));
    for (key, value) in &gguf.metadata {
        if let wattspan_llama_cpp::GgufValue::Text(value) = value {
            assert_eq!(llama.meta_val_str(key).ok().as_ref(), Some(value), "{key}");
        }
    }
    // HuggingFaceTB/SmolLM2-135M-Instruct: a Llama of 135 million weights, 8,192 tokens, Apache-2.0.
    assert_eq!(model.facts().file_type, Some(FileType::new(3)));
    assert!((130_000_000..170_000_000).contains(&model.facts().parameters), "{:?}", model.facts());
    assert_eq!(model.facts().license.as_deref(), Some("apache-2.0"));
}

#[test]
fn without_a_name_the_file_names_the_model() {
    let rig = Rig::new();
    let path = peers::model();
    let model = Model::load(&rig.genai, &path, &ModelOptions::default().gpu_layers(0)).unwrap();
    assert_eq!(model.name(), path.file_stem().unwrap().to_str().unwrap());
    assert_eq!(format!("{model:?}").matches("llama").count(), 1, "architecture, and no pointers");
}

#[test]
fn files_that_are_no_whole_models_are_told_apart() {
    let folder = Folder::new();
    let mut start = vec![0; 1 << 20];
    fs::File::open(peers::model()).unwrap().read_exact(&mut start).unwrap();
    let whole = fs::metadata(peers::model()).unwrap().len();

    let error = fails(&folder.file("page.gguf", b"<!DOCTYPE html><title>404</title>"), "not_gguf");
    assert!(matches!(error, Error::File { source: GgufError::NotGguf { .. }, .. }));

    let cut = fails(&folder.file("cut.gguf", &start), "truncated_file");
    assert!(
        matches!(cut, Error::File { source: GgufError::Truncated { length: 1_048_576, .. }, .. }),
        "{cut:?}"
    );
    assert!(cut.to_string().contains("cut.gguf"));

    // Cut in its tensors, where only their sizes tell: the last byte is missing.
    let almost = folder.file("almost.gguf", &[]);
    fs::copy(peers::model(), &almost).unwrap();
    fs::OpenOptions::new().write(true).open(&almost).unwrap().set_len(whole - 1).unwrap();
    let cut = fails(&almost, "truncated_file");
    assert!(
        matches!(cut, Error::File { source: GgufError::Truncated { needed, length }, .. } if (needed, length) == (whole, whole - 1)),
        "{cut:?}"
    );

    start[4] = 9;
    fails(&folder.file("later.gguf", &start), "unsupported_gguf");
    fails(&folder.path("nowhere.gguf"), "not_found");
    fails(&folder.0, "unreadable_file");
}

#[test]
fn what_llama_cpp_does_not_take_is_told_with_its_reason() {
    let folder = Folder::new();
    let mut file = b"GGUF\x03\0\0\0".to_vec();
    file.extend([0_u64.to_le_bytes(), 1_u64.to_le_bytes()].concat());
    file.extend((20_u64).to_le_bytes());
    file.extend(b"general.architecture");
    file.extend(8_u32.to_le_bytes());
    file.extend(7_u64.to_le_bytes());
    file.extend(b"no-such");
    let error = fails(&folder.file("odd.gguf", &file), "load_refused");
    assert!(error.to_string().contains("no-such"), "the reason is llama.cpp's: {error}");
}

#[test]
fn llama_cpps_log_goes_to_tracing() {
    let rig = Rig::new();
    let lines = Lines::default();
    let subscriber = tracing_subscriber::fmt()
        .with_writer(Mutex::new(lines.clone()))
        .with_max_level(tracing::Level::DEBUG)
        .with_ansi(false)
        .finish();
    tracing::subscriber::with_default(subscriber, || rig.model());
    let lines = String::from_utf8_lossy(&lines.0.lock().unwrap()).into_owned();
    assert!(
        lines.lines().any(|line| line.contains("llama-cpp-2") && line.contains("general.architecture")),
        "{lines}"
    );
}

#[track_caller]
fn fails(path: &std::path::Path, error_type: &str) -> Error {
    let rig = Rig::new();
    let error = Model::load(&rig.genai, path, &ModelOptions::default().gpu_layers(0)).unwrap_err();
    assert_eq!(error.error_type(), error_type, "{error:?}");
    let span = rig.span();
    assert!(span.name.starts_with("load "));
    assert_eq!(text(&span, "error.type").as_deref(), Some(error_type));
    error
}

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// A folder that goes when the test ends.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NEXT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let number = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let folder =
            PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-{number}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn file(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, bytes).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
