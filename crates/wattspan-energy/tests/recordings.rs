//! Recorded power traces, integrated by their kind. They lie outside this repository; `WATTSPAN_RECORDINGS` names the
//! folder that holds `power/`. Expected energies are those that the collection's own notes state for its files.

#![allow(clippy::print_stdout)] // A test that checks nothing says so.

use std::path::PathBuf;
use std::time::Duration;

use wattspan_core::{Joules, MonoTime, Watts};
use wattspan_energy::{
    Integral, PowerMean, PowerPoint, back_dated, clip_means, clip_points, interval_means, refreshes,
    trapezoid,
};

/// Columns of a recording by name.
struct Recording {
    columns: Vec<String>,
    rows: Vec<Vec<f64>>,
}

/// Reads a recording; `None`, and a line that says so, where there are none.
fn recording(name: &str) -> Option<Recording> {
    let Some(folder) = std::env::var_os("WATTSPAN_RECORDINGS").filter(|folder| !folder.is_empty()) else {
        println!("skipped: {name} is not checked, since WATTSPAN_RECORDINGS names no folder of recordings");
        return None;
    };
    let path = PathBuf::from(folder).join("power").join(name);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut lines = text.lines();
    let columns = lines.next().unwrap().split(',').map(str::to_owned).collect();
    let rows = lines.map(|line| line.split(',').map(|cell| cell.parse().unwrap()).collect()).collect();
    Some(Recording { columns, rows })
}

impl Recording {
    fn column(&self, name: &str) -> Vec<f64> {
        let index =
            self.columns.iter().position(|column| column == name).unwrap_or_else(|| panic!("no {name}"));
        self.rows.iter().map(|row| row[index]).collect()
    }

    fn points(&self, time: &str, power: &str) -> Vec<PowerPoint> {
        let powers = self.column(power);
        self.column(time)
            .into_iter()
            .zip(powers)
            .map(|(time, power)| PowerPoint::new(seconds(time), watts(power)))
            .collect()
    }
}

fn seconds(time: f64) -> MonoTime {
    MonoTime::from_nanos((time * 1e9).round() as u64)
}

fn watts(power: f64) -> Watts {
    Watts::new(power).unwrap()
}

#[track_caller]
fn within_a_thousandth(found: &Integral, joules: f64) {
    let off = (found.energy.joules() - joules).abs();
    assert!(off <= 1e-3 * joules && found.rejected == 0, "{} is not {joules} J", found.energy);
}

const LONGEST: Duration = Duration::from_millis(500);

/// File, column and the trapezoid over all of its rows, in joules.
const POLLED: [(&str, &str, f64); 5] = [
    ("nvml_a100_square_50_50.csv", "power_w", 1_308.797),
    ("nvml_a100_square_50_50.csv", "power_instant_w", 1_308.940),
    ("nvml_rtx3090_square_50_50.csv", "power_average_w", 2_872.009),
    ("nvml_rtx3090_square_50_50.csv", "power_instant_w", 2_852.987),
    ("nvml_rtx4090_step.csv", "power_w", 2_843.768),
];

#[test]
fn trapezoids_are_those_that_the_recordings_state() {
    for (name, column, joules) in POLLED {
        let Some(recording) = recording(name) else { return };
        let found = trapezoid(&recording.points("t_s", column), LONGEST);
        // Stated to the millijoule.
        assert!((found.energy.joules() - joules).abs() <= 0.000_6, "{name} {column}: {}", found.energy);
        assert!(found.gaps.is_empty());
    }
}

/// Every k-th poll, from each of the first k. At any time within a step from a to b, the curve f is no further from the
/// mean of its ends than half of |f(t) − f(a)| + |f(b) − f(t)|, so than half of its total variation V in that step; over
/// all steps of up to h, a trapezoid is off by at most h·V/2.
#[test]
fn fewer_polls_and_shifted_polls_stay_inside_the_bound() {
    for (name, column, _) in POLLED {
        let Some(recording) = recording(name) else { return };
        let all = recording.points("t_s", column);
        for every in [2, 5, 10, 15] {
            for phase in 0..every {
                let some: Vec<PowerPoint> = all.iter().skip(phase).step_by(every).copied().collect();
                let (from, to) = (some[0].time, some[some.len() - 1].time);
                let whole = clip_points(&all, from, to);
                let truth = trapezoid(&whole, LONGEST).energy;
                let found = trapezoid(&some, LONGEST);
                let variation: f64 =
                    whole.windows(2).map(|pair| (pair[1].power.watts() - pair[0].power.watts()).abs()).sum();
                let longest = some.windows(2).map(|pair| pair[1].time.since(pair[0].time)).max().unwrap();
                let bound = longest.as_secs_f64() * variation / 2.0;
                let off = (found.energy - truth).joules().abs();
                assert!(
                    off <= bound,
                    "{name} {column}, every {every} from {phase}: off by {off} J of {bound} J"
                );
                assert!(found.gaps.is_empty());
            }
        }
    }
}

/// From polls to refreshes, each with its own interval: the sensor holds a reading until the next, so that no more than
/// one poll per change is in doubt, and the means hold from change to change instead of around it.
#[test]
fn one_reading_per_refresh_gives_the_energy_of_all_polls() {
    for (name, column, _) in POLLED {
        let Some(recording) = recording(name) else { return };
        let all = recording.points("t_s", column);
        let changes = refreshes(&all);
        let (from, to) = (changes[1].time, changes[changes.len() - 1].time);
        let truth = trapezoid(&clip_points(&all, from, to), LONGEST).energy;
        // A reading that holds from its refresh to the next one.
        let held: Vec<PowerMean> = changes
            .windows(2)
            .map(|pair| PowerMean::new(pair[0].time, pair[1].time, pair[0].power))
            .collect();
        let stepped = interval_means(&clip_means(&held, from, to));
        let poll = all.windows(2).map(|pair| pair[1].time.since(pair[0].time)).max().unwrap().as_secs_f64();
        let variation: f64 =
            changes.windows(2).map(|pair| (pair[1].power.watts() - pair[0].power.watts()).abs()).sum();
        let off = (stepped.energy - truth).joules().abs();
        assert!(off <= poll * variation / 2.0, "{name} {column}: off by {off} J");
        assert!(changes.len() * 3 < all.len(), "{name}: the sensor is slower than the polls");
        // And centred on their refreshes: each reading is moved by at most half of a refresh period on either side.
        let centred =
            interval_means(&clip_means(&back_dated(&changes, Duration::ZERO, Duration::MAX), from, to));
        let longest = changes.windows(2).map(|pair| pair[1].time.since(pair[0].time)).max().unwrap();
        let off = (centred.energy - stepped.energy).joules().abs();
        assert!(off <= longest.as_secs_f64() * variation / 2.0, "{name} {column}: off by {off} J");
    }
}

#[test]
fn interval_means_are_power_times_their_own_interval() {
    let Some(recording) = recording("apple_m1_powermetrics.csv") else { return };
    let (ends, lengths) = (recording.column("t_end_s"), recording.column("interval_s"));
    for (column, joules) in
        [("package_power_mw", 0.550_957), ("cpu_power_mw", 0.335_212), ("gpu_power_mw", 0.040_927)]
    {
        let means: Vec<PowerMean> = recording
            .column(column)
            .into_iter()
            .zip(ends.iter().zip(&lengths))
            .map(|(milliwatts, (end, length))| {
                PowerMean::new(seconds(end - length), seconds(*end), watts(milliwatts / 1e3))
            })
            .collect();
        within_a_thousandth(&interval_means(&means), joules);
    }
    // What a trapezoid over the end times would say: it loses the first interval.
    let ends = recording.points("t_end_s", "package_power_mw");
    let lost: Vec<PowerPoint> =
        ends.iter().map(|end| PowerPoint::new(end.time, watts(end.power.watts() / 1e3))).collect();
    assert!((trapezoid(&lost, LONGEST).energy.joules() - 0.458).abs() < 0.000_5);
}

#[test]
fn power_times_its_own_interval_agrees_with_the_counter() {
    let Some(recording) = recording("cpu_intel_power_gadget_laptop.csv") else { return };
    let times = recording.column("t_s");
    for (part, by_counter, trapezoidal, by_interval) in [
        ("package", 2.996, 2.985_2, 2.997_5),
        ("core", 1.140, 1.130_4, 1.140_7),
        ("dram", 1.342, 1.339_3, 1.342_0),
    ] {
        let powers = recording.column(&format!("{part}_power_w"));
        let means: Vec<PowerMean> = times
            .windows(2)
            .zip(&powers[1..])
            .map(|(ends, power)| PowerMean::new(seconds(ends[0]), seconds(ends[1]), watts(*power)))
            .collect();
        let found = interval_means(&means);
        within_a_thousandth(&found, by_interval);
        within_a_thousandth(&found, by_counter);
        let joined = trapezoid(&recording.points("t_s", &format!("{part}_power_w")), LONGEST);
        assert!((joined.energy.joules() - trapezoidal).abs() <= 0.000_06, "{part}: {}", joined.energy);
        let counter = recording.column(&format!("{part}_energy_j"));
        let moved = Joules::new(counter[counter.len() - 1] - counter[0]).unwrap();
        assert!((moved.joules() - by_counter).abs() < 1e-9, "{part}: {moved}");
    }
}

#[test]
fn energies_of_load_steps_add_up_with_the_pauses_between_them_as_gaps() {
    let Some(recording) = recording("rapl_epyc8024p_load_steps.csv") else { return };
    let (starts, lengths) = (recording.column("t_log_s"), recording.column("duration_s"));
    let means: Vec<PowerMean> = recording
        .column("rapl_cpu_energy_j")
        .into_iter()
        .zip(starts.iter().zip(&lengths))
        .map(|(joules, (start, length))| {
            PowerMean::new(seconds(*start), seconds(start + length), watts(joules / length))
        })
        .collect();
    let found = interval_means(&means);
    within_a_thousandth(&found, 14_051.505);
    assert!((found.covered.as_secs_f64() - 336.374).abs() < 1e-6);
    assert_eq!(found.gaps.len(), 10);
}
