//! What the end-to-end tests share: an OTLP receiver in this process and real ones.

mod conform;
mod eval;
mod otlp;
mod peers;
mod workload;

pub use conform::violations;
pub use eval::{ATTEMPTS, CASES, EvalRun, INTENSITY, PRICE};
pub use otlp::{Receiver, attribute, double, text};
pub use peers::{DEADLINE, Gateway, Prometheus, Rotel, eventually, free_port, get, promtool};
pub use workload::{Kept, Machine, WATTS};
