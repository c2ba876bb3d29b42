//! The bundled tables against the files they come from, read anew, and the worked examples.

#[path = "../examples/bundle/generate.rs"]
mod generate;

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use wattspan_carbon::{
    Bundled, ElectricityPrices, PlaceQuery, aggregate, cloud_region, country, egrid_subregion, gpu_facts,
    instance_facts, pue, subdivision,
};
use wattspan_core::{
    EmissionScope, GramsPerKwh, Intensity, IntensitySource, Joules, Place, PriceSource, Provenance,
};

fn data(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data").join(file)
}

fn rows(file: &str) -> Vec<csv::StringRecord> {
    csv::Reader::from_path(data(file)).unwrap().records().map(Result::unwrap).collect()
}

fn place(change: impl FnOnce(&mut PlaceQuery)) -> Place {
    let mut query = PlaceQuery::new();
    change(&mut query);
    query.resolve("explicit").strict().unwrap()
}

fn intensity(place: &Place) -> Option<Intensity> {
    Bundled::new().latest(place, SystemTime::now())
}

/// Seconds of the first moments of the years that the tables speak of (`date -u -d YEAR-01-01 +%s`).
fn year_start(year: &str) -> SystemTime {
    let seconds = match year {
        "2022" => 1_640_995_200,
        "2023" => 1_672_531_200,
        "2024" => 1_704_067_200,
        "2025" => 1_735_689_600,
        other => panic!("a row of {other}"),
    };
    SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
}

#[track_caller]
fn is(answer: &Intensity, value: &str, source: &str, zone: &str, year: &str) {
    assert_eq!(answer.value.grams_per_kwh(), value.parse::<f64>().unwrap(), "{zone}");
    assert_eq!((&*answer.source, answer.zone.as_deref()), (source, Some(zone)));
    assert_eq!(answer.valid_from, Some(year_start(year)), "{zone}");
    assert_eq!(answer.provenance, Provenance::Bundled);
    assert_eq!(answer.age, None);
}

#[test]
fn the_tables_are_what_the_generator_writes() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for (file, text) in generate::tables(&root.join("data")) {
        let checked_in = std::fs::read_to_string(root.join("src/tables").join(file)).unwrap();
        assert!(
            checked_in == text,
            "{file} is not what data/ makes: run `cargo run -p wattspan-carbon --example bundle`"
        );
    }
}

#[test]
fn every_country_answers_by_each_of_its_spellings() {
    let rows = rows("grid/countries.csv");
    assert_eq!(rows.len(), 213);
    for row in rows {
        for spelling in [&row[0], &row[1], &row[2]] {
            let place = place(|query| query.country = Some(spelling.to_lowercase()));
            assert_eq!(place.country.as_deref(), Some(&row[1]), "{spelling}");
            let answer = intensity(&place).unwrap();
            is(&answer, &row[3], &row[5], &row[1], &row[4]);
            assert_eq!(answer.scope, EmissionScope::LifeCycle);
        }
    }
}

#[test]
fn a_country_without_a_figure_is_known_and_absent() {
    let rows = rows("grid/countries_without_figure.csv");
    assert_eq!(rows.len(), 37);
    for row in rows {
        let place = place(|query| query.country = Some(row[1].to_owned()));
        assert_eq!(place.country.as_deref(), Some(&row[0]));
        assert_eq!(intensity(&place), None, "{}", &row[0]);
        let world = Bundled::new().or_world_average().latest(&place, SystemTime::now()).unwrap();
        assert_eq!((world.provenance, world.zone.as_deref()), (Provenance::WorldAverage, Some("WORLD")));
    }
}

#[test]
fn every_subdivision_answers_by_code_and_name() {
    for row in rows("grid/subregions.csv") {
        let by_code = place(|query| query.subdivision = Some(row[0].to_lowercase()));
        let by_name = place(|query| {
            query.country = Some(row[2].to_owned());
            query.subdivision = Some(row[3].to_owned());
        });
        let by_suffix = place(|query| {
            query.country = Some(row[1].to_owned());
            query.subdivision = Some(row[0][3..].to_owned());
        });
        for place in [by_code, by_name, by_suffix] {
            assert_eq!(place.country.as_deref(), Some(&row[1]));
            is(&intensity(&place).unwrap(), &row[4], &row[8], &row[0], &row[7]);
        }
        let scope = intensity(&place(|query| query.subdivision = Some(row[0].to_owned()))).unwrap().scope;
        let expected = if &row[1] == "US" { EmissionScope::Direct } else { EmissionScope::Unknown };
        assert_eq!(scope, expected);
    }
}

#[test]
fn every_egrid_subregion_and_aggregate_is_there() {
    for row in rows("grid/egrid_subregions.csv") {
        let place = place(|query| query.zone = Some(row[0].to_owned()));
        is(&intensity(&place).unwrap(), &row[2], &row[5], &row[0], &row[4]);
        assert_eq!(egrid_subregion(&row[0]).unwrap().name, &row[1]);
    }
    for row in rows("grid/aggregates.csv") {
        let found = aggregate(&row[0]).unwrap();
        assert_eq!(found.name, &row[1]);
        assert_eq!(found.figure.value.grams_per_kwh(), row[2].parse::<f64>().unwrap());
        assert_eq!((found.figure.year.to_string().as_str(), found.figure.source.id), (&row[3], &row[4]));
    }
}

#[test]
fn every_cloud_region_answers_and_says_what_its_figure_describes() {
    let rows = rows("cloud/regions.csv");
    assert_eq!(rows.len(), 141);
    for row in rows {
        let place = place(|query| {
            query.cloud_provider = Some(row[0].to_uppercase());
            query.cloud_region = Some(row[1].to_owned());
        });
        assert_eq!(place.country.as_deref(), Some(&row[3]));
        let zone = match &row[9] {
            "provider-published" => &row[1],
            "subregion-average" => &row[5],
            _ => &row[3],
        };
        is(&intensity(&place).unwrap(), &row[6], &row[10], zone, &row[8]);
        let found = cloud_region(&row[0], &row[1]).unwrap();
        assert_eq!(found.location, &row[2]);
        let percent = found.carbon_free.map(|share| (share.ratio() * 100.0).round());
        assert_eq!(percent, row[7].parse::<f64>().ok().map(f64::round), "{}", &row[1]);
    }
}

#[test]
fn every_gpu_is_found_by_its_names() {
    let rows = rows("gpus.csv");
    assert_eq!(rows.len(), 136);
    for row in rows {
        let driver = if row[7].is_empty() { &row[0] } else { &row[7] };
        for name in
            [row[0].to_owned(), driver.to_owned(), driver.to_lowercase(), driver.replace("NVIDIA ", "")]
        {
            let facts = gpu_facts(&name).unwrap_or_else(|| panic!("{name}"));
            assert_eq!(facts.model, &row[0], "{name}");
            assert_eq!(facts.tdp.watts(), row[5].parse::<f64>().unwrap());
            assert_eq!(facts.memory_gb, row[4].parse().ok());
            assert_eq!(facts.release_year, row[6].parse().ok());
            assert_eq!(
                (facts.vendor, facts.kind, facts.architecture, facts.source),
                (&row[1], &row[2], &row[3], &row[8])
            );
        }
    }
    assert_eq!(gpu_facts(""), None);
    assert_eq!(gpu_facts("NVIDIA"), None);
}

#[test]
fn every_instance_type_answers_with_its_row() {
    let coefficients: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(data("cloud/coefficients.json")).unwrap()).unwrap();
    for row in rows("cloud/instances.csv") {
        let facts = instance_facts(&row[0], &row[1]).unwrap();
        assert_eq!(facts.vcpus.to_string(), &row[2]);
        assert_eq!((facts.memory.unwrap().bytes() >> 30).to_string(), &row[3]);
        assert_eq!(facts.gpu.unwrap_or_else(|| panic!("{} is no GPU of ours", &row[4])).model, &row[4]);
        assert_eq!(facts.gpu_count.unwrap().to_string(), &row[5]);
        let watts = match &row[6] {
            "" => &coefficients["provider_default_watts_per_vcpu"][&row[0]]["max"],
            cpu => &coefficients["cpu_watts_by_architecture"][&row[0]][cpu]["max_watts_per_vcpu"],
        };
        let cpu = watts.as_f64().unwrap_or_else(|| panic!("no coefficients of {}", &row[6]))
            * f64::from(facts.vcpus);
        let (power, tdp) = (facts.power().unwrap(), facts.gpu.unwrap().tdp.watts());
        let gpu = (power.full.watts() - cpu) / f64::from(facts.gpu_count.unwrap());
        assert!((0.999..1.1).contains(&(gpu / tdp)), "{}: {gpu} W of {tdp} W", &row[1]);
        assert!(power.idle < power.full);
        assert!(facts.embodied().unwrap().grams() > 0.0);
    }
}

/// Read from the pages and lists that `SOURCES.md` names, by hand, one or more of each family.
#[test]
fn machine_types_have_the_figures_that_their_providers_give() {
    let expected = [
        ("aws", "g4dn.metal", 96, 384, "Tesla T4", 8),
        ("aws", "g5.12xlarge", 48, 192, "A10G", 4),
        ("aws", "g6.16xlarge", 64, 256, "L4", 1),
        ("aws", "g6e.24xlarge", 96, 768, "L40S", 4),
        ("aws", "gr6.8xlarge", 32, 256, "L4", 1),
        // 62 464 MiB.
        ("aws", "p3.2xlarge", 8, 61, "Tesla V100 SXM2 16GB", 1),
        ("aws", "p4de.24xlarge", 96, 1_152, "A100 SXM4 80GB", 8),
        ("aws", "p5.4xlarge", 16, 256, "H100 SXM5 80GB", 1),
        ("aws", "p5en.48xlarge", 192, 2_048, "H200 SXM", 8),
        ("aws", "p6-b300.48xlarge", 192, 4_096, "B300", 8),
        ("azure", "Standard_NC16as_T4_v3", 16, 110, "Tesla T4", 1),
        ("azure", "Standard_NC24rs_v3", 24, 448, "Tesla V100 PCIe 16GB", 4),
        ("azure", "Standard_NC48ads_A100_v4", 48, 440, "A100 PCIe 80GB", 2),
        ("azure", "Standard_NC80adis_H100_v5", 80, 640, "H100 NVL", 2),
        ("azure", "Standard_ND40rs_v2", 40, 672, "Tesla V100 SXM2 32GB", 8),
        ("azure", "Standard_ND96amsr_A100_v4", 96, 1_900, "A100 SXM4 80GB", 8),
        ("azure", "Standard_ND96isr_H200_v5", 96, 1_850, "H200 SXM", 8),
        ("azure", "Standard_ND96isr_MI300X_v5", 96, 1_850, "Instinct MI300X", 8),
        ("azure", "Standard_NV36adms_A10_v5", 36, 880, "A10", 1),
        ("gcp", "a2-megagpu-16g", 96, 1_360, "A100 SXM4 40GB", 16),
        ("gcp", "a2-ultragpu-1g", 12, 170, "A100 SXM4 80GB", 1),
        ("gcp", "a3-highgpu-4g", 104, 936, "H100 SXM5 80GB", 4),
        ("gcp", "a3-ultragpu-8g", 224, 2_952, "H200 SXM", 8),
        ("gcp", "g2-standard-32", 32, 128, "L4", 1),
        ("gcp", "g2-standard-48", 48, 192, "L4", 4),
    ];
    for (provider, name, vcpus, gib, gpu, count) in expected {
        let facts = instance_facts(provider, name).unwrap();
        let memory = facts.memory.unwrap().bytes() >> 30;
        let found = (facts.vcpus, memory, facts.gpu.unwrap().model, facts.gpu_count.unwrap());
        assert_eq!(found, (vcpus, gib, gpu, count), "{name}");
    }
    // No source was found for its memory: nothing is claimed of its GPUs.
    assert_eq!(instance_facts("gcp", "a4-highgpu-8g").and_then(|facts| facts.gpu), None);
}

#[test]
fn every_machine_type_names_a_source_that_is_described() {
    let described = std::fs::read_to_string(data("SOURCES.md")).unwrap();
    for row in rows("cloud/instances.csv") {
        assert!(
            !row[8].is_empty() && described.contains(&format!("`{}`", &row[8])),
            "{}: {}",
            &row[1],
            &row[8]
        );
    }
}

#[test]
fn every_price_is_of_its_state_and_of_no_other_country() {
    let prices = ElectricityPrices::bundled();
    let rows = rows("electricity_price.csv");
    assert_eq!(rows.len(), 52);
    for row in rows {
        let place = place(|query| match &row[0] {
            "US" => query.country = Some("US".to_owned()),
            state => query.subdivision = Some(state.to_owned()),
        });
        let found = prices.electricity(&place, SystemTime::now()).unwrap();
        assert_eq!(found.value.usd_per_kwh(), row[2].parse::<f64>().unwrap());
        assert_eq!(&*found.source, "eia-retail-sales-2024 (industrial)");
    }
    for code in ["DE", "CA", "PR"] {
        let place = place(|query| query.country = Some(code.to_owned()));
        assert_eq!(prices.electricity(&place, SystemTime::now()), None, "{code}");
    }
    assert_eq!(prices.tokens("openai", "gpt-4o"), None);
}

/// A figure of `expected.json` by the file and key that its input names.
fn named_grams(reference: &str) -> GramsPerKwh {
    let (file, key) = reference.split_once(".csv:").unwrap();
    let place = place(|query| match file {
        "grid/countries" => query.country = Some(key.to_owned()),
        "grid/subregions" => query.subdivision = Some(key.to_owned()),
        "cloud/regions" => {
            let (provider, region) = key.split_once('/').unwrap();
            query.cloud_provider = Some(provider.to_owned());
            query.cloud_region = Some(region.to_owned());
        }
        _ => {}
    });
    Bundled::new().or_world_average().latest(&place, SystemTime::now()).unwrap().value
}

#[test]
fn the_worked_examples_come_out() {
    let text = std::fs::read_to_string(data("expected.json")).unwrap();
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    let number = |value: &serde_json::Value| value.as_str().map(|text| text.parse::<f64>().unwrap());
    let near = |found: f64, expected: f64, id: &str| {
        assert!((found - expected).abs() <= 1e-9 * expected.abs(), "{id}: {found} is not {expected}");
    };
    let mut zones = 0;
    for case in json["cases"].as_array().unwrap() {
        let (id, input, expected) = (case["id"].as_str().unwrap(), &case["input"], &case["expected"]);
        let grid = match input["gco2e_per_kwh_source"].as_str().unwrap() {
            "literal" => GramsPerKwh::new(number(&input["gco2e_per_kwh"]).unwrap()).unwrap(),
            reference => {
                zones += 1;
                named_grams(reference)
            }
        };
        near(grid.grams_per_kwh(), number(&input["gco2e_per_kwh"]).unwrap(), id);
        // Below a microjoule the contract's unit ends; these inputs are whole ones.
        let energy = Joules::new(number(&input["joules"]).unwrap()).unwrap();
        let facility = energy.joules() * number(&input["pue"]).unwrap();
        near((Joules::new(facility).unwrap() * grid).grams(), number(&expected["gco2e"]).unwrap(), id);
        if let Some(state) =
            input["usd_per_kwh_source"].as_str().and_then(|text| text.strip_prefix("electricity_price.csv:"))
        {
            let place = place(|query| query.subdivision = Some(state.to_owned()));
            let price = ElectricityPrices::bundled().electricity(&place, SystemTime::now()).unwrap().value;
            near((Joules::new(facility).unwrap() * price).usd(), number(&expected["usd"]).unwrap(), id);
        }
    }
    assert_eq!(zones, 13, "examples with a zone of the tables");
}

#[test]
fn pue_is_the_regions_else_the_providers() {
    let factor = |provider: &str, region| pue(provider, region).unwrap().factor.ratio();
    assert_eq!(factor("aws", Some("us-east-1")), 1.135);
    assert_eq!(factor("azure", None), 1.185);
    assert_eq!(factor("gcp", Some("us-central1")), 1.11);
    assert_eq!(factor("gcp", Some("europe-west9")), 1.1);
    assert_eq!(factor("on_premise", None), 1.58);
    assert_eq!(factor("unknown", None), 1.56);
    assert!(pue("oracle", None).is_none());
}

#[test]
fn codes_are_exact_in_the_tables() {
    assert!(country("de").is_none());
    assert!(country("NA").is_some(), "Namibia");
    assert!(subdivision("US-XX").is_none());
    assert!(cloud_region("aws", "europe-west1").is_none());
}

#[test]
fn notices_name_every_source_of_a_figure() {
    let notices = wattspan_carbon::licences();
    for name in [
        "Ember",
        "Our World in Data",
        "eGRID2023",
        "National Inventory Report",
        "region-carbon-info",
        "Epoch AI",
        "Thoughtworks",
    ] {
        assert!(notices.contains(name), "{name}");
    }
    for source in wattspan_carbon::sources() {
        assert!(wattspan_carbon::SOURCES.contains(source.id), "{}", source.id);
    }
}
