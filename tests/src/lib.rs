//! End-to-end tests against real peers.
