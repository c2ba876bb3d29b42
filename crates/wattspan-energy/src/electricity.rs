//! What a local model's energy costs: electricity, at one price or by time of day, and hardware if the user says so.
//!
//! Local hours are those of a fixed offset from UTC that the user gives: there is no time-zone database here, and no
//! daylight saving. Where clocks change, give the tariff anew.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};
use wattspan_core::{Cost, ElectricityPrice, Joules, Place, PriceSource, TokenPrice, Usd, UsdPerKwh};

use crate::Overhead;
use crate::emissions::cut;

/// Seconds of a day.
const DAY: i64 = 86_400;

/// A price of electricity, the same at all times or by local hours.
///
/// ```
/// use std::time::{Duration, SystemTime};
/// use wattspan_core::UsdPerKwh;
/// use wattspan_energy::Tariff;
///
/// let price = |usd| UsdPerKwh::new(usd).unwrap();
/// let night = Tariff::by_hours(price(0.30), "+01:00".parse().unwrap())
///     .with("22:00".parse().unwrap(), "06:00".parse().unwrap(), price(0.18));
/// // 1970-01-01 21:30 UTC is 22:30 at that place.
/// let late = SystemTime::UNIX_EPOCH + Duration::from_secs(21 * 3_600 + 1_800);
/// assert_eq!(night.price_at(late), price(0.18));
/// assert_eq!(night.price_at(late + Duration::from_secs(9 * 3_600)), price(0.30));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tariff {
    /// At all times that no window names.
    #[serde(rename = "usd_per_kwh")]
    base: UsdPerKwh,
    #[serde(default)]
    utc_offset: UtcOffset,
    #[serde(default)]
    windows: Vec<Window>,
}

/// Hours of every day that have a price of their own.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Window {
    from: LocalTime,
    to: LocalTime,
    #[serde(rename = "usd_per_kwh")]
    price: UsdPerKwh,
}

/// A time of day, as `HH:MM`. `24:00` is the end of the day.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct LocalTime {
    minutes: u16,
}

/// How far local time is ahead of UTC, as `+HH:MM` or `-HH:MM`; `Z` is UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct UtcOffset {
    minutes: i16,
}

/// Text that is no time of day and no offset.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not {wanted}")]
pub struct InvalidTime {
    text: String,
    wanted: &'static str,
}

impl Tariff {
    /// One price at all times.
    pub const fn fixed(price: UsdPerKwh) -> Self {
        Self { base: price, utc_offset: UtcOffset { minutes: 0 }, windows: Vec::new() }
    }

    /// A price for all hours that get no other by [`Tariff::with`], and where local time stands.
    pub const fn by_hours(otherwise: UsdPerKwh, offset: UtcOffset) -> Self {
        Self { base: otherwise, utc_offset: offset, windows: Vec::new() }
    }

    /// Gives hours of each day their own price. A window whose end is not after its begin goes over midnight; where two
    /// windows overlap, the earlier given one holds.
    #[must_use]
    pub fn with(mut self, from: LocalTime, to: LocalTime, price: UsdPerKwh) -> Self {
        self.windows.push(Window { from, to, price });
        self
    }

    /// The price at a time.
    pub fn price_at(&self, at: SystemTime) -> UsdPerKwh {
        let second = self.local_second(at);
        self.windows.iter().find(|window| window.holds(second)).map_or(self.base, |window| window.price)
    }

    /// The next time after this one at which a window begins or ends; `None` for a price that never changes.
    pub fn next_change(&self, after: SystemTime) -> Option<SystemTime> {
        let now = self.local_second(after);
        let wait = |time: LocalTime| match (time.second() - now).rem_euclid(DAY) {
            0 => DAY,
            wait => wait,
        };
        let wait = self.windows.iter().flat_map(|window| [wait(window.from), wait(window.to)]).min()?;
        // `after` may lie within a second: the change is at the second's begin.
        let within = Duration::from_nanos(u64::from(subsecond_nanos(after)));
        after.checked_add(Duration::from_secs(wait.unsigned_abs()))?.checked_sub(within)
    }

    /// Spreads energy evenly over its time and cuts it where the price changes. The parts add up to it exactly.
    pub fn spread(&self, energy: Joules, from: SystemTime, to: SystemTime) -> Vec<(Joules, UsdPerKwh)> {
        let mut starts = vec![from];
        let mut time = from;
        while let Some(change) = self.next_change(time).filter(|change| *change < to) {
            starts.push(change);
            time = change;
        }
        let ends = starts.iter().skip(1).copied().chain([to]);
        let parts = cut(energy, from, to, ends);
        parts.into_iter().zip(&starts).map(|(part, start)| (part, self.price_at(*start))).collect()
    }

    fn local_second(&self, at: SystemTime) -> i64 {
        let unix = match at.duration_since(SystemTime::UNIX_EPOCH) {
            Ok(since) => (since.as_secs() % DAY.unsigned_abs()) as i64,
            // The begin of the second, also before 1970.
            Err(before) => {
                let before = before.duration();
                let whole = before.as_secs() + u64::from(before.subsec_nanos() > 0);
                -((whole % DAY.unsigned_abs()) as i64)
            }
        };
        (unix + i64::from(self.utc_offset.minutes) * 60).rem_euclid(DAY)
    }
}

fn subsecond_nanos(at: SystemTime) -> u32 {
    match at.duration_since(SystemTime::UNIX_EPOCH) {
        Ok(since) => since.subsec_nanos(),
        Err(before) => (1_000_000_000 - before.duration().subsec_nanos()) % 1_000_000_000,
    }
}

impl Window {
    fn holds(&self, second: i64) -> bool {
        let (from, to) = (self.from.second(), self.to.second());
        if from < to { (from..to).contains(&second) } else { second >= from || second < to }
    }
}

impl LocalTime {
    /// From hours and minutes; `None` past 24:00.
    pub fn new(hours: u8, minutes: u8) -> Option<Self> {
        let fits = (hours < 24 && minutes < 60) || (hours == 24 && minutes == 0);
        fits.then(|| Self { minutes: u16::from(hours) * 60 + u16::from(minutes) })
    }

    fn second(self) -> i64 {
        i64::from(self.minutes) * 60
    }
}

impl UtcOffset {
    /// From minutes east of Greenwich; `None` past a day.
    pub fn from_minutes(minutes: i16) -> Option<Self> {
        (-1_440..=1_440).contains(&minutes).then_some(Self { minutes })
    }
}

/// Hours and minutes of `HH:MM`.
fn clock(text: &str) -> Option<(u8, u8)> {
    let (hours, minutes) = text.split_once(':')?;
    let digits = |part: &str| {
        (part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_digit())).then(|| part.parse())
    };
    Some((digits(hours)?.ok()?, digits(minutes)?.ok()?))
}

impl FromStr for LocalTime {
    type Err = InvalidTime;
    fn from_str(text: &str) -> Result<Self, InvalidTime> {
        clock(text)
            .and_then(|(hours, minutes)| Self::new(hours, minutes))
            .ok_or_else(|| InvalidTime { text: text.to_owned(), wanted: "a time of day: write it as 06:30" })
    }
}

impl FromStr for UtcOffset {
    type Err = InvalidTime;
    fn from_str(text: &str) -> Result<Self, InvalidTime> {
        let minutes = |rest, sign: i16| {
            let (hours, minutes) = clock(rest)?;
            (hours <= 24 && minutes < 60).then(|| sign * (i16::from(hours) * 60 + i16::from(minutes)))
        };
        let offset = match text.split_at_checked(1) {
            Some(("Z", "")) => Some(0),
            Some(("+", rest)) => minutes(rest, 1),
            Some(("-", rest)) => minutes(rest, -1),
            _ => None,
        };
        offset.and_then(Self::from_minutes).ok_or_else(|| InvalidTime {
            text: text.to_owned(),
            wanted: "an offset from UTC: write it as +01:00, -05:00 or Z",
        })
    }
}

impl fmt::Display for LocalTime {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:02}:{:02}", self.minutes / 60, self.minutes % 60)
    }
}

impl fmt::Display for UtcOffset {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (sign, minutes) = (if self.minutes < 0 { '-' } else { '+' }, self.minutes.unsigned_abs());
        write!(out, "{sign}{:02}:{:02}", minutes / 60, minutes % 60)
    }
}

macro_rules! text_form {
    ($name:ident) => {
        impl TryFrom<String> for $name {
            type Error = InvalidTime;
            fn try_from(text: String) -> Result<Self, InvalidTime> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(value: $name) -> Self {
                value.to_string()
            }
        }
    };
}

text_form!(LocalTime);
text_form!(UtcOffset);

impl PriceSource for Tariff {
    /// The same everywhere: the user gave it for this machine.
    fn electricity(&self, _place: &Place, at: SystemTime) -> Option<ElectricityPrice> {
        let mut price = ElectricityPrice::new(self.price_at(at), "user");
        price.valid_until = self.next_change(at);
        Some(price)
    }

    /// A tariff knows no tokens.
    fn tokens(&self, _provider: &str, _model: &str) -> Option<TokenPrice> {
        None
    }
}

/// What an hour of a device costs beside its electricity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HardwareRate {
    usd_per_hour: f64,
}

impl HardwareRate {
    /// From a price per device hour, such as a rent; `None` below zero.
    pub fn per_hour(price: Usd) -> Option<Self> {
        (price >= Usd::ZERO).then_some(Self { usd_per_hour: price.usd() })
    }

    /// A purchase written off over the hours in which the device will be at work; `None` below zero or over no time.
    pub fn amortised(purchase: Usd, hours_of_use: f64) -> Option<Self> {
        let usable = hours_of_use > 0.0 && hours_of_use.is_finite();
        usable.then(|| Usd::new(purchase.usd() / hours_of_use)).flatten().and_then(Self::per_hour)
    }

    /// Cost of a time on one device; give the sum of the times for several.
    pub fn over(self, device_time: Duration) -> Usd {
        let usd = self.usd_per_hour * (device_time.as_secs_f64() / 3_600.0);
        saturated(usd)
    }
}

fn saturated(usd: f64) -> Usd {
    Usd::new(usd.clamp(0.0, f64::MAX))
        .expect("a rate and a time are numbers, so their clamped product is finite")
}

/// Cost of energy at the prices that held while it was drawn, with the hardware's if there is a rate.
///
/// The overhead scales the electricity; a machine's fans pay no rent. `hardware` is a rate and the device time to pay.
///
/// **Absent** `None` when there is no slice: energy without a price has no cost, rather than none.
pub fn electricity_cost(
    slices: impl IntoIterator<Item = (Joules, UsdPerKwh)>,
    overhead: Overhead,
    hardware: Option<(HardwareRate, Duration)>,
) -> Option<Cost> {
    let mut slices = slices.into_iter().peekable();
    slices.peek()?;
    let electricity = overhead.cost(slices.map(|(energy, price)| energy * price).sum());
    let cost = match hardware {
        Some((rate, time)) => Cost::new(electricity + rate.over(time), Arc::from("electricity+hardware")),
        None => Cost::new(electricity, Arc::from("electricity")),
    };
    Some(cost.within(overhead.boundary()))
}

#[cfg(test)]
#[path = "electricity_tests.rs"]
mod tests;
