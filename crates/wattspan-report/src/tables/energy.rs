//! Where the joules went, and what each device did.

use crate::model::{Content, Figure, Line, Table, number, words};
use crate::number::Unit;
use crate::read::{Counts, Device, Run};
use crate::text;

/// Energy by device and state.
pub(crate) fn energy(run: &Run) -> Table {
    let mut table = Table::new(
        "energy",
        "Measured energy by device",
        vec![
            words("device", "Device"),
            number("energy_inference_j", "Inferences"),
            number("energy_idle_j", "Idle"),
            number("energy_other_j", "Others"),
            number("energy_unattributed_j", "Not attributed"),
            number("energy_j", "Total"),
            number("co2_emissions_gco2e", "Emissions"),
            number("power_cost_usd", "Electricity"),
            words("energy_method", "Method"),
        ],
    );
    for device in run.devices.iter() {
        table.lines.push(line(
            &device.id,
            device_name(device),
            &device.counts(),
            device.method.as_deref(),
            device.absence.as_deref(),
        ));
    }
    // Nothing but dashes says less than the notice that nothing was measured.
    if run.devices.iter().all(|device| device.counts().total.is_none()) {
        table.lines.clear();
        return table;
    }
    let total = "All that count".to_owned();
    table.lines.push(line("total", total, &run.devices.counts(), None, Some("no device has it")).total());
    table.notes.push(
        "Idle is time with nothing in flight; others are other processes. Measured energy only: what was modelled is in no \
         line."
            .to_owned(),
    );
    if run.devices.iter().any(|device| !device.is_counted) {
        table.notes.push("A part of a device is in no sum: the device holds it already.".to_owned());
    }
    table
}

fn line(key: &str, title: String, counts: &Counts, method: Option<&str>, absence: Option<&str>) -> Line {
    let reason = absence.map_or_else(|| "its sensors did not say".to_owned(), text::line);
    let joules = |value| Content::from(Figure::new(value, Unit::Joule).or_because(reason.clone()));
    let mut cells = vec![
        Content::Text(title),
        joules(counts.inference),
        joules(counts.idle),
        joules(counts.other),
        joules(counts.unattributed),
        joules(counts.total),
    ];
    cells.push(Figure::new(counts.co2, Unit::Gram).or_because("no carbon intensity was known").into());
    cells.push(Figure::new(counts.cost, Unit::Usd).or_because("no price of electricity was known").into());
    cells.push(Content::text(method.map(super::summary::method_words)));
    Line::new(key, cells)
}

/// Name of a device in a table.
pub(crate) fn device_name(device: &Device) -> String {
    let title = text::line(&device.title());
    match &device.parent {
        Some(parent) => format!("{title}, part of {}", text::line(parent)),
        None if !device.is_counted => format!("{title}, in no sum"),
        None => title,
    }
}

/// Power, memory and health by device.
pub(crate) fn devices(run: &Run) -> Table {
    let mut table = Table::new(
        "devices",
        "Devices",
        vec![
            words("device", "Device"),
            words("device_kind", "Kind"),
            number("power_mean_w", "Mean power"),
            number("power_max_w", "Peak power"),
            number("power_limit_w", "Power limit"),
            number("utilization_max_percent", "Highest use"),
            number("memory_max_mib", "Peak memory"),
            number("memory_total_mib", "Memory"),
            number("temperature_max_celsius", "Highest temperature"),
            words("throttle", "Held back by"),
            number("gaps", "Gaps"),
            words("absence", "What is missing"),
        ],
    );
    for device in run.devices.iter() {
        let reason = device.absence.as_deref().map_or_else(|| "not reported".to_owned(), text::line);
        let figure = |value, unit| Content::from(Figure::new(value, unit).or_because(reason.clone()));
        let gaps = Figure::count(device.gaps);
        let gaps = match &device.gap_reason {
            Some(reason) => gaps.note(format!("latest: {}", text::line(reason))),
            None => gaps,
        };
        table.lines.push(Line::new(
            device.id.clone(),
            vec![
                Content::Text(device_name(device)),
                Content::Text(text::line(&device.kind).replace('_', " ")),
                figure(device.power.mean(), Unit::Watt),
                figure(device.power.max(), Unit::Watt),
                figure(device.power_limit, Unit::Watt),
                figure(device.utilization.max(), Unit::Percent),
                figure(device.memory.max(), Unit::Mebibyte),
                figure(device.memory_total, Unit::Mebibyte),
                figure(device.temperature.max(), Unit::Celsius),
                Content::text((!device.throttle.is_empty()).then(|| {
                    device.throttle.iter().map(|reason| text::line(reason)).collect::<Vec<_>>().join(", ")
                })),
                gaps.into(),
                Content::text(device.absence.as_deref().map(text::line)),
            ],
        ));
    }
    table.without_empty_columns()
}
