//! A scripted look-alike of libnvidia-ml for tests without a GPU.
