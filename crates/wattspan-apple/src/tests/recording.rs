//! The public recording of an M1's powermetrics, where `WATTSPAN_RECORDINGS` names the folder of recordings.

use std::path::PathBuf;

use wattspan_core::Joules;
use wattspan_energy::Meter;

use super::*;

/// One row as powermetrics would have printed it.
fn report(row: &[f64]) -> String {
    let mut figures = String::new();
    for (name, milliwatts) in ["cpu", "gpu", "ane", "dram", "package"].iter().zip(&row[2..]) {
        figures.push_str("<key>");
        figures.push_str(name);
        figures.push_str("_power</key><real>");
        figures.push_str(&milliwatts.to_string());
        figures.push_str("</real>");
    }
    let nanoseconds = (row[1] * 1e9).round();
    format!(
        "<?xml version=\"1.0\"?><plist version=\"1.0\"><dict><key>elapsed_ns</key><integer>{nanoseconds}</integer>\
         <key>processor</key><dict>{figures}</dict></dict></plist>"
    )
}

fn joules(energy: Joules, right: f64) {
    assert!((energy.joules() - right).abs() <= right * 1e-3, "{energy} is not {right} J");
}

#[test]
#[allow(clippy::print_stdout)] // The runner shows it where asked to; a silent skip would look like a check.
fn the_recording_of_an_m1_gives_its_known_joules() {
    let Some(folder) = std::env::var_os("WATTSPAN_RECORDINGS").filter(|folder| !folder.is_empty()) else {
        println!("skipped: WATTSPAN_RECORDINGS names no folder of recordings");
        return;
    };
    let path = PathBuf::from(folder).join("power/apple_m1_powermetrics.csv");
    let text = std::fs::read_to_string(&path).unwrap();
    let rows: Vec<Vec<f64>> = text
        .lines()
        .skip(1)
        .map(|line| line.split(',').map(|cell| cell.parse().unwrap()).collect())
        .collect();
    assert_eq!(rows.len(), 10);
    let snapshots: Vec<Snapshot> = rows.iter().map(|row| powermetrics_plist(&report(row)).unwrap()).collect();
    let energy = |power: fn(&Snapshot) -> &Reading<Watts>| -> Joules {
        snapshots.iter().map(|snapshot| *power(snapshot).as_value().unwrap() * snapshot.elapsed).sum()
    };
    joules(energy(|snapshot| &snapshot.package), 0.550_957);
    joules(energy(|snapshot| &snapshot.cpu), 0.335_212);
    joules(energy(|snapshot| &snapshot.gpu), 0.040_927);

    // The way of the package through a meter, which counts from the end of the first interval on.
    let device = Part::Package.device("Apple M1", None, true);
    let mut track = Track::new(Part::Package, device);
    let mut meter = Meter::new(Arc::clone(&track.device));
    let (mut found, mut end) = (Vec::new(), None);
    for (snapshot, row) in snapshots.iter().zip(&rows) {
        // Each arrives a little late.
        let arrived = MonoTime::ZERO + Duration::from_secs_f64(row[0]) + Duration::from_millis(3);
        end = Some(end_of(end, arrived, snapshot.elapsed));
        track.take(snapshot, end.unwrap());
        meter.read(&track.sample(arrived), &mut found);
    }
    let metered: Joules = found.iter().filter_map(|interval| interval.energy.as_ref().ok()).copied().sum();
    joules(metered, 0.550_957 - 1.473 * 0.104_51);
}
