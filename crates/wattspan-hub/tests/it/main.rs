//! Runs pushed to a Hub that keeps state, seen as its users see it.

mod cases;
mod check;
mod conflicts;
mod faults;
mod push;
mod python;
mod support;
