//! Spellings of places, and finding a machine's own.

mod support;

use std::fs;
use std::path::{Path, PathBuf};

use support::Stub;
use wattspan_carbon::{Bundled, Chain, Endpoints, Error, Locator, Metadata, PlaceQuery};
use wattspan_core::{IntensitySource, Joules, Place, Provenance};

const ONE_KWH: Joules = Joules::from_millijoules(3_600_000_000);

fn query(country: &str, subdivision: &str, provider: &str, region: &str) -> PlaceQuery {
    let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let mut query = PlaceQuery::new();
    query.country = some(country);
    query.subdivision = some(subdivision);
    query.cloud_provider = some(provider);
    query.cloud_region = some(region);
    query
}

#[track_caller]
fn codes(place: &Place) -> [Option<&str>; 5] {
    [&place.country, &place.subdivision, &place.zone, &place.cloud_provider, &place.cloud_region]
        .map(|part| part.as_deref())
}

#[test]
fn case_cloud_03_the_region_wins_and_a_slip_is_named() {
    let first = query("USA", "Virginia", "aws", "us-east-1").resolve("explicit");
    assert!(first.errors.is_empty());
    assert_eq!(codes(&first.place), [Some("US"), Some("US-VA"), None, Some("aws"), Some("us-east-1")]);
    let notes = first.notes.join("\n");
    assert!(notes.contains("country US is ignored") && notes.contains("\"Virginia\" is ignored"), "{notes}");
    // eGRID2023, Virginia.
    assert_eq!(Bundled::new().latest(&first.place, now()).unwrap().value.grams_per_kwh(), 244.758);

    let second = query("USA", "", "aws", "us-eats-1").resolve("explicit");
    let [error] = &second.errors[..] else { panic!("{:?}", second.errors) };
    let text = error.to_string();
    assert!(
        text.starts_with("no cloud region of aws is called \"us-eats-1\": did you mean us-east-1"),
        "{text}"
    );
    let fallback = Bundled::new().latest(&second.place, now()).unwrap();
    assert_eq!((fallback.zone.as_deref(), fallback.provenance), (Some("US"), Provenance::Bundled));

    // The state that was given beside it is not lost with the region.
    let third = query("USA", "Virginia", "aws", "us-eats-1").resolve("explicit");
    assert_eq!(third.place.subdivision.as_deref(), Some("US-VA"));
    assert!(third.strict().is_err());
}

#[test]
fn case_carbon_08_a_county_is_no_zone_and_the_country_holds() {
    let resolved = query("SWE", "stockholm county", "", "").resolve("explicit");
    assert!(resolved.errors.is_empty(), "{:?}", resolved.errors);
    let answer = Chain::new().latest(&resolved.place, now()).unwrap();
    assert_eq!((answer.zone.as_deref(), answer.provenance), (Some("SE"), Provenance::Bundled));
    // Sweden in `countries.csv`.
    assert_eq!((ONE_KWH * answer.value).grams(), 35.26);
}

#[test]
fn one_phrase_is_understood_in_every_spelling() {
    let parse = |text: &str| PlaceQuery::parse(text).unwrap().resolve("explicit").strict().unwrap();
    for text in ["DE", "deu", "Germany", " germany "] {
        assert_eq!(codes(&parse(text)), [Some("DE"), None, None, None, None], "{text}");
    }
    for text in ["Côte d’Ivoire", "cote d'ivoire", "Ivory Coast", "CIV"] {
        assert_eq!(parse(text).country.as_deref(), Some("CI"), "{text}");
    }
    for text in ["California", "us-ca"] {
        assert_eq!(codes(&parse(text)), [Some("US"), Some("US-CA"), None, None, None], "{text}");
    }
    for text in ["aws:eu-central-1", "eu-central-1", "eu-central-1b", "Amazon:EU-CENTRAL-1"] {
        assert_eq!(
            codes(&parse(text)),
            [Some("DE"), None, None, Some("aws"), Some("eu-central-1")],
            "{text}"
        );
    }
    assert_eq!(parse("us-central1-a").cloud_region.as_deref(), Some("us-central1"));
    assert_eq!(parse("azure:West Europe").cloud_region.as_deref(), Some("westeurope"));
    assert_eq!(codes(&parse("se-se3")), [Some("SE"), None, Some("SE-SE3"), None, None]);
    assert_eq!(codes(&parse("CAMX")), [Some("US"), None, Some("CAMX"), None, None]);
    assert_eq!(parse("0, -0.5").coordinates, Some((0.0, -0.5)));
    // ISO 3166-1 before all: CA is Canada and never California.
    assert_eq!(codes(&parse("CA")), [Some("CA"), None, None, None, None]);
}

#[test]
fn an_unknown_spelling_is_an_error_with_near_names() {
    let near = |text: &str| match PlaceQuery::parse(text) {
        Err(Error::Unknown { near, .. }) => near,
        other => panic!("{text}: {other:?}"),
    };
    assert_eq!(near("Germny")[0], "Germany (DE)");
    assert_eq!(near("Califronia")[0], "California (US-CA)");
    assert!(near("us-eats-1").contains(&"us-east-1".to_owned()));
    assert_eq!(near("Atlantis"), Vec::<String>::new());
    for text in ["", "XX", "ZZZ", "EU", "U S"] {
        assert!(PlaceQuery::parse(text).is_err(), "{text:?}");
    }
    for text in ["91,0", "0,181", "NaN,0"] {
        assert!(matches!(PlaceQuery::parse(text), Err(Error::Coordinates { .. })), "{text}");
    }
    let Err(Error::Ambiguous { meanings, .. }) = PlaceQuery::parse("georgia") else { panic!() };
    assert_eq!(meanings, ["Georgia (GE)", "Georgia (US-GA)"]);
}

#[test]
fn a_wrong_country_never_becomes_another() {
    let resolved = query("Germny", "Bavaria", "", "").resolve("explicit");
    assert_eq!(resolved.place, Place::default());
    assert_eq!(resolved.errors.len(), 1);
    let answer = Chain::new().latest(&resolved.place, now()).unwrap();
    assert_eq!((answer.provenance, answer.zone.as_deref()), (Provenance::WorldAverage, Some("WORLD")));
    // A state of another country is a mistake, not a move.
    let resolved = query("DE", "US-CA", "", "").resolve("explicit");
    assert_eq!(codes(&resolved.place), [Some("DE"), None, None, None, None]);
    assert_eq!(resolved.errors.len(), 1);
    let resolved = query("US", "Virgina", "", "").resolve("explicit");
    assert!(
        resolved.errors[0].to_string().contains("did you mean Virginia (US-VA)"),
        "{:?}",
        resolved.errors
    );
}

fn now() -> std::time::SystemTime {
    std::time::SystemTime::now()
}

/// A folder of files, removed at the end.
struct Tree(PathBuf);

impl Tree {
    fn new(name: &str, files: &[(&str, &str)]) -> Self {
        let root = std::env::temp_dir().join(format!("wattspan-place-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&root);
        fs::create_dir_all(&root).unwrap();
        for (path, text) in files {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        Self(root)
    }

    fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn variables(pairs: &'static [(&'static str, &'static str)]) -> impl Fn(&str) -> Option<String> {
    |name: &str| pairs.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
}

const ZONE_TAB: &str =
    "# tz table in the shape of zone.tab\nSE\t+5920+01803\tEurope/Stockholm\nIT\t+4154+01229\tEurope/Rome\n";

#[test]
fn what_is_said_beats_the_environment_and_that_beats_a_guess() {
    let tree =
        Tree::new("order", &[("usr/share/zoneinfo/zone.tab", ZONE_TAB), ("etc/timezone", "Europe/Rome\n")]);
    let locator = |pairs| Locator::new().root(tree.path()).metadata(None).variables(variables(pairs));
    let basis = |locator: Locator| {
        let located = locator.locate();
        assert!(located.errors.is_empty(), "{:?}", located.errors);
        (
            located.place.country.as_deref().map(str::to_owned),
            located.place.basis.as_deref().map(str::to_owned),
        )
    };
    let is = |country: &str, basis: &str| (Some(country.to_owned()), Some(basis.to_owned()));
    let env: &[(&str, &str)] = &[("WATTSPAN_COUNTRY", "Norway"), ("TZ", "Europe/Stockholm")];
    assert_eq!(basis(locator(env).explicit(query("France", "", "", ""))), is("FR", "explicit"));
    assert_eq!(basis(locator(env)), is("NO", "environment"));
    assert_eq!(
        basis(locator(&[("TZ", ":Europe/Stockholm"), ("WATTSPAN_COUNTRY", " ")])),
        is("SE", "time zone (guess)")
    );
    assert_eq!(basis(locator(&[])), is("IT", "time zone (guess)"));
    assert_eq!(basis(locator(&[("TZ", "UTC"), ("LANG", "pt_PT.UTF-8")])), is("PT", "locale (guess)"));
    assert_eq!(basis(locator(&[("TZ", "UTC"), ("LANG", "en_US.UTF-8")])), (None, None));
    assert_eq!(basis(locator(&[]).guess(false)), (None, None));
}

#[test]
fn a_typing_error_is_not_replaced_by_a_guess() {
    let tree =
        Tree::new("typo", &[("usr/share/zoneinfo/zone.tab", ZONE_TAB), ("etc/timezone", "Europe/Rome\n")]);
    let located = Locator::new()
        .root(tree.path())
        .metadata(None)
        .variables(variables(&[("WATTSPAN_COUNTRY", "Noway")]))
        .locate();
    assert_eq!(located.place, Place::default());
    assert!(located.errors[0].to_string().contains("Norway (NO)"), "{:?}", located.errors);
    let env = variables(&[("WATTSPAN_COUNTRY", "Norway")]);
    let wrong = query("Germny", "", "", "");
    let located = Locator::new().root(tree.path()).metadata(None).variables(env).explicit(wrong).locate();
    assert_eq!((located.place, located.errors.len()), (Place::default(), 1));
    let located = Locator::new()
        .root(tree.path())
        .metadata(None)
        .variables(variables(&[("WATTSPAN_COORDINATES", "north")]))
        .locate();
    assert!(matches!(located.errors[..], [Error::Coordinates { .. }]));
}

#[test]
fn a_machine_that_is_no_cloud_calls_nobody() {
    let stub = Stub::start(|_| support::reply(200, "{}"));
    let mut endpoints = Endpoints::default();
    endpoints.aws.clone_from(&stub.url);
    endpoints.gcp.clone_from(&stub.url);
    endpoints.azure.clone_from(&stub.url);
    // A Hyper-V guest that is not Azure's: same vendor and product, another chassis.
    let tree = Tree::new(
        "no-cloud",
        &[
            ("sys/class/dmi/id/sys_vendor", "Microsoft Corporation\n"),
            ("sys/class/dmi/id/product_name", "Virtual Machine\n"),
            ("sys/class/dmi/id/chassis_asset_tag", "1234-5678\n"),
        ],
    );
    let locate = |metadata| {
        // AWS_REGION is set on many laptops; it says where one's buckets are, not where the laptop is.
        let env = variables(&[("AWS_REGION", "eu-west-1"), ("TZ", "UTC")]);
        Locator::new().root(tree.path()).metadata(metadata).variables(env).locate()
    };
    let located = locate(Some(Metadata::default().endpoints(endpoints)));
    assert_eq!((located.place, located.cloud), (Place::default(), None));
    assert_eq!(locate(None).place, Place::default());
    assert_eq!(stub.connections(), 0);
}
