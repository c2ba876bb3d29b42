//! How every number is written, in all formats: SI prefixes, and as many digits as its ± is worth.

/// What a figure counts. A figure keeps the unit of its column; the text may have another prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    Joule,
    JoulePerToken,
    /// Only beside the same energy in joules.
    WattHour,
    Watt,
    Gram,
    GramPerKwh,
    Usd,
    Millisecond,
    TokenPerSecond,
    Count,
    Percent,
    /// A fraction of 1, written in per cent.
    Ratio,
    Mebibyte,
    Celsius,
}

impl Unit {
    /// The unit of the raw value.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Joule => "J",
            Self::JoulePerToken => "J/token",
            Self::WattHour => "Wh",
            Self::Watt => "W",
            Self::Gram => "gCO2e",
            Self::GramPerKwh => "gCO2e/kWh",
            Self::Usd => "USD",
            Self::Millisecond => "ms",
            Self::TokenPerSecond => "token/s",
            Self::Count | Self::Ratio => "1",
            Self::Percent => "%",
            Self::Mebibyte => "MiB",
            Self::Celsius => "Cel",
        }
    }
}

/// A value with its unit, and its ± where there is one.
pub(crate) fn show(value: f64, plus_minus: Option<f64>, unit: Unit) -> String {
    let plus_minus = plus_minus.filter(|half| half.is_finite() && *half > 0.0);
    match unit {
        Unit::Joule => prefixed(value, plus_minus, "J", &[-6, -3, 0, 3, 6, 9, 12]),
        Unit::JoulePerToken => prefixed(value, plus_minus, "J/token", &[-6, -3, 0, 3, 6]),
        Unit::WattHour => prefixed(value, plus_minus, "Wh", &[-6, -3, 0, 3, 6]),
        Unit::Watt => prefixed(value, plus_minus, "W", &[-3, 0, 3, 6, 9]),
        Unit::Gram => prefixed(value, plus_minus, "g\u{a0}CO₂e", &[-6, -3, 0, 3]),
        Unit::GramPerKwh => joined(value, plus_minus, "g/kWh"),
        Unit::Usd => dollars(value, plus_minus),
        Unit::Millisecond => time(value, plus_minus),
        Unit::TokenPerSecond => joined(value, plus_minus, "token/s"),
        Unit::Count => grouped(value, 0),
        Unit::Percent => percent(value),
        Unit::Ratio => percent(value * 100.0),
        Unit::Mebibyte if value.abs() >= 1_023.5 => joined(value / 1_024.0, None, "GiB"),
        Unit::Mebibyte => joined(value, plus_minus, "MiB"),
        Unit::Celsius => joined(value, plus_minus, "°C"),
    }
}

/// A tick of an axis: without the zeros that a measured value would have.
pub(crate) fn tick(value: f64, unit: Unit) -> String {
    let text = show(value, None, unit);
    let (number, unit) = text.split_once('\u{a0}').unwrap_or((&text, ""));
    let short =
        if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { number };
    if unit.is_empty() { short.to_owned() } else { format!("{short}\u{a0}{unit}") }
}

/// A value with three significant digits, without a unit: for the ticks of an axis that names its own.
pub(crate) fn significant(value: f64) -> String {
    grouped(value, decimals(value))
}

/// With the prefix among `exponents` that leaves the value between 1 and 1000.
fn prefixed(value: f64, plus_minus: Option<f64>, unit: &str, exponents: &[i32]) -> String {
    let largest = value.abs().max(plus_minus.unwrap_or(0.0));
    let exponent = exponent(largest, exponents);
    let scale = 10_f64.powi(exponent);
    let prefix = match exponent {
        -6 => "µ",
        -3 => "m",
        3 => "k",
        6 => "M",
        9 => "G",
        12 => "T",
        _ => "",
    };
    joined(value / scale, plus_minus.map(|half| half / scale), &format!("{prefix}{unit}"))
}

/// The exponent of the prefix. What rounds up to 1000 has the next one.
fn exponent(largest: f64, exponents: &[i32]) -> i32 {
    if largest == 0.0 {
        return 0;
    }
    let fits = |exponent: &&i32| largest / 10_f64.powi(**exponent) < 999.5;
    exponents.iter().find(fits).or(exponents.last()).copied().unwrap_or(0)
}

fn joined(value: f64, plus_minus: Option<f64>, unit: &str) -> String {
    match plus_minus {
        None => format!("{}\u{a0}{unit}", significant(value)),
        Some(half) => {
            let digits = uncertain_decimals(half);
            format!("{}\u{a0}±\u{a0}{}\u{a0}{unit}", grouped(value, digits), grouped(half, digits))
        }
    }
}

/// Decimals that leave a ± two digits when it begins with 1 or 2, else one: further digits of the value say nothing.
fn uncertain_decimals(half: f64) -> usize {
    let magnitude = half.log10().floor();
    let leading = half / 10_f64.powf(magnitude);
    let more = if leading < 2.95 { 1.0 } else { 0.0 };
    (more - magnitude).clamp(0.0, 9.0) as usize
}

/// Decimals that leave a value three significant digits.
fn decimals(value: f64) -> usize {
    if value == 0.0 {
        return 0;
    }
    let magnitude = value.abs().log10().floor();
    // 9.999 has three digits as 10.0, not as 10.00.
    let rounded_up = value.abs() / 10_f64.powf(magnitude) >= 9.995;
    (2.0 - magnitude - f64::from(u8::from(rounded_up))).clamp(0.0, 12.0) as usize
}

fn dollars(value: f64, plus_minus: Option<f64>) -> String {
    match plus_minus {
        None if value.abs() >= 1.0 => format!("{}\u{a0}USD", grouped(value, 2)),
        _ => joined(value, plus_minus, "USD"),
    }
}

fn percent(value: f64) -> String {
    let digits = if value == 0.0 || value.abs() >= 99.95 { 0 } else { decimals(value).min(2) };
    format!("{}\u{a0}%", grouped(value, digits))
}

/// Milliseconds as a time that people read: parts of a second with a prefix, from two minutes on in parts.
fn time(millis: f64, plus_minus: Option<f64>) -> String {
    let seconds = millis / 1e3;
    if plus_minus.is_some() || seconds.abs() < 119.5 {
        return prefixed(seconds, plus_minus.map(|half| half / 1e3), "s", &[-6, -3, 0]);
    }
    let whole = seconds.abs().round() as u64;
    let (days, hours, minutes) = (whole / 86_400, whole / 3_600 % 24, whole / 60 % 60);
    let sign = if seconds < 0.0 { MINUS } else { "" };
    if days >= 2 {
        format!("{sign}{days}\u{a0}d {hours}\u{a0}h")
    } else if whole >= 7_200 {
        format!("{sign}{}\u{a0}h {minutes}\u{a0}min", whole / 3_600)
    } else {
        format!("{sign}{}\u{a0}min {}\u{a0}s", whole / 60, whole % 60)
    }
}

/// With so many decimals, and the whole part in groups of three from 10 000 on.
fn grouped(value: f64, decimals: usize) -> String {
    let text = format!("{:.decimals$}", value.abs());
    let (whole, fraction) = text.split_once('.').map_or((text.as_str(), None), |(a, b)| (a, Some(b)));
    let mut out = String::with_capacity(text.len() + 8);
    // What rounds to nothing has no sign.
    if value < 0.0 && text.bytes().any(|byte| (b'1'..=b'9').contains(&byte)) {
        out.push_str(MINUS);
    }
    for (index, digit) in whole.chars().enumerate() {
        if whole.len() > 4 && index > 0 && (whole.len() - index).is_multiple_of(3) {
            out.push('\u{202f}');
        }
        out.push(digit);
    }
    if let Some(fraction) = fraction {
        out.push('.');
        out.push_str(fraction);
    }
    out
}

const MINUS: &str = "\u{2212}";

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(unit: Unit, value: f64, plus_minus: Option<f64>, expected: &str) {
        let shown = show(value, plus_minus, unit).replace(['\u{a0}', '\u{202f}'], " ");
        assert_eq!(shown, expected);
    }

    #[test]
    fn a_value_has_three_digits_and_a_prefix() {
        check(Unit::Joule, 0.0, None, "0 J");
        check(Unit::Joule, 0.000_001_5, None, "1.50 µJ");
        check(Unit::Joule, 0.152_4, None, "152 mJ");
        check(Unit::Joule, 12.345, None, "12.3 J");
        check(Unit::Joule, 9.999, None, "10.0 J");
        check(Unit::Joule, 999.6, None, "1.00 kJ");
        check(Unit::Joule, 1_234_567.0, None, "1.23 MJ");
        check(Unit::Joule, -42.0, None, "−42.0 J");
        check(Unit::Gram, 1_234_567.0, None, "1235 kg CO₂e");
        check(Unit::Watt, 305.2, None, "305 W");
    }

    #[test]
    fn digits_end_where_the_uncertainty_begins() {
        check(Unit::Joule, 1_234.567, Some(12.3), "1.235 ± 0.012 kJ");
        check(Unit::Joule, 1_234.567, Some(61.0), "1.23 ± 0.06 kJ");
        check(Unit::Joule, 950.0, Some(120.0), "950 ± 120 J");
        check(Unit::Joule, 12.345_6, Some(0.5), "12.3 ± 0.5 J");
        // Nothing is known but the order of magnitude: the prefix is that of the larger one.
        check(Unit::Joule, 3.2, Some(500.0), "3 ± 500 J");
        check(Unit::Joule, 12.3, Some(0.0), "12.3 J");
        check(Unit::Joule, 12.3, Some(f64::NAN), "12.3 J");
    }

    #[test]
    fn ticks_have_no_needless_zeros() {
        let shown =
            [(50.0, Unit::Watt), (2_500.0, Unit::Watt), (10_240.0, Unit::Mebibyte), (0.5, Unit::Joule)]
                .map(|(value, unit)| tick(value, unit).replace('\u{a0}', " "));
        assert_eq!(shown, ["50 W", "2.5 kW", "10 GiB", "500 mJ"]);
        assert_eq!(tick(40.0, Unit::Count), "40");
    }

    #[test]
    fn times_are_those_that_people_read() {
        check(Unit::Millisecond, 0.25, None, "250 µs");
        check(Unit::Millisecond, 523.4, None, "523 ms");
        check(Unit::Millisecond, 12_345.0, None, "12.3 s");
        check(Unit::Millisecond, 125_000.0, None, "2 min 5 s");
        check(Unit::Millisecond, 9_960_000.0, None, "2 h 46 min");
        check(Unit::Millisecond, 273_600_000.0, None, "3 d 4 h");
    }

    #[test]
    fn counts_parts_money_and_memory() {
        check(Unit::Count, 1_234_567.0, None, "1 234 567");
        check(Unit::Count, 9_999.0, None, "9999");
        check(Unit::Percent, 91.666_7, None, "91.7 %");
        check(Unit::Percent, 100.0, None, "100 %");
        check(Unit::Ratio, 0.987, None, "98.7 %");
        check(Unit::Usd, 0.001_234, None, "0.00123 USD");
        check(Unit::Usd, 1_234.5, None, "1234.50 USD");
        check(Unit::Mebibyte, 512.0, None, "512 MiB");
        check(Unit::Mebibyte, 40_960.0, None, "40.0 GiB");
        check(Unit::TokenPerSecond, 41.26, None, "41.3 token/s");
        // What rounds to nothing has no sign.
        assert_eq!(significant(-0.000_000_000_000_1), "0.000000000000");
    }
}
