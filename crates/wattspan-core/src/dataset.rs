//! Tables of a run, as neutral rows for any sink.

use std::borrow::Cow;

use serde::{Serialize, Serializer};

/// Which of a run's tables a row belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Table {
    /// One row per case.
    Results,
    /// One row per trace, its spans nested.
    Traces,
    /// One row per device and moment.
    Metrics,
    /// One row per run.
    Leaderboard,
}

impl Table {
    /// All tables.
    pub const ALL: [Self; 4] = [Self::Results, Self::Traces, Self::Metrics, Self::Leaderboard];

    /// The name in file, index and repository names.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Results => "results",
            Self::Traces => "traces",
            Self::Metrics => "metrics",
            Self::Leaderboard => "leaderboard",
        }
    }
}

/// A value in a table.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// Absent.
    Null,
    /// True or false.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A number; one that is not finite is written as absent.
    Float(f64),
    /// Text.
    Text(Cow<'static, str>),
    /// A list.
    List(Vec<Cell>),
    /// Named values, in order.
    Map(Vec<(Cow<'static, str>, Cell)>),
}

impl Serialize for Cell {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::Int(value) => serializer.serialize_i64(*value),
            Self::Float(value) if value.is_finite() => serializer.serialize_f64(*value),
            Self::Null | Self::Float(_) => serializer.serialize_none(),
            Self::Text(text) => serializer.serialize_str(text),
            Self::List(cells) => serializer.collect_seq(cells),
            Self::Map(cells) => serializer.collect_map(cells.iter().map(|(name, cell)| (name, cell))),
        }
    }
}

/// One row: named cells in the order of the table's columns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row(pub Vec<(Cow<'static, str>, Cell)>);

impl Serialize for Row {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, cell)| (name, cell)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_keeps_its_order_and_its_gaps() {
        let row = Row(vec![
            ("b".into(), Cell::Float(f64::NAN)),
            ("a".into(), Cell::List(vec![Cell::Int(1), Cell::Null])),
        ]);
        assert_eq!(serde_json::to_string(&row).unwrap(), r#"{"b":null,"a":[1,null]}"#);
    }
}
