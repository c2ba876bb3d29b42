//! `gpu_metrics`: every layout by its own offsets, and bytes that no driver would write.

use proptest::prelude::*;

use super::*;
use crate::{EnergyTick, GpuMetrics, MetricsError, PowerField, gpu_metrics};

/// Sets one field and reads it back.
#[track_caller]
fn reads<T: PartialEq + std::fmt::Debug>(
    (revision, size): (&str, u16),
    (field, raw): (&str, u64),
    get: impl Fn(&GpuMetrics) -> Option<T>,
    right: T,
) {
    if place(revision, size, field).is_some() {
        let got = gpu_metrics(&table(revision, size, &[(field, raw)])).unwrap();
        assert_eq!(get(&got), Some(right), "{field} of {revision} ({size} bytes)");
    }
}

#[test]
fn every_field_is_read_where_the_header_has_it() {
    let layouts = layouts();
    assert_eq!(layouts.len(), 16);
    for layout in layouts {
        for field in ["average_socket_power", "current_socket_power"] {
            reads(layout, (field, 94), |table| table.socket_power, Watts::whole(94));
        }
        reads(
            layout,
            ("socket_power_mw", 28_123),
            |table| table.socket_power,
            Watts::from_milliwatts(28_123),
        );
        reads(layout, ("gfx_power_mw", 11_500), |table| table.graphics_power, Watts::from_milliwatts(11_500));
        reads(layout, ("unscaled_socket_power", 18), |table| table.unscaled_socket_power, 18);
        reads(layout, ("energy_accumulator", 8_152_136), |table| table.energy, 8_152_136);
        reads(layout, ("system_clock_counter", 3_824_190), |table| table.system_clock, 3_824_190);
        reads(layout, ("firmware_timestamp", 77), |table| table.firmware_clock, 77);
        reads(layout, ("temperature_hotspot", 84), |table| table.temperature, Celsius::whole(84));
        reads(layout, ("temperature_mem", 76), |table| table.memory_temperature, Celsius::whole(76));
        let centi = Celsius::new(5_525.0 * 0.01).unwrap();
        reads(layout, ("temperature_gfx_centi", 5_525), |table| table.temperature, centi);
        reads(layout, ("average_gfx_activity", 99), |table| table.activity, Ratio::percent(99.0).unwrap());
        reads(layout, ("gfx_activity_centi", 5_000), |table| table.activity, Ratio::percent(50.0).unwrap());
    }
}

#[test]
fn what_the_driver_fills_with_ones_is_absent() {
    for (revision, size) in layouts() {
        let got = gpu_metrics(&table(revision, size, &[])).unwrap();
        assert_eq!(got.socket_power, None);
        assert_eq!(got.unscaled_socket_power, None);
        assert_eq!(got.graphics_power, None);
        assert_eq!(got.energy, None);
        assert_eq!(got.system_clock, None);
        assert_eq!(got.firmware_clock, None);
        assert_eq!(got.temperature, None);
        assert_eq!(got.memory_temperature, None);
        assert_eq!(got.activity, None);
    }
}

#[test]
fn one_revision_of_two_sizes_is_two_layouts() {
    let early = gpu_metrics(&table("1.6", 384, &[("energy_accumulator", 5)])).unwrap();
    let late = gpu_metrics(&table("1.6", 1664, &[("energy_accumulator", 5)])).unwrap();
    assert_eq!((early.energy, late.energy), (Some(5), Some(5)));
    let mut other = table("1.6", 384, &[]);
    other[..2].copy_from_slice(&400_u16.to_le_bytes());
    other.resize(400, 0);
    assert_eq!(gpu_metrics(&other), Err(MetricsError::Unknown { format: 1, content: 6, size: 400 }));
}

#[test]
fn the_tick_is_known_from_revision_1_4_on() {
    for (revision, size) in layouts() {
        let got = gpu_metrics(&table(revision, size, &[])).unwrap();
        let right = match revision {
            "1.0" => EnergyTick::UnstatedNarrow,
            "1.1" | "1.2" | "1.3" => EnergyTick::Unstated,
            _ if revision.starts_with("1.") => EnergyTick::Known,
            _ => EnergyTick::None,
        };
        assert_eq!(got.energy_tick, right, "{revision}");
        let current = right == EnergyTick::Known;
        assert_eq!(got.power_field == PowerField::Current, current, "{revision}");
    }
}

#[test]
fn a_short_read_is_said_and_trailing_bytes_do_no_harm() {
    let whole = table("1.3", 120, &[("average_socket_power", 94)]);
    assert_eq!(gpu_metrics(&whole[..119]), Err(MetricsError::Short { got: 119, stated: 120 }));
    assert_eq!(gpu_metrics(&whole[..3]), Err(MetricsError::Short { got: 3, stated: 4 }));
    assert_eq!(gpu_metrics(&[]), Err(MetricsError::Short { got: 0, stated: 4 }));
    let mut page = whole.clone();
    page.resize(4_096, 0);
    assert_eq!(gpu_metrics(&page), gpu_metrics(&whole));
}

/// What a board or chip can have, from outside the parser.
fn physical(table: &GpuMetrics) -> bool {
    let watts = [table.socket_power, table.graphics_power];
    let degrees = [table.temperature, table.memory_temperature];
    watts.iter().flatten().all(|power| power.watts() > 0.0 && power.watts() < 10_000.0)
        && degrees.iter().flatten().all(|celsius| celsius.celsius() > -50.0 && celsius.celsius() < 200.0)
        && table.activity.is_none_or(|busy| (0.0..=1.0).contains(&busy.ratio()))
}

proptest! {
    #[test]
    fn random_bytes_never_panic_and_never_give_the_impossible(bytes in prop::collection::vec(any::<u8>(), 0..4_096)) {
        if let Ok(table) = gpu_metrics(&bytes) {
            prop_assert!(physical(&table), "{table:?}");
        }
    }

    #[test]
    fn random_fields_behind_a_right_header_never_give_the_impossible(
        layout in prop::sample::select(layouts()),
        body in prop::collection::vec(any::<u8>(), 3_872),
        length in 0_usize..4_000,
    ) {
        let (revision, size) = layout;
        let mut bytes = table(revision, size, &[]);
        bytes[4..].copy_from_slice(&body[4..usize::from(size)]);
        bytes.truncate(length);
        let got = gpu_metrics(&bytes);
        prop_assert_eq!(got.is_ok(), length >= usize::from(size));
        if let Ok(table) = got {
            prop_assert!(physical(&table), "{table:?}");
        }
    }

    #[test]
    fn random_text_never_panics_the_text_parsers(text in "\\PC{0,200}") {
        // Nothing that is not amdgpu's may be taken for a client.
        if crate::drm_client(&text).is_some() {
            prop_assert!(text.contains("amdgpu"));
        }
        if crate::kfd_node(&text).is_some() {
            prop_assert!(text.contains("location_id"));
        }
    }
}
