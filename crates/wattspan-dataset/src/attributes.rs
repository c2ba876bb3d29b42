//! Named values whose names are not known beforehand: attributes of spans and resources.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::{Serialize, Serializer};
use wattspan_core::Cell;

/// Attributes in their order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Attributes(pub Vec<(Cow<'static, str>, Cell)>);

impl Attributes {
    /// The value under a name.
    pub fn get(&self, name: &str) -> Option<&Cell> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    /// Adds a value.
    pub fn push(&mut self, name: impl Into<Cow<'static, str>>, value: Cell) {
        self.0.push((name.into(), value));
    }

    /// A whole number under one of several names; the first that is there.
    pub(crate) fn int(&self, names: &[&str]) -> Option<u64> {
        names.iter().find_map(|name| match self.get(name)? {
            Cell::Int(value) => u64::try_from(*value).ok(),
            _ => None,
        })
    }

    /// A number under one of several names.
    pub(crate) fn float(&self, names: &[&str]) -> Option<f64> {
        names.iter().find_map(|name| match self.get(name)? {
            Cell::Int(value) => Some(*value as f64),
            Cell::Float(value) if value.is_finite() => Some(*value),
            _ => None,
        })
    }

    /// A text under a name.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        match self.get(name)? {
            Cell::Text(text) => Some(text),
            _ => None,
        }
    }
}

impl Serialize for Attributes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, cell)| (name, cell)))
    }
}

impl<'de> Deserialize<'de> for Attributes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let AnyCell(cell) = AnyCell::deserialize(deserializer)?;
        match cell {
            Cell::Map(values) => Ok(Self(values)),
            Cell::Null => Ok(Self::default()),
            _ => Err(serde::de::Error::custom("attributes are not an object")),
        }
    }
}

/// Reads whatever JSON holds into a cell.
pub(crate) struct AnyCell(pub(crate) Cell);

impl<'de> Deserialize<'de> for AnyCell {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(CellVisitor).map(AnyCell)
    }
}

struct CellVisitor;

impl<'de> Visitor<'de> for CellVisitor {
    type Value = Cell;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Cell, E> {
        Ok(Cell::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Cell, E> {
        Ok(Cell::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Cell, E> {
        Ok(Cell::Int(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Cell, E> {
        Ok(i64::try_from(value).map_or(Cell::Float(value as f64), Cell::Int))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Cell, E> {
        Ok(Cell::Float(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Cell, E> {
        Ok(Cell::Text(value.to_owned().into()))
    }

    fn visit_string<E>(self, value: String) -> Result<Cell, E> {
        Ok(Cell::Text(value.into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Cell, A::Error> {
        let mut cells = Vec::new();
        while let Some(AnyCell(cell)) = list.next_element()? {
            cells.push(cell);
        }
        Ok(Cell::List(cells))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Cell, A::Error> {
        let mut cells = Vec::new();
        while let Some((name, AnyCell(cell))) = map.next_entry::<String, AnyCell>()? {
            cells.push((name.into(), cell));
        }
        Ok(Cell::Map(cells))
    }
}
