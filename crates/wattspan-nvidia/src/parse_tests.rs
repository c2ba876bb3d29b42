//! Selections against a list of devices as a driver would give it.

use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use super::*;

const SLICE: &str = "MIG-3f2504e0-4f89-11d3-9a0c-0305e82c3301";

/// GPU 0 (with a MIG device), GPU 1, GPU 2.
fn list() -> Vec<Entry> {
    let gpu = |index: u32, uuid: &str| Entry {
        index: Some(index),
        uuid: Some(uuid.to_owned()),
        pci: Some(PciAddress { domain: 0, bus: 0x10 + index as u8, device: 0 }),
        ..Entry::default()
    };
    vec![
        gpu(0, "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6"),
        Entry { uuid: Some(SLICE.to_owned()), instance: Some((1, 0)), parent: Some(0), ..Entry::default() },
        gpu(1, "GPU-8a05b6e6-2f5b-4d1f-9f2e-6d6f0a1b2c3d"),
        gpu(2, "GPU-c0ffee00-0000-4000-8000-000000000002"),
    ]
}

/// What the variable makes visible: positions in [`list`], or the message.
fn visible(value: Option<&str>) -> Result<Vec<usize>, String> {
    let selection = Selection::cuda_visible_devices(value).map_err(|invalid| invalid.to_string())?;
    selection.resolve(&list()).map_err(|name| format!("no device {name}"))
}

#[track_caller]
fn check(value: &str, expected: &[usize]) {
    assert_eq!(visible(Some(value)), Ok(expected.to_vec()), "{value:?}");
}

#[test]
fn case_nvml_07_every_form_of_cuda_visible_devices() {
    // The slice comes with its GPU, whose power its own is a part of.
    check(SLICE, &[0, 1]);
    check("GPU-8a05b6e6-2f5b-4d1f-9f2e-6d6f0a1b2c3d", &[2]);
    check("MIG-GPU-8932f937-d72c-4106-c12f-20bd9faed9f6/1/0", &[0, 1]);
    check("", &[]);
    check("-1", &[]);
    check("0,2", &[0, 1, 3]);
    let unknown = visible(Some("GPU-00000000-0000-0000-0000-000000000000"));
    assert_eq!(unknown, Err("no device GPU-00000000-0000-0000-0000-000000000000".to_owned()));
    let unknown = visible(Some("MIG-GPU-8932f937-d72c-4106-c12f-20bd9faed9f6/9/0"));
    assert_eq!(unknown, Err("no device MIG-GPU-8932f937-d72c-4106-c12f-20bd9faed9f6/9/0".to_owned()));
}

#[test]
fn case_config_02_empty_is_none_and_unset_is_all() {
    assert_eq!(visible(None), Ok(vec![0, 1, 2, 3]));
    assert_eq!(Selection::cuda_visible_devices(Some("")), Ok(Selection::None));
    let names = |list: &[u32]| list.iter().map(|&index| DeviceName::Index(index)).collect::<Vec<_>>();
    assert_eq!(Selection::cuda_visible_devices(Some("1,3,5")), Ok(Selection::Cuda(names(&[1, 3, 5]))));
    assert_eq!(Selection::cuda_visible_devices(Some("1, 3")), Ok(Selection::Cuda(names(&[1, 3]))));
    assert_eq!("[1,3]".parse(), Ok(Selection::indices([1, 3])));
    let error = Selection::cuda_visible_devices(Some("x")).unwrap_err();
    assert!(error.to_string().contains("\"x\""), "{error}");
}

#[test]
fn list_for_cuda_ends_where_cuda_ends_it() {
    check("1,-1,0", &[2]);
    check("2,7,0", &[3]);
    check("1,1", &[2]);
    check("NoDevFiles", &[]);
    assert_eq!(visible(Some("7")), Err("no device 7".to_owned()));
}

#[test]
fn beginning_of_a_uuid_must_fit_one_device_only() {
    check("GPU-8932", &[0, 1]);
    check("gpu-C0FFEE", &[3]);
    assert!(visible(Some("GPU-8")).is_err());
    check("MIG-3f25", &[0, 1]);
}

#[test]
fn explicit_selection_must_be_there_as_a_whole() {
    let resolve = |text: &str| text.parse::<Selection>().unwrap().resolve(&list());
    assert_eq!(resolve("0000:12:00.0, 1"), Ok(vec![2, 3]));
    assert_eq!(resolve("00000000:11:00.0"), Ok(vec![2]));
    assert_eq!(resolve("11:00"), Ok(vec![2]));
    assert_eq!(resolve("0,7"), Err(DeviceName::Index(7)));
    assert_eq!(resolve("none"), Ok(vec![]));
    assert_eq!(resolve("all"), Ok(vec![0, 1, 2, 3]));
    // CUDA knows no PCI addresses.
    assert!(visible(Some("0000:12:00.0")).is_err());
}

#[test]
fn what_a_name_shows_can_be_read_again() {
    for word in ["3", SLICE, "GPU-8932f937", "MIG-GPU-8932f937/1/0", "0000:65:1f.0"] {
        let name: DeviceName = word.parse().unwrap();
        assert_eq!(name.to_string(), word);
    }
}

#[test]
fn broken_names_are_refused_with_the_word() {
    for word in
        ["GPU-", "MIG-GPU-1/2", "MIG-GPU-1/2/3/4", "GPU-xyz", "1.5", "99999999999", "0000:zz:00.0", "+1"]
    {
        assert_eq!(word.parse::<DeviceName>(), Err(InvalidSelection { word: word.to_owned() }));
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        rng_seed: RngSeed::Fixed(0x5EED),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn no_text_makes_the_parser_panic_and_errors_name_a_part_of_it(value in "\\PC*") {
        match visible(Some(&value)) {
            Ok(found) => prop_assert!(found.windows(2).all(|pair| pair[0] < pair[1])),
            Err(message) => prop_assert!(message.contains("device"), "{}", message),
        }
    }

    #[test]
    fn numbers_make_visible_what_they_name_up_to_the_first_that_is_not_there(
        numbers in prop::collection::vec(-2_i64..6, 1..6),
    ) {
        let value = numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
        // CUDA's rule, told anew: stop at the first number that is no device of a list of three.
        let seen: Vec<i64> = numbers.iter().copied().take_while(|number| (0..3).contains(number)).collect();
        let expected: Vec<usize> = (0..4)
            .filter(|at| match at {
                0 | 1 => seen.contains(&0),
                2 => seen.contains(&1),
                _ => seen.contains(&2),
            })
            .collect();
        match visible(Some(&value)) {
            Ok(found) => prop_assert_eq!(found, expected),
            // A first number that is too large is said, not passed over; a negative one means none.
            Err(_) => prop_assert!(numbers[0] >= 3),
        }
    }

    #[test]
    fn addresses_survive_both_spellings(domain in 0_u32..0x1_0000, bus: u8, device in 0_u8..32) {
        let address = PciAddress { domain, bus, device };
        prop_assert_eq!(address.to_string().parse(), Ok(address));
        let nvml = format!("{domain:08X}:{bus:02X}:{device:02X}.0");
        prop_assert_eq!(nvml.parse(), Ok(address));
    }
}
