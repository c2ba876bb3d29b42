// Written by `cargo xtask codegen` from `registry/*.json`: change those and run it again.
// Length: generated.
//! Generated tables and names.

pub mod attr;
pub(crate) mod core;
pub mod env;
pub mod event;
pub(crate) mod genai;
pub(crate) mod hw;
pub(crate) mod key;
pub(crate) mod measure;
pub mod metric;
pub(crate) mod operation;
pub(crate) mod own;
pub(crate) mod rename;
pub(crate) mod smoltrace;
pub(crate) mod span;
pub mod value;
