//! The rows of the four tables. Columns that SMOLTRACE has come first, under its names and in its order; ours follow.

mod leaderboard;
mod metric;
mod result;
mod trace;

pub use leaderboard::{GpuMemory, GpuSummary, HardwareDetail, LeaderboardRow};
pub use metric::MetricRow;
pub use result::ResultRow;
#[cfg(feature = "spans")]
pub(crate) use trace::millis;
pub use trace::{EventRow, LinkRow, ResourceRow, SpanRow, StatusRow, TraceRow};
