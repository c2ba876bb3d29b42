//! What a board or a chip can physically have; a figure outside is a fault of the reading.

use wattspan_core::{Celsius, Watts};

/// Highest believable power of one socket. The largest board of 2025 (MI355X) is rated 1.4 kW; a wrong unit is off by
/// a thousand, so any bound between is good.
const MOST_WATTS: f64 = 5_000.0;

/// A reading this many times over the board's own limit is a fault: real excursions stay below twice the limit, and
/// units slip by a thousand.
const TIMES_OVER_LIMIT: f64 = 3.0;

/// Silicon is shut down at 110 °C or so; sensors that report below freezing stand in the open.
const TEMPERATURES: std::ops::RangeInclusive<f64> = -40.0..=150.0;

/// The power, unless it is zero or impossible. A board that answers draws something: zero is what drivers say when
/// they have no sensor (Radeon VII, the second die of an MI250).
pub(crate) fn plausible_watts(watts: f64) -> Option<Watts> {
    if watts > 0.0 && watts <= MOST_WATTS { Watts::new(watts) } else { None }
}

/// Whether a power is more than the board can draw, given its limit.
pub(crate) fn beyond(power: Watts, limit: Option<Watts>) -> bool {
    power.watts() > MOST_WATTS || limit.is_some_and(|limit| power.watts() > limit.watts() * TIMES_OVER_LIMIT)
}

/// The temperature, unless it is impossible.
pub(crate) fn plausible_temperature(celsius: f64) -> Option<Celsius> {
    if TEMPERATURES.contains(&celsius) { Celsius::new(celsius) } else { None }
}
