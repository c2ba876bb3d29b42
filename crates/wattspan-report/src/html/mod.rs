//! The report as one HTML file. Templates escape every text; `text::clean` shows what would hide in one.

mod axis;
mod bars;
mod histogram;
mod page;
mod split;
mod table;
mod timeline;

pub(crate) use page::write;
