//! OpenTelemetry GenAI instrumentation for inferences, tools, agents and retrieval.
