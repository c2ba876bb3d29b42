//! The collector against trees of files in memory, where every file can also be refused.

mod host;
mod random;
mod rapl;
mod tree;
