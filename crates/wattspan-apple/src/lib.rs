//! Apple silicon collector for wattspan.
