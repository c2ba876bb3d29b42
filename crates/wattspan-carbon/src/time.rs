//! Times as text, read without a time library: RFC 3339 and the two relaxed forms that sources of intensity use.

use std::time::{Duration, SystemTime};

const DAY: u64 = 86_400;

/// Reads `2026-01-01T12:00:00Z`: RFC 3339, and also a space for the `T`, no seconds (UK Carbon Intensity) and an
/// offset without a colon. **Absent** for anything else, for a time without an offset, and before 1970.
pub(crate) fn parse(text: &str) -> Option<SystemTime> {
    let text = text.trim();
    let date = text.get(..10)?;
    let (year, month, day) = (digits(date.get(..4)?)?, digits(date.get(5..7)?)?, digits(date.get(8..10)?)?);
    let separators = (date.as_bytes()[4], date.as_bytes()[7], *text.as_bytes().get(10)?);
    if !matches!(separators, (b'-', b'-', b'T' | b't' | b' ')) || !real_date(year, month, day) {
        return None;
    }
    let rest = text.get(11..)?;
    let at = rest.find(['Z', 'z', '+', '-'])?;
    let (clock, offset) = rest.split_at(at);
    let (whole, fraction) = clock.split_once('.').map_or((clock, None), |(whole, rest)| (whole, Some(rest)));
    let mut parts = whole.split(':');
    let hour = two(parts.next()?)?;
    let minute = two(parts.next()?)?;
    let second = parts.next().map_or(Some(0), two)?;
    // A leap second is the last second of its minute here: a clock in POSIX seconds has no other place for it.
    let second = second.min(59);
    if parts.next().is_some() || hour > 23 || minute > 59 {
        return None;
    }
    let nanos = match fraction {
        None => 0,
        Some(text) if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) => {
            format!("{text:0<9}").get(..9)?.parse().ok()?
        }
        Some(_) => return None,
    };
    let local =
        i64::from(days(year, month, day)) * DAY as i64 + i64::from(hour * 3_600 + minute * 60 + second);
    let unix = u64::try_from(local - offset_seconds(offset)?).ok()?;
    Some(SystemTime::UNIX_EPOCH + Duration::new(unix, nanos))
}

/// The first second of a year since 1970, UTC.
pub(crate) const fn year_start(year: u16) -> u64 {
    let before = year as u64 - 1;
    // Days since the first of January of the year 1, less those up to 1970.
    (before * 365 + before / 4 - before / 100 + before / 400 - 719_162) * DAY
}

/// `2026-01-01T12:00:00Z` of a time, for tests.
#[cfg(test)]
pub(crate) fn format(time: SystemTime) -> String {
    let seconds = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
    // Civil date of a day number, era by era of 400 years (Howard Hinnant, "chrono-compatible low-level date
    // algorithms", civil_from_days).
    let shifted = seconds / DAY + 719_468;
    let (era, of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_index = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month_index + 2) / 5 + 1;
    let month = if month_index < 10 { month_index + 3 } else { month_index - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    let of_day = seconds % DAY;
    format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z", of_day / 3_600, of_day / 60 % 60, of_day % 60)
}

fn two(text: &str) -> Option<u32> {
    (text.len() == 2).then(|| digits(text)).flatten()
}

fn digits(text: &str) -> Option<u32> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

fn real_date(year: u32, month: u32, day: u32) -> bool {
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let length = match month {
        4 | 6 | 9 | 11 => 30,
        2 => 28 + u32::from(leap),
        1..=12 => 31,
        _ => 0,
    };
    (1..=length).contains(&day)
}

/// Days from 1970-01-01 to a date (Howard Hinnant, as above, `days_from_civil`).
fn days(year: u32, month: u32, day: u32) -> i32 {
    let year = year as i32 - i32::from(month <= 2);
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let month_index = (month as i32 + 9) % 12;
    let of_year = (153 * month_index + 2) / 5 + day as i32 - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + of_year - 719_468
}

fn offset_seconds(text: &str) -> Option<i64> {
    if matches!(text, "Z" | "z") {
        return Some(0);
    }
    let sign = if text.starts_with('-') { -1 } else { 1 };
    let rest = text.get(1..)?;
    let (hours, minutes) = match rest.len() {
        5 if rest.as_bytes()[2] == b':' => (rest.get(..2)?, rest.get(3..)?),
        4 => (rest.get(..2)?, rest.get(2..)?),
        _ => return None,
    };
    let (hours, minutes) = (two(hours)?, two(minutes)?);
    (hours < 24 && minutes < 60).then_some(sign * i64::from(hours * 3_600 + minutes * 60))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn reads(text: &str, unix: u64) {
        let expected = SystemTime::UNIX_EPOCH + Duration::from_secs(unix);
        assert_eq!(parse(text), Some(expected), "{text}");
    }

    #[test]
    fn the_forms_of_every_source_are_read() {
        // Values from `date -u -d … +%s`.
        reads("2026-01-01T00:00:00.000Z", 1_767_225_600);
        reads("2018-01-20T12:00Z", 1_516_449_600);
        reads("2026-01-01T00:05:00+00:00", 1_767_225_900);
        reads("2026-01-01 01:00:00+01:00", 1_767_225_600);
        reads("2024-02-29T23:59:59-0330", 1_709_263_799);
        reads("1970-01-01T00:00:00Z", 0);
    }

    #[test]
    fn a_time_without_an_offset_or_of_no_calendar_is_refused() {
        for text in [
            "",
            "2026-01-01",
            "2026-01-01T00:00:00",
            "2026-02-29T00:00:00Z",
            "2026-13-01T00:00:00Z",
            "2026-01-01T24:00:00Z",
            "2026-01-01T0:00:00Z",
            "1969-12-31T23:59:59Z",
            "2026-01-01T00:00:00.Z",
            "20260101T000000Z",
            "é026-01-01T00:00:00Z",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn writing_and_reading_agree() {
        for unix in [0, 951_782_400, 1_709_263_799, 4_102_444_799] {
            let time = SystemTime::UNIX_EPOCH + Duration::from_secs(unix);
            assert_eq!(parse(&format(time)), Some(time));
        }
        for year in [1970, 2000, 2001, 2024, 2100, 2101] {
            let start = SystemTime::UNIX_EPOCH + Duration::from_secs(year_start(year));
            assert_eq!(format(start), format!("{year}-01-01T00:00:00Z"));
        }
    }
}
