//! Runnable programs that use wattspan as a stranger would. `src/bin/` has one file for each; this part holds the table
//! that the demo prints.

pub mod table;
