//! `wattspan devices`, `doctor`, `watch`, `licences` and `completions`.

mod support;

use std::io::{Read as _, Write as _};
use std::net::TcpListener;

use serde_json::{Value, json};
use support::{Gpus, Server, finish, read_until, run, start, wattspan};

/// A peer that answers each connection with the same bytes.
fn peer(answer: &'static [u8]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut request = [0; 1024];
            // Whatever it says and whether it stays for the answer.
            let _ = stream.read(&mut request);
            let _ = stream.write_all(answer);
        }
    });
    format!("http://{address}")
}

/// An address at which nobody listens: no system hands this port out.
const NOBODY: &str = "http://127.0.0.1:1";

fn check<'v>(doctor: &'v Value, about: &str) -> &'v Value {
    let checks = doctor["checks"].as_array().unwrap();
    checks.iter().find(|check| check["about"] == about).unwrap_or_else(|| panic!("{about} in {doctor}"))
}

#[cfg(target_os = "linux")]
#[test]
fn case_cli_08_what_is_not_available_is_null_and_a_dash() {
    let gpus = Gpus::new(
        "gpus 1\ngpu all temp 44\ngpu all util fixed 0 0\ngpu all memory 85899345920 0 3145728\n\
         gpu all counter off\ngpu all sensor usage off\ngpu all sensor average off\ngpu all sensor instant off\n",
    );
    let ended = run(&mut gpus.wattspan(&["devices", "--json", "--estimate", "off"]));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(!ended.stdout.contains("N/A"));
    let device = &ended.json()["devices"][0];
    let readings = &device["readings"];
    assert_eq!(readings["temperature_celsius"], json!(44.0), "{device}");
    assert_eq!(readings["utilization_ratio"], json!(0.0));
    assert_eq!(readings["memory_used_bytes"], json!(3_145_728));
    assert_eq!(readings.get("power_watts"), Some(&Value::Null));
    assert_eq!(
        (&device["energy"], &device["absent"]["power_watts"]),
        (&json!("missing"), &json!("not supported"))
    );
    let ended = run(&mut gpus.wattspan(&["devices"]));
    let line = ended.stdout.lines().find(|line| line.contains("power_watts")).unwrap();
    assert!(line.ends_with("– not supported"), "{line}");
    let ended = run(&mut gpus.wattspan(&["watch", "--count", "1", "--interval", "10ms"]));
    assert!(ended.stdout.contains("| gpu0 – 0.0 % 3.00 MiB of 80.00 GiB 44.0 °C"), "{}", ended.stdout);
}

#[cfg(target_os = "linux")]
#[test]
fn a_sensor_that_may_not_be_read_is_told_with_its_remedy() {
    // NVML's code 4 is "no permission".
    let gpus = Gpus::new(
        "gpus 1\ngpu all err nvmlDeviceGetTotalEnergyConsumption 4\ngpu all err nvmlDeviceGetPowerUsage 4\n\
         gpu all err nvmlDeviceGetFieldValues 4\n",
    );
    let ended = run(&mut gpus.wattspan(&["devices", "--json"]));
    let device = &ended.json()["devices"][0];
    assert_eq!(device["energy"], "denied", "{device}");
    assert!(device["energy_reason"].as_str().unwrap().starts_with("denied: "), "{device}");
    let ended = run(&mut gpus.wattspan(&["doctor"]));
    assert_eq!(ended.code, Some(1));
    assert!(ended.stdout.contains("PROBLEM  energy of GPU-"), "{}", ended.stdout);
}

#[test]
fn doctor_is_content_where_nothing_is_asked_for() {
    let ended =
        run(wattspan(&["doctor", "--no-gpu", "--json", "--country", "FR"]).env("WATTSPAN_HOST", "off"));
    assert_eq!(ended.code, Some(0), "{}", ended.stdout);
    let doctor = ended.json();
    assert_eq!(doctor["problems"], 0);
    assert_eq!(doctor["place"]["country"], "FR");
    assert_eq!(check(&doctor, "place")["text"], "FR (explicit)");
    let settings = doctor["settings"].as_array().unwrap();
    let host = settings.iter().find(|setting| setting["name"] == "host.enabled").unwrap();
    assert_eq!(host["origin"], "environment variable WATTSPAN_HOST");
    assert_eq!(check(&doctor, "nvidia")["text"], "off by gpu.enabled");
}

#[test]
fn doctor_tells_whether_a_receiver_answers() {
    let ok = peer(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
    let grpc = peer(b"\0\0\0\x04\0\0\0\0\0");
    let ssh = peer(b"SSH-2.0-OpenSSH_9.6\r\n");
    let cases = [
        (ok.clone(), "http/protobuf", 0, "answers"),
        (grpc, "grpc", 0, "answers"),
        (ok, "grpc", 1, "does not speak HTTP/2"),
        (ssh, "http/protobuf", 1, "does not speak HTTP/1"),
        (NOBODY.to_owned(), "http/protobuf", 1, "cannot be reached"),
    ];
    for (url, protocol, code, words) in cases {
        let ended = run(wattspan(&["doctor", "--no-gpu", "--json"])
            .env("WATTSPAN_HOST", "off")
            .env("OTEL_EXPORTER_OTLP_ENDPOINT", &url)
            .env("OTEL_EXPORTER_OTLP_PROTOCOL", protocol));
        let doctor = ended.json();
        let text = check(&doctor, "OTLP receiver")["text"].as_str().unwrap().to_owned();
        assert!(text.contains(words), "{protocol}: {text}");
        assert_eq!(ended.code, Some(code), "{text}");
    }
}

#[test]
fn doctor_names_a_setting_that_is_wrong_and_the_nearest() {
    let ended = run(wattspan(&["doctor", "--no-gpu"]).env("WATTSPAN_COUNTY", "FR"));
    assert_eq!(ended.code, Some(1));
    assert!(ended.stdout.contains("did you mean \"WATTSPAN_COUNTRY\"?"), "{}", ended.stdout);
    let ended = run(wattspan(&["doctor", "--no-gpu", "--country", "Atlantis"]).env("WATTSPAN_HOST", "off"));
    assert_eq!(ended.code, Some(1));
    assert!(ended.stdout.contains("Atlantis"), "{}", ended.stdout);
}

#[test]
fn a_secret_is_in_no_output() {
    let secret = "tok-EXAMPLE-0123456789";
    let url = NOBODY.replace("http://", &format!("http://user:{secret}@"));
    for arguments in [
        &["doctor"][..],
        &["doctor", "--json"],
        &["devices"],
        &["devices", "--json"],
        &["run", "--json", "--", "true"],
        &["run", "--exporter", "json", "--exporter", "console", "--", "true"],
        &["validate", "--quick"],
        // Options that nothing is sent with, since they are wrong in another way.
        &["eval", "--cases", "/no/such.jsonl", "--hf-token", "EXAMPLE", "--opensearch-password", "EXAMPLE"],
        &["push", "--to", "hub", "/no/such/folder", "--hf-token", "hf_EXAMPLE"],
    ] {
        for endpoint in [NOBODY, url.as_str()] {
            let ended = run(wattspan(arguments)
                .env("WATTSPAN_GPU", "off")
                .env("WATTSPAN_LOG", "info")
                .env("WATTSPAN_ELECTRICITY_MAPS_KEY", secret)
                .env("WATTSPAN_WATTTIME_PASSWORD", secret)
                .env("HF_TOKEN", secret)
                .env("OPENSEARCH_PASSWORD", secret)
                .env("OPENAI_API_KEY", secret)
                .env("HF_ENDPOINT", NOBODY)
                .env("OTEL_EXPORTER_OTLP_HEADERS", format!("authorization={secret}"))
                .env("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint)
                // Nothing leaves this machine: whoever asks the live source meets nobody.
                .env("HTTPS_PROXY", NOBODY)
                .env("HTTP_PROXY", NOBODY)
                .env("NO_PROXY", "127.0.0.1"));
            for (name, text) in [("stdout", &ended.stdout), ("stderr", &ended.stderr)] {
                assert!(
                    !text.contains("EXAMPLE") && !text.contains("0123456789"),
                    "{arguments:?} {name}: {text}"
                );
            }
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn watch_prints_as_many_lines_as_asked() {
    let gpus = Gpus::steady();
    let ended = run(&mut gpus.wattspan(&["watch", "--lines", "--count", "3", "--interval", "20ms"]));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let lines: Vec<&str> = ended.stdout.lines().collect();
    assert_eq!(lines.len(), 3);
    assert!(lines.iter().all(|line| line.contains("600 W") && line.contains("| gpu1 300 W")), "{lines:?}");
}

#[test]
fn watch_has_what_a_llama_server_says() {
    let tokens = std::sync::atomic::AtomicU64::new(0);
    let server = Server::start(move |path| match path.split('?').next() {
        // Names as in llama.cpp's tools/server; each look finds more tokens.
        Some("/metrics") => {
            let more = tokens.fetch_add(100, std::sync::atomic::Ordering::Relaxed);
            format!(
                "# TYPE llamacpp:tokens_predicted_total counter\nllamacpp:tokens_predicted_total {more}\n\
                 # TYPE llamacpp:requests_deferred gauge\nllamacpp:requests_deferred 2\n"
            )
        }
        _ => r#"[{"id":0,"is_processing":true},{"id":1,"is_processing":false}]"#.to_owned(),
    });
    let mut child = start(&mut wattspan(&[
        "watch",
        "--no-gpu",
        "--interval",
        "20ms",
        "--set",
        "llama_server.interval=50ms",
        "--llama-server",
        &server.url,
    ]));
    // The first look has no rate yet; this waits until there is one.
    let seen = read_until(child.stdout.as_mut().unwrap(), "2 waiting\n");
    assert!(seen.contains("1/2 slots"), "{seen}");
    let mut seen = seen;
    while !seen.contains(" tokens/s 1/2") {
        seen = read_until(child.stdout.as_mut().unwrap(), "\n");
    }
    assert!(!seen.contains("– tokens/s"), "{seen}");
    child.kill().unwrap();
    finish(child);
}

#[test]
fn doctor_finds_a_gpu_that_is_not_there() {
    let ended = run(wattspan(&["doctor", "--no-gpu", "--set", "gpu.devices=7"]).env("WATTSPAN_HOST", "off"));
    assert_eq!(ended.code, Some(1));
    assert!(ended.stdout.contains("there is no GPU \"7\""), "{}", ended.stdout);
}

#[test]
fn licences_are_the_notices_of_the_data() {
    let ended = run(&mut wattspan(&["licences"]));
    assert_eq!(ended.code, Some(0));
    let notice = concat!(env!("CARGO_MANIFEST_DIR"), "/../wattspan-carbon/data/NOTICE.md");
    assert_eq!(ended.stdout, std::fs::read_to_string(notice).unwrap());
}

#[test]
fn completions_know_every_command() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let ended = run(&mut wattspan(&["completions", shell]));
        assert_eq!(ended.code, Some(0));
        for command in [
            "run",
            "devices",
            "doctor",
            "watch",
            "validate",
            "eval",
            "report",
            "push",
            "licences",
            "completions",
        ] {
            assert!(ended.stdout.contains(command), "{shell} {command}");
        }
    }
}

#[test]
fn help_has_the_exit_codes() {
    for arguments in [
        &["--help"][..],
        &["run", "--help"],
        &["validate", "--help"],
        &["eval", "--help"],
        &["push", "--help"],
    ] {
        let ended = run(&mut wattspan(arguments));
        assert_eq!(ended.code, Some(0));
        assert!(ended.stdout.contains("Exit codes:") && ended.stdout.contains("128 + n"));
    }
    assert_eq!(run(&mut wattspan(&[])).code, Some(2));
}
