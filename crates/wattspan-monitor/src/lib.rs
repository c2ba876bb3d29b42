//! Sampler, settlement and hardware metrics of wattspan.
