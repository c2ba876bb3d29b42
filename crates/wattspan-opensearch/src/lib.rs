//! Writes a run's four tables into OpenSearch or Elasticsearch, where people share and query them.
//!
//! Take this crate to export runs from a program of your own. To export from the command line take `wattspan`; to keep runs
//! as files take `wattspan-dataset`, whose tables these are.
//!
//! ```
//! use wattspan_opensearch::{OpenSearchSink, Options, Secret};
//!
//! // Nothing is sent before `create`; what would show a password is refused at once.
//! let options = Options::default()
//!     .url("http://search.example:9200")
//!     .user("eval")
//!     .password(Secret::new("not-for-logs", "OPENSEARCH_PASSWORD"));
//! let refused = OpenSearchSink::new(options.clone()).unwrap_err().to_string();
//! assert!(refused.contains("use https") && !refused.contains("not-for-logs"));
//!
//! let sink = OpenSearchSink::new(options.url("https://search.example:9200"))?
//!     .on_progress(|progress| eprintln!("{} stored, {} waiting", progress.stored, progress.waiting()));
//! # drop(sink);
//! # Ok::<(), wattspan_opensearch::Error>(())
//! ```
//!
//! `docs/opensearch.md` has the indexes, their ids and mappings, and what happens when something fails.
//!
//! # Limits
//! The sink's methods need a Tokio runtime with I/O and time. At least OpenSearch 2.7 or Elasticsearch 8; not OpenSearch
//! Serverless, which has neither `GET /` nor ids of one's own everywhere. One bulk request is in memory (2 MiB unless set).
//!
//! # Features
//! | feature | what it adds |
//! | --- | --- |
//! | `aws` | `Aws`: requests signed for Amazon OpenSearch Service (Signature Version 4) |

#[cfg(feature = "aws")]
mod aws;
mod bulk;
mod check;
mod client;
mod dialect;
mod document;
mod error;
mod index;
mod mapping;
mod options;
mod progress;
mod refused;
mod response;
mod sink;

#[cfg(feature = "aws")]
pub use aws::Aws;
pub use check::{Report, Right, check};
pub use error::Error;
pub use mapping::{TEMPLATE_VERSION, template, template_name};
pub use options::{Options, Retry};
pub use progress::Progress;
pub use sink::{Indexes, OpenSearchSink};
pub use wattspan_core::Secret;
