//! Real inference with the small model that `cargo xtask setup` installs.

mod answers;
mod batches;
mod failures;
mod loads;
mod support;
