//! The contract of wattspan: units, readings, devices, inference records and traits.
