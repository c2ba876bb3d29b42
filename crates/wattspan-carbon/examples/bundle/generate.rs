//! Turns the CSV and JSON files of `data/` into the Rust tables of `src/tables/`.
//!
//! Shared by the program beside it, which writes them, and by a test, which compares them with what is checked in.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use serde_json::Value;

/// File names under `src/tables/` and their texts.
pub(crate) fn tables(data: &Path) -> Vec<(&'static str, String)> {
    vec![
        ("countries.rs", countries(data)),
        ("subdivisions.rs", subdivisions(data)),
        ("regions.rs", regions(data)),
        ("gpus.rs", gpus(data)),
        ("instances.rs", instances(data)),
        ("prices.rs", prices(data)),
        ("coefficients.rs", coefficients(data)),
    ]
}

/// A CSV file's rows, sorted by the columns that make up its key.
fn rows(data: &Path, file: &str, key: &[usize]) -> Vec<csv::StringRecord> {
    let mut reader = csv::Reader::from_path(data.join(file)).expect(file);
    let mut rows: Vec<_> = reader.records().map(|row| row.expect(file)).collect();
    rows.sort_by(|a, b| key.iter().map(|at| &a[*at]).cmp(key.iter().map(|at| &b[*at])));
    rows
}

fn head(sources: &str, length: Option<&str>) -> String {
    let mut out = format!(
        "//! Written by `cargo run -p wattspan-carbon --example bundle` from {sources}.\n//!\n//! One row a line, sorted by key. Change the data and run that command; never edit this file.\n"
    );
    if let Some(reason) = length {
        let _ = write!(out, "//!\n//! Length: {reason}\n");
    }
    out.push('\n');
    out
}

/// A Rust float literal of a number as the data writes it.
fn float(text: &str) -> String {
    text.parse::<f64>().unwrap_or_else(|_| panic!("{text:?} is a number"));
    if text.contains('.') { text.to_owned() } else { format!("{text}.0") }
}

fn optional_float(text: &str) -> String {
    if text.is_empty() { "None".to_owned() } else { format!("Some({})", float(text)) }
}

fn optional_text(text: &str) -> String {
    if text.is_empty() { "None".to_owned() } else { format!("Some({text:?})") }
}

/// The static that describes a source.
fn source(id: &str) -> &'static str {
    match id {
        "owid-ember-2026-04" => "&EMBER",
        "epa-egrid-2023-rev2" => "&EGRID_2023",
        "epa-egrid-2022" => "&EGRID_2022",
        "eccc-nir-2024-annex13" => "&NIR_2024",
        "google-region-carbon-info-2024" => "&GOOGLE_2024",
        other => panic!("source {other} is not described in src/tables/mod.rs"),
    }
}

fn table(out: &mut String, doc: &str, name: &str, kind: &str, lines: &[String]) {
    let _ = write!(out, "/// {doc}\n#[rustfmt::skip]\npub(crate) static {name}: &[{kind}] = &[\n");
    for line in lines {
        let _ = writeln!(out, "    {line},");
    }
    out.push_str("];\n");
}

fn countries(data: &Path) -> String {
    let mut out = head("`data/grid/countries*.csv` and `data/grid/aggregates.csv`", None);
    out.push_str("use super::{Country, EMBER, Grid, country_row, figure, grid_row};\n\n");
    let figures: Vec<_> = rows(data, "grid/countries.csv", &[1])
        .iter()
        .map(|row| {
            let grams = float(&row[3]);
            format!(
                "country_row({:?}, {:?}, {:?}, Some(figure({grams}, {}, {})))",
                &row[1],
                &row[0],
                &row[2],
                &row[4],
                source(&row[5])
            )
        })
        .collect();
    table(&mut out, "Countries with a figure, by ISO 3166-1 alpha-2.", "COUNTRIES", "Country", &figures);
    let without: Vec<_> = rows(data, "grid/countries_without_figure.csv", &[0])
        .iter()
        .map(|row| format!("country_row({:?}, {:?}, {:?}, None)", &row[0], &row[1], &row[2]))
        .collect();
    out.push('\n');
    let doc = "Countries and territories without one, by ISO 3166-1 alpha-2.";
    table(&mut out, doc, "WITHOUT_FIGURE", "Country", &without);
    let aggregates: Vec<_> = rows(data, "grid/aggregates.csv", &[0])
        .iter()
        .map(|row| {
            format!(
                "grid_row({:?}, {:?}, {}, {}, {})",
                &row[0],
                &row[1],
                float(&row[2]),
                &row[3],
                source(&row[4])
            )
        })
        .collect();
    out.push('\n');
    table(&mut out, "Groups of countries.", "AGGREGATES", "Grid", &aggregates);
    out
}

fn subdivisions(data: &Path) -> String {
    let mut out = head("`data/grid/subregions.csv` and `data/grid/egrid_subregions.csv`", None);
    out.push_str("use super::{EGRID_2022, EGRID_2023, Grid, NIR_2024, grid_row};\n\n");
    let states: Vec<_> = rows(data, "grid/subregions.csv", &[0])
        .iter()
        .map(|row| {
            format!(
                "grid_row({:?}, {:?}, {}, {}, {})",
                &row[0],
                &row[3],
                float(&row[4]),
                &row[7],
                source(&row[8])
            )
        })
        .collect();
    table(&mut out, "States and provinces, by ISO 3166-2.", "SUBDIVISIONS", "Grid", &states);
    let egrid: Vec<_> = rows(data, "grid/egrid_subregions.csv", &[0])
        .iter()
        .map(|row| {
            format!(
                "grid_row({:?}, {:?}, {}, {}, {})",
                &row[0],
                &row[1],
                float(&row[2]),
                &row[4],
                source(&row[5])
            )
        })
        .collect();
    out.push('\n');
    table(&mut out, "Subregions of the United States grid, by eGRID acronym.", "EGRID", "Grid", &egrid);
    out
}

fn regions(data: &Path) -> String {
    let mut out = head("`data/cloud/regions.csv`", None);
    out.push_str(
        "use super::{\n\
         \x20   CloudRegion, EGRID_2023, EMBER, GOOGLE_2024, NIR_2024, RegionBasis::Country as C,\n\
         \x20   RegionBasis::Provider as P, RegionBasis::Subdivision as S, region_row,\n\
};\n\n",
    );
    let lines: Vec<_> = rows(data, "cloud/regions.csv", &[0, 1])
        .iter()
        .map(|row| {
            let basis = match &row[9] {
                "provider-published" => "P",
                "subregion-average" => "S",
                "country-average" => "C",
                other => panic!("unknown basis {other}"),
            };
            format!(
                "region_row({:?}, {:?}, {:?}, {:?}, {}, {}, {}, {}, {basis}, {})",
                &row[0],
                &row[1],
                &row[2],
                &row[3],
                optional_text(&row[5]),
                float(&row[6]),
                optional_float(&row[7]),
                &row[8],
                source(&row[10])
            )
        })
        .collect();
    table(&mut out, "Regions, by provider and name.", "REGIONS", "CloudRegion", &lines);
    out
}

fn gpus(data: &Path) -> String {
    let mut out = head("`data/gpus.csv`", None);
    out.push_str("use super::{GpuFacts, gpu_row};\n\n");
    let lines: Vec<_> = rows(data, "gpus.csv", &[0])
        .iter()
        .map(|row| {
            format!(
                "gpu_row({:?}, {:?}, {:?}, {:?}, {}, {}, {}, {}, {:?}, {})",
                &row[0],
                &row[1],
                &row[2],
                &row[3],
                optional_float(&row[4]),
                float(&row[5]),
                if row[6].is_empty() { "None".to_owned() } else { format!("Some({})", &row[6]) },
                optional_text(&row[7]),
                &row[8],
                optional_text(&row[10])
            )
        })
        .collect();
    table(&mut out, "Boards, by model.", "GPUS", "GpuFacts", &lines);
    out
}

fn instances(data: &Path) -> String {
    let mut out = head("`data/cloud/instances.csv`", None);
    out.push_str("use super::{GpuInstance, instance_row};\n\n");
    let lines: Vec<_> = rows(data, "cloud/instances.csv", &[0, 1])
        .iter()
        .map(|row| {
            format!(
                "instance_row({:?}, {:?}, {}, {}, {:?}, {}, {}, {})",
                &row[0],
                &row[1],
                &row[2],
                &row[3],
                &row[4],
                &row[5],
                optional_text(&row[6]),
                &row[7]
            )
        })
        .collect();
    table(&mut out, "GPU machine types, by provider and name.", "INSTANCES", "GpuInstance", &lines);
    out
}

fn prices(data: &Path) -> String {
    let mut out = head("`data/electricity_price.csv`", None);
    out.push_str("use super::{RetailPrice, price_row};\n\n");
    let lines: Vec<_> = rows(data, "electricity_price.csv", &[0])
        .iter()
        .map(|row| {
            assert_eq!((&row[3], &row[5]), ("industrial", "eia-retail-sales-2024"));
            format!("price_row({:?}, {}, {})", &row[0], float(&row[2]), &row[4])
        })
        .collect();
    table(
        &mut out,
        "Mean retail prices of industry in the United States, by `US` or ISO 3166-2.",
        "PRICES",
        "RetailPrice",
        &lines,
    );
    out
}

fn number(value: &Value) -> String {
    float(&value.as_f64().unwrap_or_else(|| panic!("{value} is a number")).to_string())
}

fn keys(value: &Value) -> Vec<(&String, &Value)> {
    let mut keys: Vec<_> = value.as_object().expect("an object").iter().collect();
    keys.sort_by_key(|(key, _)| key.as_str());
    keys
}

fn coefficients(data: &Path) -> String {
    let text = fs::read_to_string(data.join("cloud/coefficients.json")).expect("coefficients.json");
    let json: Value = serde_json::from_str(&text).expect("coefficients.json");
    let mut out = head("`data/cloud/coefficients.json`", None);
    out.push_str("use super::{CpuWatts, GpuWatts, cpu_row, gpu_watts_row};\n\n");

    let mut cpus = Vec::new();
    for (provider, families) in keys(&json["cpu_watts_by_architecture"]) {
        for (family, watts) in keys(families) {
            let (min, max) = (number(&watts["min_watts_per_vcpu"]), number(&watts["max_watts_per_vcpu"]));
            cpus.push(format!("cpu_row({provider:?}, {family:?}, {min}, {max})"));
        }
    }
    table(
        &mut out,
        "Watts per vCPU at no and full load, by provider and CPU family.",
        "CPUS",
        "CpuWatts",
        &cpus,
    );

    let defaults: Vec<_> = keys(&json["provider_default_watts_per_vcpu"])
        .iter()
        .map(|(provider, watts)| {
            format!("cpu_row({provider:?}, \"\", {}, {})", number(&watts["min"]), number(&watts["max"]))
        })
        .collect();
    out.push('\n');
    let doc = "The same where the family is not known, by provider.";
    table(&mut out, doc, "CPU_DEFAULTS", "CpuWatts", &defaults);

    let gpus: Vec<_> = keys(&json["gpu_watts"])
        .iter()
        .map(|(name, watts)| {
            format!(
                "gpu_watts_row({name:?}, {}, {})",
                number(&watts["min_watts"]),
                number(&watts["max_watts"])
            )
        })
        .collect();
    out.push('\n');
    table(&mut out, "Watts per GPU at no and full load, by name.", "GPU_WATTS", "GpuWatts", &gpus);

    let mut pue = Vec::new();
    for (provider, entry) in keys(&json["pue"]) {
        let origin = &entry["source"];
        pue.push(format!("({provider:?}, \"\", {}, {origin})", number(&entry["value"])));
        if entry.get("by_region").is_some() {
            for (region, value) in keys(&entry["by_region"]) {
                pue.push(format!("({provider:?}, {region:?}, {}, {origin})", number(value)));
            }
        }
    }
    out.push('\n');
    table(
        &mut out,
        "Power usage effectiveness, by provider and region (empty: all others), and who says so.",
        "PUE",
        "(&str, &str, f64, &str)",
        &pue,
    );

    let constants = [
        (
            "EMBODIED_SERVER_KG",
            &json["embodied_kgco2e"]["base_rack_server"],
            "Kilograms CO2e of a rack server with one CPU and little memory.",
        ),
        (
            "EMBODIED_CPU_KG",
            &json["embodied_kgco2e"]["per_additional_cpu"],
            "Kilograms CO2e of each further CPU.",
        ),
        (
            "EMBODIED_DRAM_KG_PER_GB",
            &json["embodied_kgco2e"]["dram_per_gb"],
            "Kilograms CO2e of each gigabyte of memory beyond those that the server comes with.",
        ),
        (
            "EMBODIED_DRAM_INCLUDED_GB",
            &json["embodied_kgco2e"]["dram_included_gb"],
            "Gigabytes of memory that the server's figure includes.",
        ),
        ("EMBODIED_GPU_KG", &json["embodied_kgco2e"]["per_gpu"], "Kilograms CO2e of each GPU."),
        ("EMBODIED_SSD_KG", &json["embodied_kgco2e"]["per_ssd"], "Kilograms CO2e of each solid-state disk."),
        (
            "LIFESPAN_HOURS",
            &json["server_expected_lifespan_hours"],
            "Hours that a server is expected to serve.",
        ),
        (
            "DEFAULT_UTILISATION_PERCENT",
            &json["default_cpu_utilization_percent"],
            "Load that is assumed where none is known, in per cent.",
        ),
    ];
    for (name, value, doc) in constants {
        let _ =
            write!(out, "\n/// {doc}\n#[rustfmt::skip]\npub(crate) const {name}: f64 = {};\n", number(value));
    }
    out
}
