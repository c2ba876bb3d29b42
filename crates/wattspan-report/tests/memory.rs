//! A long run needs no more memory than a short one. Alone in its file, for it looks at the whole process.
#![cfg(target_os = "linux")]

mod common;

use std::fs;
use std::io::{BufWriter, Write};
use std::path::Path;

use common::fixture;
use wattspan_report::{Format, Report};

/// Most memory that this process has had, in KiB.
fn peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// Repeats the first rows of `metrics.json`, a second later each time.
fn lengthen(folder: &Path, seconds: u64) {
    let path = folder.join("metrics.json");
    let text = fs::read_to_string(&path).unwrap();
    let rows: Vec<&str> =
        text.lines().filter(|line| line.starts_with('{') && line.contains("device_id")).take(5).collect();
    assert_eq!(rows.len(), 5);
    let (begin, end) = ("\"timestamp_unix_nano\":\"", "\"");
    let mut out = BufWriter::new(fs::File::create(&path).unwrap());
    out.write_all(b"{\"run_id\":\"long\",\"rows\":[").unwrap();
    for second in 0..seconds {
        for (index, row) in rows.iter().enumerate() {
            let (head, tail) = row.split_once(begin).unwrap();
            let (_, tail) = tail.split_once(end).unwrap();
            let comma = if second == 0 && index == 0 { "\n" } else { ",\n" };
            let time = 1_796_161_598 + second;
            write!(out, "{comma}{head}{begin}{time}000000000{end}{}", tail.trim_end_matches(',')).unwrap();
        }
    }
    out.write_all(b"\n],\"resourceMetrics\":[],\"aggregates\":[]}\n").unwrap();
}

#[test]
fn memory_is_flat() {
    let base = tempfile::tempdir().unwrap();
    let folder = fixture::write_run(base.path(), &fixture::COMPLETED, |_| {});
    let write = || {
        let report = Report::open([&folder]).unwrap();
        for format in Format::ALL {
            report.write(format, std::io::sink()).unwrap();
        }
        report.notices().count()
    };
    lengthen(&folder, 400);
    let notices = write();
    let short = peak();
    lengthen(&folder, 8_000);
    let size = fs::metadata(folder.join("metrics.json")).unwrap().len();
    assert!(size > 24 << 20, "{size}");
    assert_eq!(write(), notices);
    let more = peak() - short;
    // Twenty times the rows, more than 24 MiB of them.
    assert!(more < 4 << 10, "{more} KiB");
}
