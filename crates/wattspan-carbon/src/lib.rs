//! Grid carbon intensity, place, cloud tables and electricity prices for wattspan.
