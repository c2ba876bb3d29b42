//! NVIDIA GPU collector for wattspan over NVML.
