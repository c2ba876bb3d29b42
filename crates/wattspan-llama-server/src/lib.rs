//! Instrumented client for llama-server and OpenAI-compatible servers.
