//! Pure energy accounting: counters, integration, ledger, attribution and uncertainty.
