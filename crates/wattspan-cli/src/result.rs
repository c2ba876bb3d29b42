//! What a measurement came to, for people and for programs.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::SystemTime;

use serde::Serialize;
use wattspan::carbon::{Bundled, ElectricityPrices, Fixed, Series};
use wattspan::core::{
    ElectricityPrice, EmissionScope, EnergyState, Estimate, Grams, GramsPerKwh, Intensity, IntensityKind,
    IntensitySource, Joules, Place, PriceSource, Provenance, Usd, UsdPerKwh, Watts,
};
use wattspan::monitor::{DeviceReport, PerformanceReport};
use wattspan::{Config, Setting};

use crate::child::Ended;
use crate::settings::{is_on, number};

/// The result as it stands in JSON.
#[derive(Debug, Serialize)]
pub(crate) struct Outcome<'a> {
    r#type: &'static str,
    wattspan_version: &'static str,
    /// The program only: arguments may hold secrets.
    command: Option<&'a str>,
    exit_code: Option<u8>,
    signal: Option<i32>,
    duration_seconds: f64,
    energy_joules: Option<Joules>,
    average_power_watts: Option<Watts>,
    peak_power_watts: Option<Watts>,
    emissions_grams: Option<Grams>,
    cost_usd: Option<Usd>,
    pue: Option<f64>,
    place: &'a Place,
    intensity: Option<Grid>,
    electricity_price: Option<Price>,
    estimate: Option<Estimated>,
    report: &'a PerformanceReport,
}

/// Which intensity the grams are from.
#[derive(Debug, Serialize)]
struct Grid {
    /// The mean that grams and joules give, overhead taken out; the source's own figure where that is the same but for
    /// rounding, or where there are no joules.
    grams_per_kwh: GramsPerKwh,
    source: Arc<str>,
    provenance: Provenance,
    zone: Option<Arc<str>>,
    kind: IntensityKind,
    scope: EmissionScope,
    age_seconds: Option<f64>,
}

/// What a kilowatt-hour costs.
#[derive(Debug, Serialize)]
struct Price {
    usd_per_kwh: UsdPerKwh,
    source: Arc<str>,
}

impl Grid {
    fn new(intensity: Intensity, mean: Option<GramsPerKwh>) -> Self {
        Self {
            grams_per_kwh: mean
                .filter(|mean| is_other(*mean, intensity.value, MICROJOULES))
                .unwrap_or(intensity.value),
            source: intensity.source,
            provenance: intensity.provenance,
            zone: intensity.zone,
            kind: intensity.kind,
            scope: intensity.scope,
            age_seconds: intensity.age.map(|age| age.as_secs_f64()),
        }
    }
}

/// The modelled part and what it would mean.
#[derive(Debug, Serialize)]
struct Estimated {
    #[serde(flatten)]
    estimate: Estimate,
    emissions_grams: Option<Grams>,
    cost_usd: Option<Usd>,
}

impl<'a> Outcome<'a> {
    pub(crate) fn new(
        config: &Config,
        place: &'a Place,
        command: Option<&'a str>,
        ended: Option<Ended>,
        report: &'a PerformanceReport,
    ) -> Self {
        let (pue, total) = (number(config, Setting::Pue), &report.total);
        let now = SystemTime::now();
        let price = price(config, place, now);
        let mean = total.energy.zip(total.emissions).and_then(|(energy, grams)| {
            GramsPerKwh::new(grams.grams() / energy.kilowatt_hours() / pue.unwrap_or(1.0))
        });
        let intensity = intensity(config, place, now, mean);
        let overhead = pue.unwrap_or(1.0);
        let estimate = report.estimate.as_ref().map(|estimate| Estimated {
            emissions_grams: intensity
                .as_ref()
                .and_then(|known| Grams::new((estimate.value * known.value).grams() * overhead)),
            cost_usd: price
                .as_ref()
                .and_then(|price| Usd::new((estimate.value * price.value).usd() * overhead)),
            estimate: estimate.clone(),
        });
        Self {
            r#type: "result",
            wattspan_version: env!("CARGO_PKG_VERSION"),
            command,
            exit_code: ended.map(|ended| ended.code),
            signal: ended.and_then(|ended| ended.signal),
            duration_seconds: report.duration.as_secs_f64(),
            energy_joules: total.energy,
            average_power_watts: total.mean_power,
            peak_power_watts: total.power.as_ref().and_then(|power| Watts::new(power.max)),
            emissions_grams: total.emissions,
            cost_usd: total.cost,
            pue,
            place,
            intensity: intensity.map(|intensity| Grid::new(intensity, mean)),
            electricity_price: price.map(|price| Price { usd_per_kwh: price.value, source: price.source }),
            estimate,
            report,
        }
    }

    /// Some lines for people.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        let what = self.command.unwrap_or("measured");
        let how = match (self.exit_code, self.signal) {
            (_, Some(signal)) => format!(" ended by signal {signal}"),
            (Some(code), None) => format!(" ended with {code}"),
            (None, None) => String::new(),
        };
        line(&mut text, format_args!("wattspan: {what}{how} after {:.3} s", self.duration_seconds));
        for device in &self.report.devices {
            describe(&mut text, device);
        }
        let total = format!(
            "  total      {}, average {}, peak {}",
            shown(self.energy_joules),
            shown(self.average_power_watts),
            shown(self.peak_power_watts)
        );
        line(&mut text, format_args!("{total}"));
        if let Some(Estimated { estimate, emissions_grams, cost_usd }) = &self.estimate {
            let range = format!("{} to {}", estimate.range.low, estimate.range.high);
            let meaning = format!("{}, {}", shown(*emissions_grams), shown(*cost_usd));
            line(
                &mut text,
                format_args!(
                    "  estimated  {} ({range}), {meaning}, not in the total: {}",
                    estimate.value, estimate.basis
                ),
            );
        }
        line(&mut text, format_args!("  emissions  {}{}", shown(self.emissions_grams), self.grid()));
        let price = self
            .electricity_price
            .as_ref()
            .map_or_else(String::new, |price| format!(" at {} ({})", price.usd_per_kwh, price.source));
        line(&mut text, format_args!("  cost       {}{price}", shown(self.cost_usd)));
        if let Some(pue) = self.pue {
            line(&mut text, format_args!("  PUE        {pue}, in emissions and cost"));
        }
        for note in &self.report.notes {
            line(&mut text, format_args!("  note       {note}"));
        }
        text.truncate(text.trim_end().len());
        text
    }

    fn grid(&self) -> String {
        let place = match (&self.place.subdivision, &self.place.country, &self.place.zone) {
            (Some(name), ..) | (None, Some(name), _) | (None, None, Some(name)) => name,
            _ => "an unknown place: set it with --country",
        };
        let basis = self.place.basis.as_deref().map_or_else(String::new, |basis| format!(" ({basis})"));
        match &self.intensity {
            Some(grid) => {
                format!(
                    " at {} ({}, {}) in {place}{basis}",
                    grid.grams_per_kwh,
                    grid.source,
                    grid.kind.as_str()
                )
            }
            None => format!(" in {place}{basis}"),
        }
    }
}

fn describe(text: &mut String, device: &DeviceReport) {
    let method = device.method.map_or("not measured", |method| method.as_str());
    let part = if device.counted { "" } else { ", a part of others" };
    let bound = device.bound.map_or_else(String::new, |bound| format!(" ± {bound}"));
    line(
        text,
        format_args!(
            "  {:<10} {}{bound} ({method}{part}), average {}: {}",
            device.kind.as_str(),
            shown(device.energy),
            shown(device.mean_power),
            device.name
        ),
    );
    if let Some(states) = device.energy_by_state {
        let parts: Vec<String> = EnergyState::ALL
            .into_iter()
            .filter(|state| states.of(*state) != Joules::ZERO)
            .map(|state| format!("{} {}", state.as_str(), states.of(state)))
            .collect();
        if !parts.is_empty() {
            line(text, format_args!("             {}", parts.join(", ")));
        }
    }
    if device.method.is_some() && device.coverage.ratio() < 0.999 {
        line(
            text,
            format_args!("             there were data for {} of the time: a lower bound", device.coverage),
        );
    }
}

fn line(text: &mut String, arguments: std::fmt::Arguments<'_>) {
    // Writing to a string does not fail.
    let _ = text.write_fmt(arguments);
    text.push('\n');
}

fn shown<T: ToString>(value: Option<T>) -> String {
    value.map_or_else(|| "–".to_owned(), |value| value.to_string())
}

/// Where the intensity comes from: the user's figure or series, else the bundled table; a live source where the figure
/// in force is none of these.
pub(crate) fn intensity(
    config: &Config,
    place: &Place,
    at: SystemTime,
    in_force: Option<GramsPerKwh>,
) -> Option<Intensity> {
    if let Some(value) = number(config, Setting::Intensity).and_then(GramsPerKwh::new) {
        return Fixed::new(value).latest(place, at);
    }
    let series = config
        .text(Setting::IntensitySeries)
        .and_then(|path| Series::open(path).ok())
        .and_then(|series| series.latest(place, at));
    let known = series.or_else(|| Bundled::new().or_world_average().latest(place, at));
    let live = live_sources(config);
    let differs = |known: &Intensity| in_force.is_some_and(|value| is_other(value, known.value, ROUNDING));
    match in_force.filter(|_| !live.is_empty() && known.as_ref().is_none_or(differs)) {
        Some(value) => {
            let mut intensity = Intensity::new(value, live.join(" or "), Provenance::Live);
            intensity.zone.clone_from(&place.zone);
            Some(intensity)
        }
        None => known,
    }
}

/// The live sources that are set.
pub(crate) fn live_sources(config: &Config) -> Vec<&'static str> {
    let sources = [
        (config.text(Setting::ElectricityMapsKey).is_some(), "electricity-maps"),
        (config.text(Setting::Co2SignalKey).is_some(), "co2signal"),
        (config.text(Setting::WattTimePassword).is_some(), "watttime"),
        (is_on(config, Setting::UkCarbonIntensity), "uk-carbon-intensity"),
    ];
    sources.into_iter().filter(|(set, _)| *set).map(|(_, name)| name).collect()
}

/// The price of electricity in force.
pub(crate) fn price(config: &Config, place: &Place, at: SystemTime) -> Option<ElectricityPrice> {
    let own = number(config, Setting::ElectricityPrice).and_then(UsdPerKwh::new);
    own.map_or_else(ElectricityPrices::bundled, ElectricityPrices::fixed).electricity(place, at)
}

/// Whether a figure is another one than it may have been rounded from.
fn is_other(value: GramsPerKwh, from: GramsPerKwh, rounding: f64) -> bool {
    (value.grams_per_kwh() - from.grams_per_kwh()).abs() > rounding * from.grams_per_kwh()
}

/// Grams are sums of floating-point numbers over whole microjoules.
const ROUNDING: f64 = 1e-3;
/// What some microjoules make of the mean over a joule or more.
const MICROJOULES: f64 = 1e-5;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_that_is_the_sources_figure_but_for_microjoules_is_that_figure() {
        let shown = |mean: Option<f64>| {
            let known = Intensity::new(GramsPerKwh::whole(475), "fixed", Provenance::User);
            Grid::new(known, mean.and_then(GramsPerKwh::new)).grams_per_kwh.grams_per_kwh()
        };
        // One microjoule of 600 J more or less, and two.
        assert_eq!(shown(Some(475.0 * (1.0 + 1e-6 / 600.0))), 475.0);
        assert_eq!(shown(Some(475.0 / (1.0 + 2e-6 / 600.0))), 475.0);
        assert_eq!(shown(None), 475.0);
        // An intensity that changed on the way.
        assert_eq!(shown(Some(474.9)), 474.9);
    }
}
