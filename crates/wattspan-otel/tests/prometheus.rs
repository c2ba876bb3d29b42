//! Scrapes over a socket and by the handler, dcgm-exporter's names, and pushes.
#![cfg(feature = "prometheus")]

mod support;

use std::collections::HashSet;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use opentelemetry::KeyValue;
use opentelemetry::metrics::MeterProvider as _;
use support::{Answer, DEADLINE, Stub};
use wattspan_core::{
    Bytes, Celsius, CounterSpec, Device, DeviceId, DeviceKind, DeviceSample, GpuInstance, Hertz, MonoTime,
    Ratio, Reading, SampleSink as _, SampleTick, Vendor, Watts,
};
use wattspan_otel::prometheus::{DcgmNames, Prometheus, Pushgateway};
use wattspan_otel::{Telemetry, TelemetryError};
use wattspan_semconv::metric;

fn local() -> SocketAddr {
    ([127, 0, 0, 1], 0).into()
}

/// One request on a connection of its own: status line and headers, and the body.
fn request(address: SocketAddr, method: &str, path: &str, accept: &str) -> (String, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(DEADLINE)).unwrap();
    write!(stream, "{method} {path} HTTP/1.1\r\nhost: x\r\naccept: {accept}\r\nconnection: close\r\n\r\n")
        .unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    (head.to_ascii_lowercase(), body.to_owned())
}

#[test]
fn case_prometheus_02_a_scrape_is_text_0_0_4_whatever_it_accepts() {
    let telemetry = Telemetry::builder("app").prometheus(Prometheus::new().listen(local())).build().unwrap();
    let counter = telemetry.meter_provider().meter("app").f64_counter(metric::WATTSPAN_COST).build();
    counter.add(0.25, &[]);
    let address = telemetry.scrape_address().unwrap();
    for accept in ["*/*", "application/openmetrics-text; version=1.0.0", "text/plain;version=0.0.4"] {
        let (head, body) = request(address, "GET", "/metrics", accept);
        assert!(head.starts_with("http/1.1 200"), "{head}");
        assert!(head.contains("content-type: text/plain; version=0.0.4; charset=utf-8"), "{head}");
        assert!(body.starts_with("# HELP ") && !body.contains("\\n"), "{body}");
        assert!(body.contains("# TYPE wattspan_cost_total counter\n"), "{body}");
        assert!(body.contains("wattspan_cost_total{otel_scope_name=\"app\"} 0.25\n"), "{body}");
        assert!(body.contains("service_name=\"app\"") && body.contains("target_info{"), "{body}");
        assert!(body.contains("# HELP wattspan_cost_total Cost of inferences"), "{body}");
    }
    assert!(request(address, "HEAD", "/metrics", "*/*").1.is_empty());
    assert!(request(address, "GET", "/", "*/*").0.starts_with("http/1.1 404"));
    assert!(request(address, "POST", "/metrics", "*/*").0.starts_with("http/1.1 405"));
    drop(telemetry);
    assert!(TcpStream::connect(address).is_err(), "the port is free again");
}

#[test]
fn prefix_labels_and_resource_labels_stand_where_they_should() {
    let prometheus = Prometheus::new().prefix("lab").label("platform", "desk").resource_label("service.name");
    let telemetry = Telemetry::builder("app").prometheus(prometheus).build().unwrap();
    let meter = telemetry.meter_provider().meter("app");
    meter.u64_counter("things").build().add(2, &[KeyValue::new("kind", "a\"b")]);
    let text = telemetry.metrics_endpoint().unwrap().render();
    let line = text.lines().find(|line| line.starts_with("lab_things_total{")).expect("a prefixed series");
    for label in ["platform=\"desk\"", "service_name=\"app\"", "kind=\"a\\\"b\""] {
        assert!(line.contains(label), "{line}");
    }
    assert!(text.contains("\ntarget_info{") || text.starts_with("target_info{"), "{text}");
}

#[test]
fn names_that_prometheus_does_not_take_and_ports_that_are_taken_are_errors() {
    for wrong in [Prometheus::new().prefix("a-b"), Prometheus::new().label("1st", "x")] {
        let error = Telemetry::builder("app").prometheus(wrong).build().unwrap_err();
        assert!(matches!(error, TelemetryError::PrometheusName { .. }), "{error}");
    }
    let taken = std::net::TcpListener::bind(local()).unwrap();
    let port = taken.local_addr().unwrap();
    let error = Telemetry::builder("app").prometheus(Prometheus::new().listen(port)).build().unwrap_err();
    assert!(error.to_string().contains(&port.to_string()), "{error}");
}

#[test]
fn the_environment_can_ask_for_scrapes() {
    let telemetry = Telemetry::builder("app")
        .environment(|name| match name {
            "OTEL_METRICS_EXPORTER" => Some("prometheus".to_owned()),
            "OTEL_EXPORTER_PROMETHEUS_PORT" => Some("0".to_owned()),
            _ => None,
        })
        .build()
        .unwrap();
    assert!(telemetry.scrape_address().unwrap().ip().is_loopback());
}

#[test]
fn the_handler_is_a_tower_service() {
    use tower_service::Service as _;
    let telemetry = Telemetry::builder("app").prometheus(Prometheus::new()).build().unwrap();
    assert_eq!(telemetry.scrape_address(), None, "no port was asked for");
    let mut service = telemetry.metrics_endpoint().unwrap().clone();
    let answer = service.call(http::Request::get("/anything").body(()).unwrap());
    let response = answer.into_inner().unwrap();
    assert_eq!(response.status(), 200);
    assert_eq!(response.headers()["content-type"], "text/plain; version=0.0.4; charset=utf-8");
}

fn gpu(index: u32) -> DeviceSample {
    let id = DeviceId::new(format!("GPU-00000000-0000-0000-0000-{index:012}"));
    let mut device = Device::new(id, DeviceKind::Gpu, Vendor::Nvidia, "NVIDIA H200");
    device.index = Some(index);
    device.pci_address = Some(if index == 0 { "0000:83:00.0" } else { "0000:99:00.0" }.to_owned());
    device.driver_version = Some("590.48.01".to_owned());
    device.counter = Some(CounterSpec { microjoules_per_tick: (1_000, 1), modulus: None, refresh: None });
    DeviceSample::new(Arc::new(device), MonoTime::from_nanos(1))
}

fn mib(count: u64) -> Reading<Bytes> {
    Reading::Value(Bytes::new(count * 1_048_576))
}

/// The two GPUs of the recording of dcgm-exporter's output.
fn recorded() -> Vec<DeviceSample> {
    let mut first = gpu(0);
    first.energy = Reading::Value(123_456_789_012);
    first.power = Reading::Value(Watts::new(627.4).unwrap());
    first.gauges.clock = Reading::Value(Hertz::new(1.98e9).unwrap());
    first.gauges.temperature = Reading::Value(Celsius::new(52.0).unwrap());
    first.gauges.utilization = Reading::Value(Ratio::new(1.0).unwrap());
    first.gauges.memory_utilization = Reading::Value(Ratio::new(0.07).unwrap());
    first.gauges.memory_used = mib(32_362);
    first.gauges.memory_reserved = mib(613);
    first.gauges.memory_total = mib(32_362 + 613 + 110_796);
    first.gauges.pcie_replays = Reading::Value(0);
    let mut second = gpu(1);
    second.energy = Reading::Value(987_654_321);
    second.power = Reading::Value(Watts::new(76.12).unwrap());
    vec![first, second]
}

#[test]
fn dcgm_names_are_written_as_dcgm_exporter_writes_them() {
    let names = Arc::new(DcgmNames::new("golden-host"));
    let telemetry =
        Telemetry::builder("app").prometheus(Prometheus::new().dcgm(Arc::clone(&names))).build().unwrap();
    let samples = recorded();
    names.sampled(&SampleTick::new(MonoTime::from_nanos(1), SystemTime::UNIX_EPOCH, &samples, &[]));
    let text = telemetry.metrics_endpoint().unwrap().render();
    // Lines as NVIDIA/dcgm-exporter's template renders them.
    let first = "{gpu=\"0\",UUID=\"GPU-00000000-0000-0000-0000-000000000000\",pci_bus_id=\"00000000:83:00.0\",\
                 device=\"nvidia0\",modelName=\"NVIDIA H200\",hostname=\"golden-host\",\
                 DCGM_FI_DRIVER_VERSION=\"590.48.01\"}";
    let second = "{gpu=\"1\",UUID=\"GPU-00000000-0000-0000-0000-000000000001\",pci_bus_id=\"00000000:99:00.0\",\
                  device=\"nvidia1\",modelName=\"NVIDIA H200\",hostname=\"golden-host\",\
                  DCGM_FI_DRIVER_VERSION=\"590.48.01\"}";
    for (name, labels, value) in [
        ("DCGM_FI_DEV_SM_CLOCK", first, "1980"),
        ("DCGM_FI_DEV_GPU_TEMP", first, "52"),
        ("DCGM_FI_DEV_POWER_USAGE", first, "627.400000"),
        ("DCGM_FI_DEV_POWER_USAGE", second, "76.120000"),
        ("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", first, "123456789012"),
        ("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", second, "987654321"),
        ("DCGM_FI_DEV_GPU_UTIL", first, "100"),
        ("DCGM_FI_DEV_MEM_COPY_UTIL", first, "7"),
        ("DCGM_FI_DEV_FB_FREE", first, "110796"),
        ("DCGM_FI_DEV_FB_USED", first, "32362"),
        ("DCGM_FI_DEV_PCIE_REPLAY_COUNTER", first, "0"),
    ] {
        let line = format!("{name}{labels} {value}");
        assert!(text.lines().any(|found| found == line), "{line}\nis not in\n{text}");
    }
    // What the second could not read is absent, and never a sentinel or zero.
    assert!(!text.contains("DCGM_FI_DEV_GPU_TEMP{gpu=\"1\""), "{text}");
    assert!(!text.contains("DCGM_FI_DEV_MEMORY_TEMP"), "no device has one: {text}");
    assert!(!text.contains("9223372036854775794"));
    // A GPU that is gone is gone.
    names.sampled(&SampleTick::new(MonoTime::from_nanos(2), SystemTime::UNIX_EPOCH, &samples[..1], &[]));
    assert!(!telemetry.metrics_endpoint().unwrap().render().contains("gpu=\"1\""));
}

/// A slice of the first GPU of the recording, with memory of its own.
fn slice(instance: u32, compute: u32, profile: &str, used: u64) -> DeviceSample {
    let parent = gpu(0);
    let id = DeviceId::new(format!("MIG-{instance}-{compute}"));
    let name = format!("NVIDIA H200 MIG {profile}");
    let mut device = Device::new(id, DeviceKind::GpuPartition, Vendor::Nvidia, name);
    device.parent = Some(parent.device.id.clone());
    device.gpu_instance = Some(GpuInstance::new(instance, Some(profile.to_owned())));
    let mut sample = DeviceSample::new(Arc::new(device), MonoTime::from_nanos(1));
    sample.gauges.memory_used = mib(used);
    sample.gauges.memory_total = mib(16_000);
    sample
}

#[test]
fn slices_have_their_gpus_labels_and_are_counted_once() {
    let names = Arc::new(DcgmNames::new("h"));
    let telemetry =
        Telemetry::builder("app").prometheus(Prometheus::new().dcgm(Arc::clone(&names))).build().unwrap();
    let mut samples = recorded();
    // Two compute instances of one GPU instance read the same memory.
    samples.extend([slice(7, 0, "1g.18gb", 6), slice(7, 1, "1g.18gb", 6), slice(9, 0, "3g.71gb", 4_384)]);
    samples[1].gauges.memory_used = mib(100);
    names.sampled(&SampleTick::new(MonoTime::from_nanos(1), SystemTime::UNIX_EPOCH, &samples, &[]));
    let text = telemetry.metrics_endpoint().unwrap().render();
    let lines = |family: &str| -> Vec<String> {
        let start = format!("{family}{{");
        text.lines().filter(|line| line.starts_with(&start)).map(str::to_owned).collect()
    };
    // In the order of dcgm-exporter's template: the GPU's labels, then profile and number of the instance.
    let labels = |profile: &str, id: u32| {
        format!(
            "{{gpu=\"0\",UUID=\"GPU-00000000-0000-0000-0000-000000000000\",pci_bus_id=\"00000000:83:00.0\",\
             device=\"nvidia0\",modelName=\"NVIDIA H200\",GPU_I_PROFILE=\"{profile}\",GPU_I_ID=\"{id}\",\
             hostname=\"h\",DCGM_FI_DRIVER_VERSION=\"590.48.01\"}}"
        )
    };
    let used = lines("DCGM_FI_DEV_FB_USED");
    assert_eq!(used.len(), 3, "{used:#?}");
    assert!(used.contains(&format!("DCGM_FI_DEV_FB_USED{} 6", labels("1g.18gb", 7))), "{used:#?}");
    assert!(used.contains(&format!("DCGM_FI_DEV_FB_USED{} 4384", labels("3g.71gb", 9))), "{used:#?}");
    // Summed as dashboards do: the slices of the first GPU, and all of the second.
    let sum: u64 = used.iter().map(|line| line.rsplit(' ').next().unwrap().parse::<u64>().unwrap()).sum();
    assert_eq!(sum, 6 + 4_384 + 100);
    assert_eq!(lines("DCGM_FI_DEV_FB_FREE").len(), 2);
    // Power and energy are the boards': two boards, two series, no slice.
    for family in ["DCGM_FI_DEV_POWER_USAGE", "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION"] {
        let found = lines(family);
        assert!(found.len() == 2 && found.iter().all(|line| !line.contains("GPU_I_ID")), "{found:#?}");
    }
}

#[test]
fn case_prometheus_06_help_and_type_come_once_and_then_all_samples() {
    let names = Arc::new(DcgmNames::new("h"));
    let telemetry =
        Telemetry::builder("app").prometheus(Prometheus::new().dcgm(Arc::clone(&names))).build().unwrap();
    names.sampled(&SampleTick::new(MonoTime::from_nanos(1), SystemTime::UNIX_EPOCH, &recorded(), &[]));
    for scope in ["one", "two"] {
        let meter = telemetry.meter_provider().meter(scope);
        for (name, unit) in [("hw.temperature", "Cel"), ("hw.power", "W")] {
            let gauge = meter.f64_gauge(name).with_unit(unit).build();
            for id in ["a", "b"] {
                gauge.record(1.0, &[KeyValue::new("hw.id", id)]);
            }
        }
    }
    let text = telemetry.metrics_endpoint().unwrap().render();
    let (mut families, mut current) = (HashSet::new(), String::new());
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let (name, help) = rest.split_once(' ').expect("a help text");
            assert!(!help.is_empty());
            assert!(families.insert(name.to_owned()), "{name} comes twice");
            current = name.to_owned();
        } else if let Some(rest) = line.strip_prefix("# TYPE ") {
            assert_eq!(rest.split(' ').next(), Some(&*current));
        } else {
            let name = line.split(['{', ' ']).next().unwrap();
            assert!(name.starts_with(&current), "{line} stands below {current}");
        }
    }
    assert_eq!(text.matches("hw_power_watts{").count(), 4);
    assert_eq!(text.matches("DCGM_FI_DEV_POWER_USAGE{").count(), 2);
}

#[test]
fn figures_are_pushed_at_intervals_and_at_the_end() {
    let stub = Stub::start(|number, _| Answer::status(if number == 0 { 500 } else { 202 }));
    let gateway =
        Pushgateway::new(stub.url(), "eval").grouping("instance", "a").every(Duration::from_millis(100));
    let telemetry = Telemetry::builder("app").prometheus(Prometheus::new().push(gateway)).build().unwrap();
    let counter = telemetry.meter_provider().meter("app").u64_counter("done").build();
    counter.add(1, &[]);
    // A gateway that fails once is tried again.
    stub.wait_for(|seen| seen.len() >= 3);
    counter.add(6, &[]);
    drop(telemetry);
    let seen = stub.seen();
    assert!(seen.iter().all(|seen| seen.path == "/metrics/job/eval/instance/a"));
    let last = String::from_utf8(seen.last().unwrap().body.clone()).unwrap();
    assert!(last.contains("done_total{otel_scope_name=\"app\"} 7\n"), "{last}");
}
