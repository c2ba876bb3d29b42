//! Energy, carbon and cost of every local LLM inference, as OpenTelemetry GenAI spans and metrics.
