//! Instrumented in-process llama.cpp sessions over llama-cpp-2.
