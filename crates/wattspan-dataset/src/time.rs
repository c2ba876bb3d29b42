//! Points in time as tables have them: RFC 3339 in UTC, always with its zone, to the microsecond.

use std::fmt;
use std::str::FromStr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A point in time, written as `2026-12-01T21:46:38.403957Z`.
///
/// **Range** the years 1970 to 9999; earlier and later points become the nearest of these. **Unit** whole microseconds,
/// which every reader of RFC 3339 understands; a metric row has its nanoseconds beside it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(u64);

/// Text that is not a time.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a time in UTC such as 2026-12-01T21:46:38.403957Z")]
pub struct InvalidTimestamp(String);

impl Timestamp {
    /// Microseconds since 1970.
    pub const fn unix_micros(self) -> u64 {
        self.0
    }

    /// The form of directory names: `20261201_214638`.
    pub fn compact(self) -> String {
        let (date, time) = self.parts();
        format!("{:04}{:02}{:02}_{:02}{:02}{:02}", date.0, date.1, date.2, time.0, time.1, time.2)
    }

    /// Year, month, day, and hour, minute, second.
    fn parts(self) -> ((u64, u64, u64), (u64, u64, u64)) {
        let seconds = self.0 / 1_000_000;
        let (days, of_day) = (seconds / 86_400, seconds % 86_400);
        (civil(days), (of_day / 3_600, of_day / 60 % 60, of_day % 60))
    }
}

impl From<SystemTime> for Timestamp {
    fn from(time: SystemTime) -> Self {
        let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
        Self(u64::try_from(since.as_micros()).unwrap_or(LAST).min(LAST))
    }
}

impl From<Timestamp> for SystemTime {
    fn from(time: Timestamp) -> Self {
        UNIX_EPOCH + Duration::from_micros(time.0)
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ((year, month, day), (hour, minute, second)) = self.parts();
        // Digit by digit: every row has a time, and the general way of formatting takes longer than all of its numbers.
        let mut text = *b"0000-00-00T00:00:00.000000Z";
        let fields = [
            (3, year),
            (6, month),
            (9, day),
            (12, hour),
            (15, minute),
            (18, second),
            (25, self.0 % 1_000_000),
        ];
        for (last, mut number) in fields {
            let mut place = last;
            while number > 0 {
                text[place] += (number % 10) as u8;
                number /= 10;
                // No number has more digits than its field: years end with 9999.
                place = place.saturating_sub(1);
            }
        }
        out.write_str(std::str::from_utf8(&text).map_err(|_| fmt::Error)?)
    }
}

impl FromStr for Timestamp {
    type Err = InvalidTimestamp;

    /// Reads what `Display` writes, with any number of digits after the second. Other zones than UTC are refused.
    fn from_str(text: &str) -> Result<Self, InvalidTimestamp> {
        parse(text).ok_or_else(|| InvalidTimestamp(text.to_owned()))
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

fn parse(text: &str) -> Option<Timestamp> {
    let body = text.strip_suffix('Z').or_else(|| text.strip_suffix("+00:00"))?;
    let (date, time) = body.split_once('T')?;
    let number = |digits: &str, length: usize| {
        let fits = digits.len() == length && digits.bytes().all(|byte| byte.is_ascii_digit());
        fits.then(|| digits.parse::<u64>().ok()).flatten()
    };
    let mut date = date.split('-');
    let (year, month, day) = (number(date.next()?, 4)?, number(date.next()?, 2)?, number(date.next()?, 2)?);
    let (time, fraction) = time.split_once('.').unwrap_or((time, "0"));
    let mut time = time.split(':');
    let (hour, minute, second) =
        (number(time.next()?, 2)?, number(time.next()?, 2)?, number(time.next()?, 2)?);
    let digits = fraction.get(..fraction.len().min(6))?;
    let micros = number(digits, digits.len())? * 10_u64.pow(6 - digits.len() as u32);
    let in_range = hour < 24 && minute < 60 && second < 60 && date.next().is_none() && time.next().is_none();
    let days = days(year, month, day).filter(|_| in_range)?;
    // A date such as 30 February counts on into the next month: then it reads back as another one.
    (civil(days) == (year, month, day))
        .then_some(Timestamp((((days * 24 + hour) * 60 + minute) * 60 + second) * 1_000_000 + micros))
}

/// Days since 1970 to a date of the Gregorian calendar. (Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms",
/// `civil_from_days`, for days from 1970 on.)
fn civil(days: u64) -> (u64, u64, u64) {
    let shifted = days + 719_468;
    let (era, of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}

/// The other way (`days_from_civil`); `None` before 1970.
fn days(year: u64, month: u64, day: u64) -> Option<u64> {
    if year < 1970 || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let shifted_year = year - u64::from(month <= 2);
    let (era, year_of_era) = (shifted_year / 400, shifted_year % 400);
    let shifted_month = if month > 2 { month - 3 } else { month + 9 };
    let of_year = (153 * shifted_month + 2) / 5 + day - 1;
    let of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + of_year;
    Some(era * 146_097 + of_era - 719_468)
}

/// The last microsecond of the year 9999.
const LAST: u64 = 253_402_300_799_999_999;

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(unix_seconds: u64, micros: u32, text: &str) {
        let time = Timestamp::from(UNIX_EPOCH + Duration::new(unix_seconds, micros * 1_000 + 999));
        assert_eq!(time.to_string(), text);
        assert_eq!(text.parse(), Ok(time));
    }

    #[test]
    fn dates_are_those_of_the_calendar() {
        // From `date -u -d @…`.
        check(0, 0, "1970-01-01T00:00:00.000000Z");
        check(951_782_400, 1, "2000-02-29T00:00:00.000001Z");
        check(1_767_225_610, 403_957, "2026-01-01T00:00:10.403957Z");
        check(4_107_542_399, 0, "2100-02-28T23:59:59.000000Z");
        check(253_402_300_799, 999_999, "9999-12-31T23:59:59.999999Z");
    }

    #[test]
    fn what_is_out_of_range_becomes_the_nearest() {
        assert_eq!(Timestamp::from(UNIX_EPOCH - Duration::from_secs(1)), Timestamp::default());
        assert_eq!(Timestamp::from(UNIX_EPOCH + Duration::from_secs(300_000_000_000)), Timestamp(LAST));
    }

    #[test]
    fn times_without_a_zone_and_days_that_are_not_there_are_refused() {
        for bad in [
            "2026-12-01T21:46:38",
            "2026-02-30T00:00:00Z",
            "2026-12-01T25:00:00Z",
            "now",
            "2026-12-01T00:00:00+01:00",
        ] {
            assert!(bad.parse::<Timestamp>().is_err(), "{bad}");
        }
    }

    #[test]
    fn directories_sort_by_time() {
        let time: Timestamp = "2026-12-01T21:46:38Z".parse().unwrap();
        assert_eq!(time.compact(), "20261201_214638");
    }
}
