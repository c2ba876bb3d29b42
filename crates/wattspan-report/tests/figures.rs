//! All formats have the files' numbers, worked out here from the files' JSON.

mod common;

use std::collections::BTreeMap;

use common::{csv, device_energy, expected, fixture, json, near, written};
use wattspan_report::{Format, Report};

/// `table, row, column` to `value, plus_minus, unit, shown, note`.
fn cells(text: &str) -> BTreeMap<[String; 4], Vec<String>> {
    let rows = csv(text);
    assert_eq!(rows[0].join(","), "run,table,row,column,value,plus_minus,unit,shown,note");
    rows[1..]
        .iter()
        .map(|row| {
            assert_eq!(row.len(), 9, "{row:?}");
            ([0, 1, 2, 3].map(|index| row[index].clone()), row[4..].to_vec())
        })
        .collect()
}

fn key(run: &str, table: &str, row: &str, column: &str) -> [String; 4] {
    [run, table, row, column].map(str::to_owned)
}

#[test]
fn csv_has_the_files_numbers() {
    let base = tempfile::tempdir().unwrap();
    let folders = fixture::write(base.path());
    let cells = cells(&written(&Report::open(&folders).unwrap(), Format::Csv));
    for (folder, plan) in folders.iter().zip([fixture::COMPLETED, fixture::INTERRUPTED]) {
        let value = |table: &str, row: &str, column: &str| -> f64 {
            let cell = &cells[&key(plan.run, table, row, column)];
            cell[0].parse().unwrap_or(f64::NAN)
        };
        for (name, expected) in expected(folder) {
            near(value("summary", name, "value"), expected, name);
        }
        for name in ["inference_energy_j", "joules_per_output_token", "success_rate", "total_cost_usd"] {
            near(value("leaderboard", plan.run, name), value("summary", name, "value"), name);
        }
        for column in
            ["energy_j", "energy_inference_j", "energy_idle_j", "energy_other_j", "co2_emissions_gco2e"]
        {
            near(value("energy", "total", column), device_energy(folder, column, None), column);
        }
        let results = json(folder, "results.json");
        let mut halves = 0.0;
        for row in results.as_array().unwrap() {
            let case = format!("{}#1", row["test_case_uid"].as_str().unwrap());
            for column in ["execution_time_ms", "time_to_first_token_ms", "output_tokens", "input_tokens"] {
                near(value("cases", &case, column), row[column].as_f64().unwrap(), column);
            }
            let energy = &cells[&key(plan.run, "cases", &case, "energy_j")];
            assert_eq!(energy[0].parse().ok(), row["energy_j"].as_f64());
            assert_eq!(energy[1].parse().ok(), row["energy_uncertainty_j"].as_f64());
            halves += row["energy_uncertainty_j"].as_f64().unwrap_or(0.0);
        }
        let energy = &cells[&key(plan.run, "summary", "inference_energy_j", "value")];
        near(energy[1].parse().unwrap(), halves, "±");
        assert_eq!(energy[2], "J");
    }
}

#[test]
fn percentiles_are_those_of_the_cases() {
    let base = tempfile::tempdir().unwrap();
    let folder = fixture::write_run(base.path(), &fixture::COMPLETED, |_| {});
    let cells = cells(&written(&Report::open([&folder]).unwrap(), Format::Csv));
    let results = json(&folder, "results.json");
    let rows = results.as_array().unwrap();
    let of = |name: &str| -> Vec<f64> { rows.iter().filter_map(|row| row[name].as_f64()).collect() };
    let rates = rows
        .iter()
        .map(|row| row["output_tokens"].as_f64().unwrap() / row["execution_time_ms"].as_f64().unwrap() * 1e3);
    for (measure, mut values) in [
        ("duration_ms", of("execution_time_ms")),
        ("time_to_first_token_ms", of("time_to_first_token_ms")),
        ("joules_per_output_token", of("joules_per_output_token")),
        ("tokens_per_second", rates.collect()),
    ] {
        values.sort_by(f64::total_cmp);
        for (column, part) in [("p50", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99)] {
            // Linear interpolation between the two nearest, as NumPy does it.
            let rank = part * (values.len() - 1) as f64;
            let (below, above) = (values[rank.floor() as usize], values[rank.ceil() as usize]);
            let expected = below + (above - below) * rank.fract();
            let found = &cells[&key("tools-8b-q4", "latency", measure, column)];
            near(found[0].parse().unwrap(), expected, measure);
        }
        let count = &cells[&key("tools-8b-q4", "latency", measure, "count")];
        assert_eq!(count[0].parse(), Ok(values.len()));
    }
}

#[test]
fn html_and_markdown_show_what_csv_shows() {
    let base = tempfile::tempdir().unwrap();
    let folders = fixture::write(base.path());
    let report = Report::open(&folders).unwrap();
    let [html, markdown, csv] = Format::ALL.map(|format| written(&report, format));
    let mut figures = 0;
    for ([run, table, row, column], cell) in cells(&csv) {
        let [value, plus_minus, unit, shown, _] = cell.as_slice() else { unreachable!("five cells") };
        if unit.is_empty() || value.is_empty() {
            continue;
        }
        figures += 1;
        let what = format!("{run} {table} {row} {column}: {shown}");
        assert!(markdown.contains(shown.as_str()), "{what}");
        let half =
            if plus_minus.is_empty() { String::new() } else { format!(" data-plus-minus=\"{plus_minus}\"") };
        let data = format!("<data value=\"{value}\" data-value=\"{value}\" data-unit=\"{unit}\"{half}");
        assert!(html.contains(&data), "{what}: {data}");
    }
    assert!(figures > 800, "{figures}");
}

#[test]
fn the_first_sentence_answers_and_the_second_says_how_sure() {
    let base = tempfile::tempdir().unwrap();
    let folder = fixture::write_run(base.path(), &fixture::COMPLETED, |_| {});
    let markdown = written(&Report::open([&folder]).unwrap(), Format::Markdown);
    let row = json(&folder, "leaderboard_row.json");
    let (energy, half) = (
        row["inference_energy_j"].as_f64().unwrap(),
        row["inference_energy_uncertainty_j"].as_f64().unwrap(),
    );
    let first = format!(
        "60 cases (53 passed) used {:.0}\u{a0}±\u{a0}{:.0}\u{a0}kJ ({:.1}\u{a0}±\u{a0}{:.1}\u{a0}Wh): ",
        energy / 1e3,
        half / 1e3,
        energy / 3.6e3,
        half / 3.6e3
    );
    assert!(markdown.contains(&first), "{first}");
    assert!(markdown.contains("57 of 60 cases were measured, from energy counters"));
    assert!(markdown.contains("3 have nothing but a model's figure, which is in no sum"));
    assert!(markdown.contains("at least 94.0\u{a0}% of each case's time"));
}

#[test]
fn provenance_goes_with_grams_and_dollars() {
    let base = tempfile::tempdir().unwrap();
    let folder = fixture::write_run(base.path(), &fixture::COMPLETED, |row| {
        if row.task_id.as_deref() == Some("sum_02") {
            row.carbon_zone = None;
            row.carbon_source = Some("watttime".to_owned());
            row.carbon_kind = Some("marginal".to_owned());
            row.carbon_intensity_g_per_kwh = Some(610.5);
        }
    });
    let report = Report::open([&folder]).unwrap();
    let markdown = written(&report, Format::Markdown);
    assert!(
        markdown.contains("| DE | owid-ember-2026-04 | average | 332\u{a0}g/kWh | 332\u{a0}g/kWh | 56 |"),
        "{markdown}"
    );
    assert!(
        markdown.contains("| – | watttime | marginal | 610\u{a0}g/kWh | 610\u{a0}g/kWh | 1 |"),
        "{markdown}"
    );
    assert!(markdown.contains("year: 2025, kind: average, provenance: bundled"));
    assert!(markdown.contains("Average and marginal figures answer different questions"));
    assert!(markdown.contains("electricity price: 0.31 USD/kWh, given by the user"));
    // What the dataset has taken out stays out.
    assert!(!markdown.contains("sk-not-for-anybody"));
}

#[test]
fn checks_come_from_the_trace_and_the_row() {
    let base = tempfile::tempdir().unwrap();
    let folder = fixture::write_run(base.path(), &fixture::COMPLETED, |_| {});
    let cells = cells(&written(&Report::open([&folder]).unwrap(), Format::Csv));
    let checks = |case: &str| cells[&key("tools-8b-q4", "cases", case, "checks")][3].clone();
    assert_eq!(checks("none:weather_00#1"), "contains: pass; answer: pass");
    assert_eq!(checks("none:weather_04#1"), "contains: fail; answer: fail");
    assert_eq!(cells[&key("tools-8b-q4", "cases", "none:weather_04#1", "success")][0], "false");
}

#[test]
fn more_cases_than_fit_are_counted_and_failures_come_first() {
    let base = tempfile::tempdir().unwrap();
    let folder = fixture::write_run(base.path(), &fixture::COMPLETED, |_| {});
    let report = Report::builder().cases(10).title("Ten").open([&folder]).unwrap();
    let html = written(&report, Format::Html);
    assert!(html.contains("10 of 60 cases, those that did not pass first."));
    assert_eq!(html.matches("class=\"verdict failed\"").count(), 7);
    assert_eq!(html.matches("class=\"verdict passed\"").count(), 3);
    assert!(html.contains("<title>Ten – wattspan</title>"));
    // CSV has all of them.
    let csv = written(&report, Format::Csv);
    assert_eq!(csv.lines().filter(|line| line.contains(",cases,") && line.contains(",success,")).count(), 60);
}

#[test]
fn a_report_is_the_same_every_time() {
    let base = tempfile::tempdir().unwrap();
    let folders = fixture::write(base.path());
    for format in Format::ALL {
        let [one, two] = [(); 2].map(|()| written(&Report::open(&folders).unwrap(), format));
        assert!(one == two, "{format}");
        assert_eq!(format.as_str().parse(), Ok(format));
    }
    assert!("pdf".parse::<Format>().unwrap_err().to_string().contains("`html`, `md` or `csv`"));
}
