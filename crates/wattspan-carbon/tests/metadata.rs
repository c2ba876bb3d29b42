//! Cloud metadata services, each answered by a stub in the shape of the real one.

mod support;

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use support::{Reply, Request, Stub, reply, reply_with};
use wattspan_carbon::{Bundled, CloudFacts, Endpoints, Located, Locator, Metadata};
use wattspan_core::{IntensitySource, Place};

const AWS: &[(&str, &str)] = &[("sys_vendor", "Amazon EC2"), ("product_name", "g5.xlarge")];
const GCP: &[(&str, &str)] = &[("sys_vendor", "Google"), ("product_name", "Google Compute Engine")];
const AZURE: &[(&str, &str)] =
    &[("sys_vendor", "Microsoft Corporation"), ("chassis_asset_tag", "7783-7084-3265-9085-8269-3286-77")];

/// The body of Amazon's error pages.
fn xhtml(status: u16) -> Reply {
    let body = format!(
        "<?xml version=\"1.0\" encoding=\"iso-8859-1\"?>\n<html><head><title>{status}</title></head></html>\n"
    );
    reply_with(status, &[("Content-Type", "text/html")], body)
}

fn locate(name: &str, dmi: &[(&str, &str)], stub: &Stub, pairs: &[(&str, &str)], limit: Duration) -> Located {
    let root: PathBuf = std::env::temp_dir().join(format!("wattspan-metadata-{}-{name}", std::process::id()));
    let _ = fs::remove_dir_all(&root);
    let folder = root.join("sys/class/dmi/id");
    fs::create_dir_all(&folder).unwrap();
    for (file, text) in dmi {
        fs::write(folder.join(file), format!("{text}\n")).unwrap();
    }
    let mut endpoints = Endpoints::default();
    endpoints.aws.clone_from(&stub.url);
    endpoints.gcp.clone_from(&stub.url);
    endpoints.azure.clone_from(&stub.url);
    let pairs: Vec<(String, String)> =
        pairs.iter().map(|(name, value)| ((*name).to_owned(), value.replace("STUB", &stub.url))).collect();
    let located = Locator::new()
        .root(&root)
        .variables(move |wanted| {
            pairs.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.clone())
        })
        .metadata(Some(Metadata::default().endpoints(endpoints).time_limit(limit)))
        .guess(false)
        .locate();
    fs::remove_dir_all(&root).unwrap();
    located
}

#[track_caller]
fn is(located: &Located, attributes: &[(&str, &str)]) {
    let facts = located.cloud.as_ref().unwrap_or_else(|| panic!("{:?}", located.notes));
    assert_eq!(facts.attributes(), attributes);
    assert_eq!(located.place.basis.as_deref(), Some("cloud metadata"));
}

fn grams(place: &Place) -> f64 {
    Bundled::new().latest(place, std::time::SystemTime::now()).unwrap().value.grams_per_kwh()
}

fn imds(request: &Request) -> Reply {
    match (request.method.as_str(), request.path()) {
        ("PUT", "/latest/api/token") => match request.header("x-aws-ec2-metadata-token-ttl-seconds") {
            Some("60") => reply_with(200, &[("Content-Type", "text/plain")], "FAKE-IMDS-TOKEN=="),
            _ => xhtml(400),
        },
        ("GET", "/latest/dynamic/instance-identity/document") => {
            if request.header("x-aws-ec2-metadata-token") != Some("FAKE-IMDS-TOKEN==") {
                return xhtml(401);
            }
            reply_with(
                200,
                &[("Content-Type", "text/plain")],
                r#"{"accountId":"999900001111","availabilityZone":"eu-west-3b","billingProducts":null,
                    "instanceId":"i-0fedcba9876543210","instanceType":"g5.xlarge","region":"eu-west-3","version":"2017-09-30"}"#,
            )
        }
        _ => xhtml(404),
    }
}

#[test]
fn an_amazon_machine_is_asked_with_a_token() {
    let stub = Stub::start(imds);
    let located = locate("imds", AWS, &stub, &[], support::PATIENCE);
    is(
        &located,
        &[
            ("cloud.provider", "aws"),
            ("cloud.platform", "aws_ec2"),
            ("cloud.region", "eu-west-3"),
            ("cloud.availability_zone", "eu-west-3b"),
            ("host.type", "g5.xlarge"),
            ("host.id", "i-0fedcba9876543210"),
        ],
    );
    // aws, eu-west-3 in `regions.csv`: France.
    assert_eq!(grams(&located.place), 41.44);
    assert_eq!(located.cloud.unwrap().instance().unwrap().gpu.unwrap().model, "A10G");
    // What a proxy would add makes the service refuse; the account does not leave the answer.
    assert!(stub.requests().iter().all(|request| request.header("x-forwarded-for").is_none()));
}

#[test]
fn a_pod_whose_token_request_is_dropped_goes_by_its_environment() {
    let stub = Stub::start(|_| Reply::Silence);
    let env = [("AWS_REGION", "eu-north-1"), ("KUBERNETES_SERVICE_HOST", "10.0.0.1")];
    let located = locate("eks", AWS, &stub, &env, Duration::from_millis(50));
    is(&located, &[("cloud.provider", "aws"), ("cloud.platform", "aws_eks"), ("cloud.region", "eu-north-1")]);
    let located = locate("eks-bare", AWS, &stub, &[], Duration::from_millis(50));
    assert_eq!((located.place, located.cloud), (Place::default(), None));
    assert!(located.notes[0].contains("no answer in time"), "{:?}", located.notes);
}

/// A pod whose labels a volume of the downward API holds.
fn pod(
    name: &str,
    dmi: &[(&str, &str)],
    labels: &str,
    env: &'static [(&'static str, &'static str)],
) -> Located {
    let stub = Stub::start(|_| Reply::Silence);
    let root: PathBuf = std::env::temp_dir().join(format!("wattspan-pod-{}-{name}", std::process::id()));
    let _ = fs::remove_dir_all(&root);
    let files = [("etc/podinfo/labels", labels), ("etc/timezone", "Asia/Tokyo\n")];
    let zones = ("usr/share/zoneinfo/zone.tab", "JP\t+353916+1394441\tAsia/Tokyo\n");
    let firmware = dmi.iter().map(|(file, text)| (format!("sys/class/dmi/id/{file}"), *text));
    let all = files.into_iter().chain([zones]).map(|(file, text)| (file.to_owned(), text)).chain(firmware);
    for (file, text) in all {
        let path = root.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let mut endpoints = Endpoints::default();
    endpoints.aws.clone_from(&stub.url);
    let limit = Duration::from_millis(50);
    let located = Locator::new()
        .root(&root)
        .variables(|wanted| {
            env.iter().find(|(name, _)| *name == wanted).map(|(_, value)| (*value).to_owned())
        })
        .metadata(Some(Metadata::default().endpoints(endpoints).time_limit(limit)))
        .locate();
    fs::remove_dir_all(&root).unwrap();
    located
}

const FRANCE: &str = "app=\"llm\"\nnode.kubernetes.io/instance-type=\"g5.xlarge\"\n\
                      topology.kubernetes.io/region=\"eu-west-3\"\ntopology.kubernetes.io/zone=\"eu-west-3b\"\n";

#[test]
fn a_pod_without_a_metadata_service_goes_by_its_nodes_labels() {
    for (name, dmi) in [("silent", AWS), ("no-firmware", &[] as &[_])] {
        let located = pod(name, dmi, FRANCE, &[("KUBERNETES_SERVICE_HOST", "10.0.0.1")]);
        let facts = located.cloud.as_ref().unwrap();
        assert_eq!(
            facts.attributes(),
            [
                ("cloud.provider", "aws"),
                ("cloud.platform", "aws_eks"),
                ("cloud.region", "eu-west-3"),
                ("cloud.availability_zone", "eu-west-3b"),
                ("host.type", "g5.xlarge"),
            ]
        );
        assert_eq!(located.place.basis.as_deref(), Some("node labels"));
        assert_eq!((located.place.country.as_deref(), grams(&located.place)), (Some("FR"), 41.44));
        assert_eq!(facts.instance().unwrap().gpu.unwrap().model, "A10G");
    }
}

#[test]
fn labels_complete_what_the_environment_says_of_the_same_region_and_of_no_other() {
    let env = &[("AWS_REGION", "eu-west-3"), ("KUBERNETES_SERVICE_HOST", "10.0.0.1")];
    let located = pod("complete", AWS, FRANCE, env);
    assert_eq!(located.place.basis.as_deref(), Some("cloud metadata"));
    assert_eq!(located.cloud.unwrap().instance_type.as_deref(), Some("g5.xlarge"));
    let located = pod("other-region", AWS, FRANCE, &[("AWS_REGION", "eu-north-1")]);
    assert_eq!(located.place.country.as_deref(), Some("SE"));
    assert_eq!(located.cloud.unwrap().instance_type, None);
}

#[test]
fn a_region_that_no_cloud_has_is_no_other_country() {
    let labels = "topology.kubernetes.io/region=\"eu-wset-3\"\n";
    let located = pod("unknown", &[], labels, &[]);
    // The time zone says Japan, and is not asked.
    assert_eq!((located.place, located.cloud), (Place::default(), None));
    assert!(located.notes.iter().any(|note| note.contains("eu-wset-3")), "{:?}", located.notes);
    let located = pod("said", &[], labels, &[("WATTSPAN_COUNTRY", "Norway")]);
    assert_eq!(located.place.country.as_deref(), Some("NO"));
    // Labels that say nothing of a place leave the guess.
    let located = pod("nothing", &[], "app=\"llm\"\n", &[]);
    assert_eq!(located.place.country.as_deref(), Some("JP"));
}

#[test]
fn amazons_refusals_are_notes_and_no_place() {
    for (status, reason) in [(403, "turned off"), (400, "refused with 400"), (404, "refused with 404")] {
        let stub = Stub::start(move |_| xhtml(status));
        let located = locate(&format!("refused-{status}"), AWS, &stub, &[], support::PATIENCE);
        assert_eq!((located.place, located.cloud), (Place::default(), None));
        assert!(located.notes[0].contains(reason), "{:?}", located.notes);
    }
    for reply_to_get in [|| xhtml(401), || reply(200, "not json"), || reply(200, "{}"), || Reply::HangUp] {
        let stub =
            Stub::start(move |request| if request.method == "PUT" { imds(request) } else { reply_to_get() });
        assert_eq!(locate("get-refused", AWS, &stub, &[], support::PATIENCE).cloud, None);
    }
}

#[test]
fn a_task_of_ecs_reads_its_region_from_its_arn() {
    let stub = Stub::start(|request| match request.path() {
        "/v4/0123-4567/task" => reply(
            200,
            r#"{"Cluster":"arn:aws:ecs:ca-central-1:999900001111:cluster/blue","LaunchType":"FARGATE",
                "TaskARN":"arn:aws:ecs:ca-central-1:999900001111:task/blue/0123","AvailabilityZone":"ca-central-1d"}"#,
        ),
        _ => xhtml(404),
    });
    let env = [("ECS_CONTAINER_METADATA_URI_V4", "STUB/v4/0123-4567")];
    let located = locate("ecs", &[], &stub, &env, support::PATIENCE);
    is(
        &located,
        &[
            ("cloud.provider", "aws"),
            ("cloud.platform", "aws_ecs"),
            ("cloud.region", "ca-central-1"),
            ("cloud.availability_zone", "ca-central-1d"),
        ],
    );
    assert_eq!(located.place.subdivision.as_deref(), Some("CA-QC"));
    let env = [("ECS_CONTAINER_METADATA_URI_V4", "STUB/gone"), ("AWS_REGION", "us-west-2")];
    let located = locate("ecs-gone", &[], &stub, &env, support::PATIENCE);
    assert_eq!(located.place.cloud_region.as_deref(), Some("us-west-2"));
}

#[test]
fn lambda_is_told_by_its_environment_alone() {
    let stub = Stub::start(|_| xhtml(404));
    let env = [("AWS_LAMBDA_FUNCTION_NAME", "f"), ("AWS_REGION", "sa-east-1")];
    let located = locate("lambda", &[], &stub, &env, support::PATIENCE);
    is(
        &located,
        &[("cloud.provider", "aws"), ("cloud.platform", "aws_lambda"), ("cloud.region", "sa-east-1")],
    );
    assert_eq!(stub.connections(), 0);
}

fn google(request: &Request) -> Reply {
    if request.header("metadata-flavor") != Some("Google") {
        return reply_with(
            403,
            &[("Metadata-Flavor", "Google"), ("Content-Type", "text/html")],
            "Missing Metadata-Flavor:Google header.",
        );
    }
    let flavour = [("Metadata-Flavor", "Google"), ("Content-Type", "application/text")];
    match request.path().strip_prefix("/computeMetadata/v1/instance/") {
        Some("zone") => reply_with(200, &flavour, "projects/880011223344/zones/europe-north1-c"),
        Some("machine-type") => {
            reply_with(200, &flavour, "projects/880011223344/machineTypes/g2-standard-24")
        }
        Some("id") => reply_with(200, &flavour, "8765432109876543210"),
        _ => reply_with(
            404,
            &[("Metadata-Flavor", "Google"), ("Content-Type", "text/html")],
            "was not found on this server.",
        ),
    }
}

#[test]
fn a_google_machine_names_its_zone_as_a_path() {
    let stub = Stub::start(google);
    let located = locate("gce", GCP, &stub, &[], support::PATIENCE);
    is(
        &located,
        &[
            ("cloud.provider", "gcp"),
            ("cloud.platform", "gcp_compute_engine"),
            ("cloud.region", "europe-north1"),
            ("cloud.availability_zone", "europe-north1-c"),
            ("host.type", "g2-standard-24"),
            ("host.id", "8765432109876543210"),
        ],
    );
    assert_eq!(grams(&located.place), 39.32);
    assert!(stub.requests().iter().all(|request| !request.target.contains("recursive")));
    let located = locate("gke", GCP, &stub, &[("KUBERNETES_SERVICE_HOST", "10.0.0.1")], support::PATIENCE);
    assert_eq!(located.cloud.unwrap().platform, Some("gcp_kubernetes_engine"));
}

#[test]
fn cloud_run_names_a_region_and_no_machine() {
    let stub = Stub::start(|request| match request.path() {
        "/computeMetadata/v1/instance/region" => {
            reply_with(200, &[("Metadata-Flavor", "Google")], "projects/880011223344/regions/us-east4")
        }
        _ => reply_with(404, &[("Metadata-Flavor", "Google")], ""),
    });
    let env = [("K_SERVICE", "chat"), ("K_REVISION", "chat-1")];
    let located = locate("run", &[], &stub, &env, support::PATIENCE);
    is(
        &located,
        &[("cloud.provider", "gcp"), ("cloud.platform", "gcp_cloud_run"), ("cloud.region", "us-east4")],
    );
}

#[test]
fn an_answer_that_is_not_googles_is_not_believed() {
    let stub = Stub::start(|_| reply(200, "projects/1/zones/us-central1-a"));
    let located = locate("captive", GCP, &stub, &[], support::PATIENCE);
    assert_eq!(located.cloud, None);
    assert!(located.notes[0].contains("not Google's"), "{:?}", located.notes);
}

const AZURE_INSTANCE: &str = r#"{"compute":{"location":"swedencentral","name":"box","resourceGroupName":"secret-group",
    "tags":"owner:somebody","vmId":"00000000-1111-2222-3333-444444444444","vmSize":"Standard_NC24ads_A100_v4","zone":"2"},
    "network":{"interface":[]}}"#;

#[test]
fn an_azure_machine_answers_one_document() {
    let stub = Stub::start(|request| {
        if request.header("metadata") != Some("true") {
            return reply(400, r#"{"error":"Bad request. Required metadata header not specified"}"#);
        }
        match request.query("api-version") {
            Some("2021-02-01") => reply(200, AZURE_INSTANCE),
            _ => reply(404, r#"{"error":"Not found"}"#),
        }
    });
    let located = locate("azure", AZURE, &stub, &[], support::PATIENCE);
    is(
        &located,
        &[
            ("cloud.provider", "azure"),
            ("cloud.platform", "azure.vm"),
            ("cloud.region", "swedencentral"),
            ("cloud.availability_zone", "swedencentral-2"),
            ("host.type", "Standard_NC24ads_A100_v4"),
            ("host.id", "00000000-1111-2222-3333-444444444444"),
        ],
    );
    assert_eq!(located.place.country.as_deref(), Some("SE"));
    let shown = format!("{located:?}");
    assert!(!shown.contains("secret-group") && !shown.contains("somebody"));
}

#[test]
fn an_older_azure_names_the_version_it_knows() {
    let stub = Stub::start(|request| match request.query("api-version") {
        Some("2020-10-01") => reply(200, AZURE_INSTANCE),
        _ => reply(400, r#"{"error":"Bad request.","newest-versions":["2020-10-01","2020-09-01"]}"#),
    });
    let located = locate("azure-old", AZURE, &stub, &[], support::PATIENCE);
    assert_eq!(located.place.cloud_region.as_deref(), Some("swedencentral"));
    for status in [400, 404, 410, 429, 500] {
        let stub = Stub::start(move |_| reply(status, ""));
        let located = locate(&format!("azure-{status}"), AZURE, &stub, &[], support::PATIENCE);
        assert_eq!(located.cloud, None);
        assert!(located.notes[0].contains(&status.to_string()), "{:?}", located.notes);
    }
}

#[test]
fn a_region_newer_than_the_tables_is_kept_and_said() {
    let stub =
        Stub::start(|_| reply(200, r#"{"compute":{"location":"atlantiscentral","vmSize":"","zone":""}}"#));
    let located = locate("azure-new", AZURE, &stub, &[], support::PATIENCE);
    is(
        &located,
        &[("cloud.provider", "azure"), ("cloud.platform", "azure.vm"), ("cloud.region", "atlantiscentral")],
    );
    assert!(located.errors.is_empty());
    assert_eq!(located.place.cloud_region.as_deref(), Some("atlantiscentral"));
    assert_eq!(located.place.country, None);
    assert!(located.notes.iter().any(|note| note.contains("atlantiscentral")), "{:?}", located.notes);
}

#[test]
fn a_token_cannot_write_headers() {
    let stub = Stub::start(|request| {
        if request.method == "PUT" { reply(200, "a\r\nX-Forwarded-For: 1.2.3.4") } else { reply(200, "{}") }
    });
    assert_eq!(locate("smuggle", AWS, &stub, &[], support::PATIENCE).cloud, None);
    assert_eq!(stub.requests().len(), 1);
    assert_eq!(CloudFacts::default().attributes(), [("cloud.provider", "")][..0]);
}
