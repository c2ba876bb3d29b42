//! Runnable programs that use wattspan as a stranger would. `src/bin/` has one file for each; this part holds what the
//! demo prints and runs.

#[cfg(feature = "llama-cpp")]
pub mod in_process;
pub mod run_folder;
pub mod table;
