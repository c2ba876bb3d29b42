//! Named values whose names are not known beforehand: attributes of spans and resources.

use std::borrow::Cow;
use std::fmt;

use serde::de::{self, Deserialize, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::{Serialize, Serializer};
use wattspan_core::{Cell, Row};

use crate::{Column, ColumnType};

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

/// A row of a table from its JSON, whatever columns it has. Names that the schema has are not copied.
pub(crate) fn row_from_json(json: &[u8], columns: &'static [Column]) -> serde_json::Result<Row> {
    let mut reader = serde_json::Deserializer::from_slice(json);
    let cell = CellSeed(Some(ColumnType::Struct(columns))).deserialize(&mut reader)?;
    reader.end()?;
    match cell {
        Cell::Map(cells) => Ok(Row(cells)),
        _ => Err(de::Error::custom("a row is not an object")),
    }
}

/// Reads whatever JSON holds into a cell.
pub(crate) struct AnyCell(pub(crate) Cell);

impl<'de> Deserialize<'de> for AnyCell {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        CellSeed(None).deserialize(deserializer).map(AnyCell)
    }
}

/// The same, with what the schema says of the place, if it knows it.
#[derive(Clone, Copy)]
struct CellSeed(Option<ColumnType>);

impl CellSeed {
    fn columns(self) -> &'static [Column] {
        match self.0 {
            Some(ColumnType::Struct(columns)) => columns,
            _ => &[],
        }
    }
}

impl<'de> DeserializeSeed<'de> for CellSeed {
    type Value = Cell;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Cell, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for CellSeed {
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

    /// Other programs write `1.0` as `1`; where the column is one of numbers it stays one.
    fn visit_i64<E>(self, value: i64) -> Result<Cell, E> {
        Ok(if self.0 == Some(ColumnType::Float) { Cell::Float(value as f64) } else { Cell::Int(value) })
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Cell, E> {
        i64::try_from(value).map_or(Ok(Cell::Float(value as f64)), |value| self.visit_i64(value))
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
        let item = match self.0 {
            Some(ColumnType::List(item)) => CellSeed(Some(*item)),
            _ => CellSeed(None),
        };
        let mut cells = Vec::new();
        while let Some(cell) = list.next_element_seed(item)? {
            cells.push(cell);
        }
        Ok(Cell::List(cells))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Cell, A::Error> {
        let columns = self.columns();
        let mut cells = Vec::with_capacity(columns.len());
        while let Some((name, kind)) = map.next_key_seed(Name { columns, likely: cells.len() })? {
            cells.push((name, map.next_value_seed(CellSeed(kind))?));
        }
        Ok(Cell::Map(cells))
    }
}

/// A name in an object, and what the schema says of it.
struct Name {
    columns: &'static [Column],
    /// Rows mostly have the columns' order.
    likely: usize,
}

impl<'de> DeserializeSeed<'de> for Name {
    type Value = (Cow<'static, str>, Option<ColumnType>);

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Name {
    type Value = (Cow<'static, str>, Option<ColumnType>);

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a name")
    }

    fn visit_str<E>(self, name: &str) -> Result<Self::Value, E> {
        let likely = self.columns.get(self.likely).filter(|column| column.name == name);
        let column = likely.or_else(|| self.columns.iter().find(|column| column.name == name));
        Ok(match column {
            Some(column) => (Cow::Borrowed(column.name), Some(column.kind)),
            None => (Cow::Owned(name.to_owned()), None),
        })
    }
}
