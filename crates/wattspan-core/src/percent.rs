//! Percent-encoded text, as in the `key=value` pairs of the environment.

/// Decodes `%20` and its like. A `%` that two hexadecimal digits do not follow stays, and bytes that are no UTF-8 become
/// replacement characters.
///
/// **Source** W3C Baggage, "value", which OpenTelemetry takes for `OTEL_RESOURCE_ATTRIBUTES` and OTLP headers.
///
/// ```
/// assert_eq!(wattspan_core::percent_decoded("Bearer%20a%E2%82%AC"), "Bearer a€");
/// assert_eq!(wattspan_core::percent_decoded("50% of %+1"), "50% of %+1");
/// ```
pub fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let digit = |at: usize| tail.get(at).and_then(|byte| char::from(*byte).to_digit(16));
        if let (b'%', Some(high), Some(low)) = (first, digit(0), digit(1)) {
            // Two hexadecimal digits fit into a byte.
            bytes.push((high * 16 + low) as u8);
            rest = &tail[2..];
        } else {
            bytes.push(*first);
            rest = tail;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::percent_decoded;

    #[test]
    fn only_two_hexadecimal_digits_are_decoded() {
        for (text, expected) in [
            ("", ""),
            ("%41%2c%2C", "A,,"),
            ("%", "%"),
            ("%4", "%4"),
            ("100%", "100%"),
            ("%zz%4x", "%zz%4x"),
            ("%-1%+f", "%-1%+f"),
            ("%%41", "%A"),
            ("€%FF", "€\u{fffd}"),
        ] {
            assert_eq!(percent_decoded(text), expected, "{text}");
        }
    }
}
