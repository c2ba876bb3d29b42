//! Prometheus scrapes us and answers with the right joules; promtool is content; what operators get fits what we emit.

use std::collections::HashSet;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use wattspan_otel::Telemetry;
use wattspan_otel::prometheus::{DcgmNames, Prometheus, Pushgateway, prometheus_name};
use wattspan_semconv::{Instrument, Profile};
use wattspan_tests::{Gateway, Machine, Prometheus as Server, WATTS, eventually, get, promtool};

fn local() -> SocketAddr {
    ([127, 0, 0, 1], 0).into()
}

#[test]
fn promql_answers_with_the_joules_that_the_driver_counted() {
    let telemetry = Telemetry::builder("e2e").prometheus(Prometheus::new().listen(local())).build().unwrap();
    let server = Server::scraping(telemetry.scrape_address().unwrap().port());
    let machine = Machine::start(&telemetry, Profile::Core, 2);
    machine.work();
    let devices: Vec<String> =
        machine.monitor.devices().iter().map(|device| device.id.as_str().to_owned()).collect();
    assert_eq!(devices.len(), 2);
    let power = eventually("power of both GPUs", || {
        Some(server.query("hw_power_watts{hw_type=\"gpu\"}")).filter(|series| series.len() == 2)
    });
    for (labels, watts) in power {
        assert_eq!(watts, WATTS, "{labels}");
        assert!(devices.iter().any(|device| labels["hw_id"] == **device), "{labels}");
    }
    // Measuring ends; from here on the counters stand still.
    let (kept, driver) = (Arc::clone(&machine.kept), machine.driver);
    drop(machine.monitor);
    let closed = kept.closed();
    let sum = eventually("all joules", || {
        let sum = server.query("sum(wattspan_device_energy_joules_total)").first()?.1;
        ((sum - closed).abs() < 1e-3).then_some(sum)
    });
    let moved: f64 = devices.iter().map(|device| kept.moved(device)).sum();
    // The ledger closes an interval when its end is seen: at most the last one of each GPU is not in yet.
    assert!(sum <= moved + 1e-3 && moved - sum < 2.0 * WATTS, "{sum} J of {moved} J");
    let inference = server.query("sum(wattspan_inference_energy_joules_sum)")[0].1;
    let states =
        server.query("sum(wattspan_device_energy_joules_total{wattspan_energy_state=\"inference\"})");
    assert!((inference - states[0].1).abs() < 1e-3, "the inferences have all inference energy");
    drop(driver);
}

#[test]
fn promtool_is_content_with_the_metrics() {
    let telemetry = Telemetry::builder("e2e").prometheus(Prometheus::new()).build().unwrap();
    let machine = Machine::start(&telemetry, Profile::Core, 1);
    machine.work();
    let text = telemetry.metrics_endpoint().unwrap().render();
    assert!(text.contains("wattspan_inference_energy_joules_bucket{"), "{text}");
    assert_eq!(promtool(&["check", "metrics"], &text), "", "{text}");
}

#[test]
fn every_scraped_name_is_the_one_that_the_documentation_gives() {
    for profile in Profile::ALL {
        let telemetry = Telemetry::builder("e2e").prometheus(Prometheus::new()).build().unwrap();
        let machine = Machine::start(&telemetry, profile, 1);
        machine.work();
        let known: HashSet<String> = profile.metrics().map(prometheus_name).collect();
        let text = telemetry.metrics_endpoint().unwrap().render();
        let scraped = text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next());
        for name in scraped.filter(|name| *name != "target_info") {
            assert!(known.contains(name), "{name} is in no table of {profile:?}");
        }
    }
}

#[test]
fn a_monitor_feeds_dcgm_exporters_names() {
    let names = Arc::new(DcgmNames::new("host"));
    let telemetry =
        Telemetry::builder("e2e").prometheus(Prometheus::new().dcgm(Arc::clone(&names))).build().unwrap();
    let machine = Machine::start(&telemetry, Profile::Core, 2);
    machine.monitor.add_sample_sink(names);
    let endpoint = telemetry.metrics_endpoint().unwrap();
    let text = eventually("both GPUs", || {
        Some(endpoint.render()).filter(|text| text.contains("DCGM_FI_DEV_POWER_USAGE{gpu=\"1\""))
    });
    let power = text.lines().filter(|line| line.starts_with("DCGM_FI_DEV_POWER_USAGE{"));
    assert!(power.clone().count() == 2 && power.clone().all(|line| line.ends_with(" 300.000000")), "{text}");
}

#[test]
fn a_job_that_ends_leaves_its_figures_in_the_pushgateway() {
    let gateway = Gateway::start();
    let push =
        Pushgateway::new(format!("http://127.0.0.1:{}", gateway.port), "eval").grouping("path", "/a/b");
    let telemetry = Telemetry::builder("e2e").prometheus(Prometheus::new().push(push)).build().unwrap();
    let machine = Machine::start(&telemetry, Profile::Core, 1);
    machine.work();
    let kept = Arc::clone(&machine.kept);
    drop(machine);
    drop(telemetry);
    let text = get(gateway.port, "/metrics").expect("it answers");
    let energy = text.lines().filter(|line| line.starts_with("wattspan_device_energy_joules_total{"));
    let ours = energy.filter(|line| line.contains("job=\"eval\"") && line.contains("path=\"/a/b\""));
    let sum: f64 = ours.map(|line| line.rsplit(' ').next().unwrap().parse::<f64>().unwrap()).sum();
    assert!(sum > 0.0 && (sum - kept.closed()).abs() < 1e-3, "{sum} J pushed, {} J measured", kept.closed());
}

fn deploy(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy").join(path)
}

fn read(path: &str) -> String {
    std::fs::read_to_string(deploy(path)).unwrap()
}

/// Every series name that can be scraped.
fn emitted() -> HashSet<String> {
    let metrics = Profile::ALL.into_iter().flat_map(Profile::metrics);
    metrics
        .flat_map(|metric| {
            let name = prometheus_name(metric);
            match metric.instrument {
                Instrument::Histogram => {
                    ["_bucket", "_sum", "_count"].map(|end| format!("{name}{end}")).to_vec()
                }
                _ => vec![name],
            }
        })
        .collect()
}

/// The names of series in an expression: words outside braces, brackets, quotes and label lists that no parenthesis
/// follows.
fn series(expression: &str) -> Vec<String> {
    let mut plain = String::new();
    let mut depth = 0;
    for character in expression.chars() {
        match character {
            '{' | '[' => depth += 1,
            '}' | ']' => depth -= 1,
            other if depth == 0 => plain.push(other),
            _ => {}
        }
    }
    for list in ["by (", "on (", "without (", "ignoring (", "group_left (", "group_right ("] {
        while let Some(start) = plain.find(list) {
            let end = plain[start..].find(')').expect("a list ends");
            plain.replace_range(start..=start + end, " ");
        }
    }
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':';
    let mut names = Vec::new();
    let mut rest = plain.as_str();
    while let Some(start) = rest.find(is_word) {
        let word_end = rest[start..].find(|c| !is_word(c)).map_or(rest.len(), |end| start + end);
        let (word, after) = (&rest[start..word_end], &rest[word_end..]);
        let is_number = word.starts_with(|c: char| c.is_ascii_digit());
        if !is_number
            && !after.trim_start().starts_with('(')
            && !["and", "or", "unless", "sum"].contains(&word)
        {
            names.push(word.to_owned());
        }
        rest = after;
    }
    names
}

#[test]
fn series_are_found_in_expressions() {
    let text = "sum by (a, b) (rate(x_total{c=\"d\"}[5m])) / on (a) (y:z == 0) and 3600 * max(w)";
    assert_eq!(series(text), ["x_total", "y:z", "w"]);
}

#[track_caller]
fn check_names(expressions: &[String], also: &HashSet<String>) {
    assert!(expressions.len() > 5, "expressions were not found");
    let emitted = emitted();
    for expression in expressions {
        let names = series(expression);
        assert!(!names.is_empty(), "{expression} uses no metric");
        for name in names {
            assert!(emitted.contains(&name) || also.contains(&name), "{name} is not emitted: {expression}");
        }
    }
}

#[test]
fn the_rules_are_valid_pass_their_tests_and_use_what_we_emit() {
    let folder = deploy("prometheus");
    let at = |name: &str| folder.join(name).display().to_string();
    assert_eq!(promtool(&["check", "rules", &at("rules.yml")], ""), "");
    assert_eq!(promtool(&["test", "rules", &at("rules_test.yml")], ""), "");
    assert_eq!(promtool(&["check", "config", &at("prometheus.yml")], ""), "");
    let text = read("prometheus/rules.yml");
    let of = |key: &str| -> Vec<String> {
        let lines = text.lines().map(str::trim).map(|line| line.strip_prefix("- ").unwrap_or(line));
        lines.filter_map(|line| line.strip_prefix(key)).map(|value| value.trim().to_owned()).collect()
    };
    check_names(&of("expr:"), &of("record:").into_iter().collect());
}

#[test]
fn the_dashboard_is_whole_and_uses_what_we_emit() {
    let dashboard: serde_json::Value = serde_json::from_str(&read("grafana/wattspan.json")).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let ids: HashSet<i64> = panels.iter().map(|panel| panel["id"].as_i64().unwrap()).collect();
    assert_eq!(ids.len(), panels.len(), "a panel's id comes twice");
    let rows: Vec<&str> = panels
        .iter()
        .filter(|panel| panel["type"] == "row")
        .map(|panel| panel["title"].as_str().unwrap())
        .collect();
    assert_eq!(rows, ["Machine", "Models", "Inferences"]);
    let targets = panels.iter().flat_map(|panel| panel["targets"].as_array().into_iter().flatten());
    let mut expressions: Vec<String> =
        targets.map(|target| target["expr"].as_str().unwrap().to_owned()).collect();
    for variable in dashboard["templating"]["list"].as_array().unwrap() {
        if let Some(query) = variable["query"]["query"].as_str() {
            let metric = query.strip_prefix("label_values(").unwrap().split(',').next().unwrap();
            expressions.push(metric.to_owned());
        }
    }
    check_names(&expressions, &HashSet::new());
    for panel in panels.iter().filter(|panel| panel["type"] != "row") {
        assert!(!panel["targets"].as_array().unwrap().is_empty(), "{} shows nothing", panel["title"]);
        assert_eq!(panel["datasource"]["uid"], "${datasource}");
    }
}
