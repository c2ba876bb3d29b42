//! CPU, DRAM, hwmon and battery energy collector for wattspan.
