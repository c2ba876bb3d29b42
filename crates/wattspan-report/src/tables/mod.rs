//! From a run to tables. Every figure of every format comes from here.

mod cases;
mod energy;
mod provenance;
mod runs;
mod summary;

use wattspan_core::Cell;

pub(crate) use cases::cases;
pub(crate) use energy::{devices, energy};
pub(crate) use provenance::{carbon, cost, setup};
pub(crate) use runs::{comparison, runs};
pub(crate) use summary::{latency, method_words, summary};

/// Single figures, for sentences and pictures.
pub(crate) mod headline_figures {
    pub(crate) use super::summary::{
        energy, inference_co2, inference_cost, passed, per_token, rate, unknown,
    };
}

use crate::Options;
use crate::model::Table;
use crate::read::Run;
use crate::text;

/// The tables of one run, in their order. Those without a line are left out.
pub(crate) fn of_run(run: &Run, options: &Options) -> Vec<Table> {
    [
        summary(run),
        energy(run),
        devices(run),
        latency(run),
        carbon(run),
        cost(run),
        cases(run, options),
        setup(run),
    ]
    .into_iter()
    .filter(|table| !table.lines.is_empty())
    .collect()
}

/// A model's name. Of a file's path its last part: where it lies on the machine tells nobody anything.
pub(crate) fn model_name(model: &str) -> String {
    let is_path = model.starts_with(['/', '\\', '.', '~']) || model.contains(":\\");
    let name = if is_path { model.rsplit(['/', '\\']).find(|part| !part.is_empty()) } else { None };
    text::line(name.unwrap_or(model))
}

/// A value of the metadata as text on a line.
pub(crate) fn value_text(cell: &Cell) -> String {
    match cell {
        Cell::Null => crate::model::ABSENT.to_owned(),
        Cell::Bool(value) => value.to_string(),
        Cell::Int(value) => value.to_string(),
        Cell::Float(value) => value.to_string(),
        Cell::Text(value) => text::line(value),
        Cell::List(values) => values.iter().map(value_text).collect::<Vec<_>>().join(", "),
        Cell::Map(values) => {
            let pair = |(name, value): &(std::borrow::Cow<'static, str>, Cell)| {
                format!("{}: {}", text::line(name), value_text(value))
            };
            values.iter().map(pair).collect::<Vec<_>>().join(", ")
        }
    }
}
