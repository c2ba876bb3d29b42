//! What electricity costs: a fixed price, one by time of day, or the bundled means of industry in the United States.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use wattspan_core::{ElectricityPrice, Place, PriceSource, TokenPrice, UsdPerKwh};

use crate::Error;
use crate::tables::{self, RetailPrice};

/// Prices of electricity in US dollars. Knows no prices of tokens.
///
/// ```
/// use std::time::SystemTime;
/// use wattspan_carbon::ElectricityPrices;
/// use wattspan_core::{Place, PriceSource, UsdPerKwh};
///
/// let contract = ElectricityPrices::fixed(UsdPerKwh::new(0.12).unwrap());
/// let price = contract.electricity(&Place::default(), SystemTime::now()).unwrap();
/// assert_eq!(price.value.usd_per_kwh(), 0.12);
/// assert!(ElectricityPrices::bundled().electricity(&Place::default(), SystemTime::now()).is_none());
/// ```
#[derive(Clone, Debug)]
pub struct ElectricityPrices(Kind);

#[derive(Clone, Debug)]
enum Kind {
    Fixed(ElectricityPrice),
    Bundled,
    TimeOfDay(TimeOfDay),
}

impl ElectricityPrices {
    /// The same price everywhere and always.
    pub fn fixed(price: UsdPerKwh) -> Self {
        Self(Kind::Fixed(ElectricityPrice::new(price, "fixed")))
    }

    /// Annual mean retail prices of the industrial sector, by state of the United States, else of that country.
    /// **Absent** elsewhere: no openly licensed price was found, and none is converted from another currency.
    ///
    /// **Source** US Energy Information Administration, retail sales of electricity.
    pub const fn bundled() -> Self {
        Self(Kind::Bundled)
    }

    /// A tariff by time of day.
    pub const fn time_of_day(tariff: TimeOfDay) -> Self {
        Self(Kind::TimeOfDay(tariff))
    }
}

impl PriceSource for ElectricityPrices {
    fn electricity(&self, place: &Place, at: SystemTime) -> Option<ElectricityPrice> {
        match &self.0 {
            Kind::Fixed(price) => Some(price.clone()),
            Kind::TimeOfDay(tariff) => tariff.at(at),
            Kind::Bundled => {
                let row = bundled(place)?;
                Some(ElectricityPrice::new(row.value, format!("eia-retail-sales-{} (industrial)", row.year)))
            }
        }
    }

    fn tokens(&self, _provider: &str, _model: &str) -> Option<TokenPrice> {
        None
    }
}

fn bundled(place: &Place) -> Option<&'static RetailPrice> {
    let of = |code: &str| tables::PRICES.iter().find(|row| row.code == code);
    place.subdivision.as_deref().and_then(of).or_else(|| of(place.country.as_deref()?))
}

/// Prices by local time of day and day of the week.
///
/// **Limits** local time is a fixed offset from UTC: where clocks change twice a year, give a new tariff then.
#[derive(Clone, Debug)]
pub struct TimeOfDay {
    otherwise: UsdPerKwh,
    bands: Vec<Band>,
    /// Seconds that local time is ahead of UTC.
    offset: i64,
    source: Arc<str>,
}

/// A stretch of the day with a price of its own.
#[derive(Clone, Copy, Debug)]
struct Band {
    /// Minutes since local midnight.
    from: u32,
    /// Not included. Earlier than `from`: past midnight into the next day.
    until: u32,
    /// Bit 0 is Monday.
    days: u8,
    price: UsdPerKwh,
}

/// Days of the week that a band holds on, by the day it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Days {
    /// Monday to Sunday.
    All,
    /// Monday to Friday.
    Weekdays,
    /// Saturday and Sunday.
    Weekend,
}

const DAY: i64 = 86_400;
const DAY_MINUTES: u32 = 1_440;

impl TimeOfDay {
    /// A tariff with one price, to which bands are added. `offset_minutes` is how far local time is ahead of UTC.
    ///
    /// # Errors
    /// [`Error::Setting`] for an offset of a day or more.
    pub fn new(otherwise: UsdPerKwh, offset_minutes: i32) -> Result<Self, Error> {
        if offset_minutes.unsigned_abs() >= DAY_MINUTES {
            return Err(Error::Setting {
                setting: "offset of local time",
                value: offset_minutes.to_string(),
                remedy: "give minutes ahead of UTC, less than a day",
            });
        }
        let offset = i64::from(offset_minutes) * 60;
        Ok(Self { otherwise, bands: Vec::new(), offset, source: Arc::from("time of day") })
    }

    /// Adds a band from one time of day (`07:00`) until another, which may lie past midnight. The first band that
    /// holds decides.
    ///
    /// # Errors
    /// [`Error::Setting`] for a time that is not on a clock, or a band without length.
    pub fn band(mut self, from: &str, until: &str, days: Days, price: UsdPerKwh) -> Result<Self, Error> {
        let (from, until) = (clock(from)?, clock(until)?);
        let (from, until) = (from % DAY_MINUTES, if until == 0 { DAY_MINUTES } else { until });
        if from == until {
            return Err(Error::Setting {
                setting: "price band",
                value: format!("{:02}:{:02}", from / 60, from % 60),
                remedy: "let it end at another time than it begins",
            });
        }
        let days = match days {
            Days::All => 0b111_1111,
            Days::Weekdays => 0b001_1111,
            Days::Weekend => 0b110_0000,
        };
        self.bands.push(Band { from, until, days, price });
        Ok(self)
    }

    /// The price at a time, and how long it holds. `None` before 1970.
    fn at(&self, at: SystemTime) -> Option<ElectricityPrice> {
        let unix = i64::try_from(at.duration_since(SystemTime::UNIX_EPOCH).ok()?.as_secs()).ok()?;
        let local = unix + self.offset;
        let (day, minute) = (local.div_euclid(DAY), (local.rem_euclid(DAY) / 60) as u32);
        let value =
            self.bands.iter().find(|band| band.holds(day, minute)).map_or(self.otherwise, |band| band.price);
        // The price can change where a band begins or ends, and at midnight, where days change.
        let edges = self.bands.iter().flat_map(|band| [band.from, band.until]).chain([DAY_MINUTES]);
        let next = edges.filter(|edge| *edge > minute).min().unwrap_or(DAY_MINUTES);
        let end = day * DAY + i64::from(next) * 60 - self.offset;
        let mut price = ElectricityPrice::new(value, Arc::clone(&self.source));
        price.valid_until =
            u64::try_from(end).ok().map(|end| SystemTime::UNIX_EPOCH + Duration::from_secs(end));
        Some(price)
    }
}

impl Band {
    fn holds(&self, day: i64, minute: u32) -> bool {
        // 1970-01-01 was a Thursday.
        let on = |day: i64| self.days >> (day + 3).rem_euclid(7) & 1 == 1;
        if self.from < self.until {
            return on(day) && (self.from..self.until).contains(&minute);
        }
        (on(day) && minute >= self.from) || (on(day - 1) && minute < self.until)
    }
}

/// Minutes since midnight of `07:30`; `24:00` is the end of the day.
fn clock(text: &str) -> Result<u32, Error> {
    let read = || {
        let (hours, minutes) = text.trim().split_once(':')?;
        let (hours, minutes): (u32, u32) = (hours.parse().ok()?, minutes.parse().ok()?);
        let all = hours.checked_mul(60)?.checked_add(minutes)?;
        (minutes < 60 && all <= DAY_MINUTES).then_some(all)
    };
    read().ok_or_else(|| Error::Setting {
        setting: "time of day",
        value: text.to_owned(),
        remedy: "write it as 07:30, from 00:00 to 24:00",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usd(value: f64) -> UsdPerKwh {
        UsdPerKwh::new(value).unwrap()
    }

    fn tariff() -> TimeOfDay {
        // One hour ahead of UTC; dear on weekday days, cheap on all nights.
        let tariff = TimeOfDay::new(usd(0.20), 60).unwrap();
        let tariff = tariff.band("07:00", "20:00", Days::Weekdays, usd(0.30)).unwrap();
        tariff.band("23:00", "05:30", Days::All, usd(0.10)).unwrap()
    }

    #[track_caller]
    fn costs(utc: &str, price: f64, until: &str) {
        let found = tariff().at(crate::time::parse(utc).unwrap()).unwrap();
        assert_eq!((found.value, found.valid_until), (usd(price), crate::time::parse(until)), "{utc}");
    }

    #[test]
    fn the_price_follows_local_time_and_day() {
        // 2026-01-02 is a Friday.
        costs("2026-01-02T05:59:59Z", 0.20, "2026-01-02T06:00:00Z");
        costs("2026-01-02T06:00:00Z", 0.30, "2026-01-02T19:00:00Z");
        costs("2026-01-02T19:00:00Z", 0.20, "2026-01-02T22:00:00Z");
        costs("2026-01-02T22:30:00Z", 0.10, "2026-01-02T23:00:00Z");
        costs("2026-01-02T23:30:00Z", 0.10, "2026-01-03T04:30:00Z");
        costs("2026-01-03T10:00:00Z", 0.20, "2026-01-03T19:00:00Z");
    }

    #[test]
    fn a_band_that_begins_on_sunday_ends_on_monday() {
        let tariff =
            TimeOfDay::new(usd(0.2), 0).unwrap().band("22:00", "06:00", Days::Weekend, usd(0.1)).unwrap();
        let price = |utc: &str| tariff.at(crate::time::parse(utc).unwrap()).unwrap().value;
        assert_eq!(price("2026-01-05T05:59:00Z"), usd(0.1)); // Monday morning, after Sunday night.
        assert_eq!(price("2026-01-05T23:00:00Z"), usd(0.2));
        assert_eq!(price("2026-01-03T05:00:00Z"), usd(0.2)); // Saturday morning, after Friday night.
    }

    #[test]
    fn times_that_are_on_no_clock_are_refused() {
        let tariff = || TimeOfDay::new(usd(0.2), 0).unwrap();
        for (from, until) in
            [("7", "8:00"), ("07:60", "08:00"), ("24:01", "08:00"), ("08:00", "08:00"), ("", "")]
        {
            assert!(tariff().band(from, until, Days::All, usd(0.1)).is_err(), "{from} {until}");
        }
        assert!(TimeOfDay::new(usd(0.2), 1_440).is_err());
        assert!(tariff().band("00:00", "24:00", Days::All, usd(0.1)).is_ok());
    }
}
