//! Writes reports on two made-up runs, as HTML, Markdown and CSV: `cargo run -p wattspan-report --example sample_report --
//! FOLDER`. With folders of runs after it, the report is on those.

#[path = "../tests/common/fixture.rs"]
mod fixture;

use std::error::Error;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::PathBuf;

use wattspan_report::{Format, Report};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let folder = arguments.next().unwrap_or_else(|| std::env::temp_dir().join("wattspan-sample-report"));
    fs::create_dir_all(&folder)?;
    let mut runs: Vec<PathBuf> = arguments.collect();
    if runs.is_empty() {
        runs = fixture::write(&folder.join("runs")).into();
    }
    let report = Report::open(&runs)?;
    let mut out = std::io::stdout().lock();
    for (run, notice) in report.notices() {
        writeln!(out, "{run}: {notice}")?;
    }
    for format in Format::ALL {
        let path = folder.join(format!("report.{format}"));
        report.write(format, BufWriter::new(File::create(&path)?))?;
        writeln!(out, "{}", path.display())?;
    }
    Ok(())
}
