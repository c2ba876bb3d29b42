//! Generated gen_ai and hw semantic-convention names, profiles and a conformance checker.
