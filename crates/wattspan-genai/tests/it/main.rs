//! The crate from outside: what it records, told by an SDK's in-memory exporters and held against the conventions.

mod content;
mod context;
mod ends;
mod events;
mod held;
mod inference;
mod metrics;
mod properties;
mod settle;
mod steps;
mod streams;
mod support;
