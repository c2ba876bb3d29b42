//! Tests of `electricity`.

use super::*;
use proptest::prelude::*;

const HOUR: u64 = 3_600;
const KWH: Joules = Joules::from_millijoules(3_600_000_000);

fn usd_per_kwh(number: f64) -> UsdPerKwh {
    UsdPerKwh::new(number).unwrap()
}

fn at(seconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
}

/// Cheap from 22:00 to 06:00 and dear from 17:00 to 19:00, two hours ahead of UTC.
fn tariff() -> Tariff {
    Tariff::by_hours(usd_per_kwh(0.30), "+02:00".parse().unwrap())
        .with("22:00".parse().unwrap(), "06:00".parse().unwrap(), usd_per_kwh(0.10))
        .with("17:00".parse().unwrap(), "19:00".parse().unwrap(), usd_per_kwh(0.50))
}

#[track_caller]
fn costs(utc_hour: f64, price: f64) {
    let time = SystemTime::UNIX_EPOCH
        + Duration::from_secs(20_000 * 86_400)
        + Duration::from_secs(3_600).mul_f64(utc_hour);
    assert_eq!(tariff().price_at(time), usd_per_kwh(price), "{utc_hour} h UTC");
}

#[test]
fn hours_are_those_of_the_place() {
    costs(19.99, 0.30);
    costs(20.0, 0.10);
    costs(23.5, 0.10);
    costs(3.99, 0.10);
    costs(4.0, 0.30);
    costs(15.0, 0.50);
    costs(17.0, 0.30);
}

#[test]
fn times_before_1970_have_hours_too() {
    let second = Duration::from_secs(1);
    // 1969-12-31 20:00 UTC is 22:00 at +02:00.
    let ten = SystemTime::UNIX_EPOCH - Duration::from_secs(4 * HOUR);
    assert_eq!(tariff().price_at(ten), usd_per_kwh(0.10));
    assert_eq!(tariff().price_at(ten - second / 2), usd_per_kwh(0.30));
    assert_eq!(tariff().next_change(ten - second / 2), Some(ten));
}

#[test]
fn a_change_is_the_next_begin_or_end() {
    // 10:00:00.25 UTC is noon at the place; 17:00 there is five hours on.
    let noon = at(10 * HOUR) + Duration::from_millis(250);
    assert_eq!(tariff().next_change(noon), Some(at(15 * HOUR)));
    assert_eq!(tariff().next_change(at(15 * HOUR)), Some(at(17 * HOUR)));
    assert_eq!(Tariff::fixed(usd_per_kwh(0.2)).next_change(noon), None);
}

#[test]
fn energy_across_a_change_is_paid_at_both_prices() {
    let parts = tariff().spread(KWH + KWH, at(14 * HOUR), at(16 * HOUR));
    assert_eq!(parts, [(KWH, usd_per_kwh(0.30)), (KWH, usd_per_kwh(0.50))]);
    let cost = electricity_cost(parts, Overhead::NONE, None).unwrap();
    assert_eq!((cost.total.usd(), &*cost.source), (0.80, "electricity"));
}

#[test]
fn energy_without_a_price_has_no_cost() {
    assert_eq!(electricity_cost([], Overhead::NONE, None), None);
}

#[test]
fn hardware_is_added_and_named() {
    // 8,760 USD over a year of 8,760 hours is a dollar an hour; two devices for half an hour each.
    let rate = HardwareRate::amortised(Usd::whole(8_760), 8_760.0).unwrap();
    let time = Duration::from_secs(1_800) * 2;
    let overhead = Overhead::facility(1.5).unwrap();
    let cost = electricity_cost([(KWH, usd_per_kwh(0.20))], overhead, Some((rate, time))).unwrap();
    assert!((cost.total.usd() - 1.30).abs() < 1e-12, "{}", cost.total);
    assert_eq!(&*cost.source, "electricity+hardware");
    assert_eq!(HardwareRate::amortised(Usd::whole(1), 0.0), None);
    assert_eq!(HardwareRate::per_hour(Usd::new(-1.0).unwrap()), None);
}

#[test]
fn a_tariff_is_a_price_source_that_says_until_when() {
    let source: &dyn PriceSource = &tariff();
    let price = source.electricity(&Place::default(), at(10 * HOUR)).unwrap();
    assert_eq!((price.value, price.valid_until), (usd_per_kwh(0.30), Some(at(15 * HOUR))));
    assert_eq!(source.tokens("openai", "gpt"), None);
}

#[test]
fn the_written_form_comes_back_the_same() {
    let json = serde_json::to_string(&tariff()).unwrap();
    assert!(json.contains(r#""utc_offset":"+02:00""#) && json.contains(r#""from":"22:00""#), "{json}");
    assert_eq!(serde_json::from_str::<Tariff>(&json).unwrap(), tariff());
    let fixed: Tariff = serde_json::from_str(r#"{"usd_per_kwh":0.25}"#).unwrap();
    assert_eq!(fixed, Tariff::fixed(usd_per_kwh(0.25)));
    let error = serde_json::from_str::<Tariff>(r#"{"usd_per_kwh":0.25,"utc_offset":"CET"}"#).unwrap_err();
    assert!(error.to_string().contains("write it as +01:00"), "{error}");
}

#[test]
fn times_and_offsets_that_cannot_be_are_refused() {
    for bad in ["", "6:30", "24:01", "12:60", "ab:cd", "+1:00", "12:3é"] {
        assert!(bad.parse::<LocalTime>().is_err(), "{bad}");
    }
    for bad in ["", "1", "+25:00", "+01:60", "é", "01:00", "+-1:00"] {
        assert!(bad.parse::<UtcOffset>().is_err(), "{bad}");
    }
    assert_eq!("24:00".parse::<LocalTime>().unwrap().to_string(), "24:00");
    assert_eq!("-05:30".parse::<UtcOffset>().unwrap().to_string(), "-05:30");
}

proptest! {
    #[test]
    fn parts_of_a_spread_add_up(millijoules in 0_i64..1_000_000_000_000, from in 0_u64..200_000, length in 0_u64..500_000) {
        let energy = Joules::from_millijoules(millijoules);
        let parts = tariff().spread(energy, at(from), at(from + length));
        prop_assert_eq!(parts.iter().map(|(part, _)| *part).sum::<Joules>(), energy);
        prop_assert!(parts.iter().all(|(part, _)| !part.is_negative()));
    }

    #[test]
    fn the_price_holds_until_the_next_change(second in 0_u64..400_000, part in 0.0_f64..1.0) {
        let tariff = tariff();
        let change = tariff.next_change(at(second)).unwrap();
        prop_assert!(change > at(second));
        let between = at(second) + change.duration_since(at(second)).unwrap().mul_f64(part * 0.999_999);
        prop_assert_eq!(tariff.price_at(between), tariff.price_at(at(second)));
    }
}
