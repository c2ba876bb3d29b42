//! Live sources.
