//! Columns of the tables, and how a typed row becomes neutral cells. A row's struct is its schema: both come from one
//! declaration, so that they cannot drift apart.

use std::borrow::Cow;

use wattspan_core::{Cell, Row, Table};

use crate::{Attributes, Timestamp};

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ColumnType {
    /// True or false.
    Bool,
    /// A whole number of up to 64 bits, signed.
    Int,
    /// A number.
    Float,
    /// Text.
    Text,
    /// A point in time, written as RFC 3339 text in UTC.
    Time,
    /// Named values whose names are not known beforehand.
    Map,
    /// A list.
    List(&'static ColumnType),
    /// Named values, always the same.
    Struct(&'static [Column]),
}

impl ColumnType {
    /// A short name: `bool`, `int`, `float`, `text`, `time`, `map`, `list`, `struct`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Bool => "bool",
            Self::Int => "int",
            Self::Float => "float",
            Self::Text => "text",
            Self::Time => "time",
            Self::Map => "map",
            Self::List(_) => "list",
            Self::Struct(_) => "struct",
        }
    }

    /// The parts of a list or struct, for a description in a run's metadata.
    fn inner(self) -> Option<(Cow<'static, str>, Cell)> {
        match self {
            Self::List(item) => {
                let mut parts = vec![("type".into(), Cell::Text(item.as_str().into()))];
                parts.extend(item.inner());
                Some(("items".into(), Cell::Map(parts)))
            }
            Self::Struct(columns) => {
                Some(("fields".into(), Cell::List(columns.iter().map(Column::describe).collect())))
            }
            _ => None,
        }
    }
}

/// One column of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Column {
    /// Its name, which is the key in JSON.
    pub name: &'static str,
    /// What it holds.
    pub kind: ColumnType,
    /// Unit of a number, as UCUM writes it; empty where there is none.
    pub unit: &'static str,
    /// Whether cells may be absent.
    pub nullable: bool,
}

impl Column {
    pub(crate) const fn new(
        name: &'static str,
        kind: ColumnType,
        unit: &'static str,
        nullable: bool,
    ) -> Self {
        Self { name, kind, unit, nullable }
    }

    /// The column as cells: `name`, `type`, `unit`, `nullable`, and the `items` of a list or the `fields` of a struct.
    pub fn describe(&self) -> Cell {
        let mut parts = vec![
            ("name".into(), Cell::Text(self.name.into())),
            ("type".into(), Cell::Text(self.kind.as_str().into())),
            ("unit".into(), Cell::Text(self.unit.into())),
            ("nullable".into(), Cell::Bool(self.nullable)),
        ];
        parts.extend(self.kind.inner());
        Cell::Map(parts)
    }
}

/// A typed row of one of the four tables.
pub trait TableRow: Sized {
    /// Which table.
    const TABLE: Table;

    /// The table's columns, in order.
    const COLUMNS: &'static [Column];

    /// The row as neutral cells, in the order of the columns.
    fn into_row(self) -> Row;
}

/// The columns of a table. Sinks that need a schema beforehand (Parquet, an index mapping) take it from here.
pub const fn columns(table: Table) -> &'static [Column] {
    match table {
        Table::Results => crate::ResultRow::COLUMNS,
        Table::Traces => crate::TraceRow::COLUMNS,
        Table::Metrics => crate::MetricRow::COLUMNS,
        Table::Leaderboard => crate::LeaderboardRow::COLUMNS,
    }
}

/// A type that can stand in a column.
pub(crate) trait InCell: Sized {
    const TYPE: ColumnType;
    const NULLABLE: bool = false;
    fn cell(self) -> Cell;
}

impl InCell for bool {
    const TYPE: ColumnType = ColumnType::Bool;
    fn cell(self) -> Cell {
        Cell::Bool(self)
    }
}

impl InCell for i64 {
    const TYPE: ColumnType = ColumnType::Int;
    fn cell(self) -> Cell {
        Cell::Int(self)
    }
}

impl InCell for u64 {
    const TYPE: ColumnType = ColumnType::Int;
    /// Counts beyond 2^63 are out of a table's range and absent rather than wrong.
    fn cell(self) -> Cell {
        i64::try_from(self).map_or(Cell::Null, Cell::Int)
    }
}

impl InCell for f64 {
    const TYPE: ColumnType = ColumnType::Float;
    fn cell(self) -> Cell {
        if self.is_finite() { Cell::Float(self) } else { Cell::Null }
    }
}

impl InCell for String {
    const TYPE: ColumnType = ColumnType::Text;
    fn cell(self) -> Cell {
        Cell::Text(self.into())
    }
}

impl InCell for Timestamp {
    const TYPE: ColumnType = ColumnType::Time;
    fn cell(self) -> Cell {
        Cell::Text(self.to_string().into())
    }
}

impl InCell for Attributes {
    const TYPE: ColumnType = ColumnType::Map;
    fn cell(self) -> Cell {
        Cell::Map(self.0)
    }
}

impl<T: InCell> InCell for Option<T> {
    const TYPE: ColumnType = T::TYPE;
    const NULLABLE: bool = true;
    fn cell(self) -> Cell {
        self.map_or(Cell::Null, InCell::cell)
    }
}

impl<T: InCell> InCell for Vec<T> {
    const TYPE: ColumnType = ColumnType::List(&T::TYPE);
    fn cell(self) -> Cell {
        Cell::List(self.into_iter().map(InCell::cell).collect())
    }
}

/// The unit of a column, from the optional one of its declaration.
pub(crate) const fn unit(given: &[&'static str]) -> &'static str {
    if given.is_empty() { "" } else { given[0] }
}

/// Declares structs that know their columns: `field: Type => "unit"`. With `in Table` the struct is a table's row.
macro_rules! records {
    ($(
        $(#[$meta:meta])*
        pub struct $name:ident $(in $table:ident)? {
            $( $(#[$field_meta:meta])* $field:ident : $type:ty $(=> $unit:literal)? ),* $(,)?
        }
    )*) => {$(
        $(#[$meta])*
        #[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(default)]
        #[non_exhaustive]
        pub struct $name {
            $( $(#[$field_meta])* pub $field: $type, )*
        }

        impl $name {
            const COLUMNS_: &'static [$crate::Column] = &[$(
                $crate::Column::new(
                    stringify!($field),
                    <$type as $crate::schema::InCell>::TYPE,
                    $crate::schema::unit(&[$($unit)?]),
                    <$type as $crate::schema::InCell>::NULLABLE,
                ),
            )*];

            fn cells(self) -> Vec<(std::borrow::Cow<'static, str>, wattspan_core::Cell)> {
                vec![$((
                    std::borrow::Cow::Borrowed(stringify!($field)),
                    $crate::schema::InCell::cell(self.$field),
                ),)*]
            }
        }

        impl $crate::schema::InCell for $name {
            const TYPE: $crate::ColumnType = $crate::ColumnType::Struct(Self::COLUMNS_);
            fn cell(self) -> wattspan_core::Cell {
                wattspan_core::Cell::Map(self.cells())
            }
        }

        $(impl $crate::TableRow for $name {
            const TABLE: wattspan_core::Table = wattspan_core::Table::$table;
            const COLUMNS: &'static [$crate::Column] = Self::COLUMNS_;
            fn into_row(self) -> wattspan_core::Row {
                wattspan_core::Row(self.cells())
            }
        })?
    )*};
}
pub(crate) use records;
