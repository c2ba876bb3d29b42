//! AMD GPU collector for wattspan: amdgpu sysfs, gpu_metrics and hwmon.
