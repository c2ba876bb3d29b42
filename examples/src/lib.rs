//! Runnable programs that use wattspan as a stranger would.
