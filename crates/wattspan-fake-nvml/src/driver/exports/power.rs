//! Power, energy, limits and field values.

use super::*;

fn reading(view: &View<'_>, reading: PowerReading) -> Result<c_uint, Code> {
    let milliwatts = view.board()?.power.reading_mw_at(reading, view.now).ok_or(NOT_SUPPORTED)?;
    Ok(milliwatts as c_uint)
}

fn total_energy(view: &View<'_>) -> Result<c_ulonglong, Code> {
    let power = &view.board()?.power;
    if power.counter_supported() { Ok(power.counter_mj_at(view.now)) } else { Err(NOT_SUPPORTED) }
}

device_values! {
    nvmlDeviceGetPowerUsage: c_uint = |view| reading(view, PowerReading::Usage);
    nvmlDeviceGetTotalEnergyConsumption: c_ulonglong = |view| total_energy(view);
    nvmlDeviceGetPowerManagementMode: c_uint = |view| view.board().map(|_| 1);
    nvmlDeviceGetPowerManagementLimit: c_uint = |view| Ok(view.board()?.limit.current);
    nvmlDeviceGetPowerManagementDefaultLimit: c_uint = |view| Ok(view.board()?.limit.default);
    nvmlDeviceGetEnforcedPowerLimit: c_uint = |view| Ok(view.board()?.limit.enforced);
}

device_pairs! {
    nvmlDeviceGetPowerManagementLimitConstraints: (c_uint, c_uint) = |view| {
        let limit = view.board()?.limit;
        Ok((limit.min, limit.max))
    };
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetFieldValues(device: Handle, count: c_int, values: *mut FieldValue) -> Code {
    let Ok(count) = usize::try_from(count) else { return INVALID_ARGUMENT };
    if values.is_null() || count == 0 {
        return INVALID_ARGUMENT;
    }
    // SAFETY: NVML's contract: the caller passes `count` values, and nobody else uses them during the call.
    let values = unsafe { std::slice::from_raw_parts_mut(values, count) };
    code(on_device("nvmlDeviceGetFieldValues", device, |view| {
        for value in values {
            let answer = view
                .injected(&format!("field:{}", value.field_id))
                .and_then(|()| field(view, value.field_id, value.scope_id));
            value.timestamp = view.now as i64;
            value.latency_us = 0;
            (value.code, value.value_type, value.value) = match answer {
                Ok(Field::Small(number)) => (SUCCESS, TYPE_UNSIGNED, Value { unsigned: number }),
                Ok(Field::Large(number)) => {
                    (SUCCESS, TYPE_UNSIGNED_LONG_LONG, Value { unsigned_long_long: number })
                }
                Err(code) => (code, TYPE_UNSIGNED, Value { unsigned_long_long: 0 }),
            };
        }
        Ok(())
    }))
}

enum Field {
    Small(c_uint),
    Large(c_ulonglong),
}

/// One field. Field 191, `NVML_FI_DEV_ENERGY`, is left out: neither its unit nor its type is documented.
fn field(view: &View<'_>, id: c_uint, scope: c_uint) -> Result<Field, Code> {
    let board = view.board()?;
    let power = |kind: PowerReading| match scope {
        0 => reading(view, kind).map(Field::Small),
        1 if board.power.module_mw() > 0 => {
            reading(view, kind).map(|board_mw| Field::Small(board_mw + board.power.module_mw() as c_uint))
        }
        _ => Err(NOT_SUPPORTED),
    };
    match id {
        82 => board.memory_temperature.map(Field::Small).ok_or(NOT_SUPPORTED),
        83 => total_energy(view).map(Field::Large),
        94 => Ok(Field::Small(board.pcie.replays)),
        185 => power(PowerReading::Average),
        186 => power(PowerReading::Instant),
        187 => Ok(Field::Small(board.limit.min)),
        188 => Ok(Field::Small(board.limit.max)),
        189 => Ok(Field::Small(board.limit.default)),
        190 => Ok(Field::Small(board.limit.enforced)),
        192 => Ok(Field::Small(board.limit.current)),
        _ => Err(NOT_SUPPORTED),
    }
}
