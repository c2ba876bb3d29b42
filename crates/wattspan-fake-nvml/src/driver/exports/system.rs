//! Initialisation, versions and enumeration.

use super::*;

fn init(function: &'static str) -> Code {
    code(timed(function, |driver| {
        let now = driver.sync();
        if driver.script_broken {
            return Err(UNKNOWN);
        }
        answered(injected(&mut driver.errors, function, now))?;
        driver.initialised += 1;
        driver.enumerate();
        Ok(())
    }))
}

#[unsafe(no_mangle)]
extern "C" fn nvmlInit_v2() -> Code {
    init("nvmlInit_v2")
}

#[unsafe(no_mangle)]
extern "C" fn nvmlInitWithFlags(_flags: c_uint) -> Code {
    init("nvmlInitWithFlags")
}

#[unsafe(no_mangle)]
extern "C" fn nvmlShutdown() -> Code {
    code(on_system("nvmlShutdown", |driver, _| {
        driver.initialised -= 1;
        Ok(())
    }))
}

#[unsafe(no_mangle)]
extern "C" fn nvmlErrorString(result: Code) -> *const c_char {
    describe(result).as_ptr()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlSystemGetDriverVersion(out: *mut c_char, length: c_uint) -> Code {
    let answer = on_system("nvmlSystemGetDriverVersion", |driver, _| Ok(driver.version.clone()));
    // SAFETY: NVML's contract: the caller passes null or `length` bytes.
    unsafe { put_text(out, length, answer) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlSystemGetNVMLVersion(out: *mut c_char, length: c_uint) -> Code {
    let answer = on_system("nvmlSystemGetNVMLVersion", |driver, _| Ok(driver.nvml_version.clone()));
    // SAFETY: NVML's contract: the caller passes null or `length` bytes.
    unsafe { put_text(out, length, answer) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlSystemGetCudaDriverVersion(out: *mut c_int) -> Code {
    let answer = on_system("nvmlSystemGetCudaDriverVersion", |driver, _| Ok(driver.cuda_version));
    // SAFETY: NVML's contract: the caller passes null or a place for the value.
    unsafe { put(out, answer) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlSystemGetCudaDriverVersion_v2(out: *mut c_int) -> Code {
    let answer = on_system("nvmlSystemGetCudaDriverVersion_v2", |driver, _| Ok(driver.cuda_version));
    // SAFETY: NVML's contract: the caller passes null or a place for the value.
    unsafe { put(out, answer) }
}

// Enumeration.

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetCount_v2(out: *mut c_uint) -> Code {
    let answer = on_system("nvmlDeviceGetCount_v2", |driver, _| Ok(driver.visible.len() as c_uint));
    // SAFETY: NVML's contract: the caller passes null or a place for the value.
    unsafe { put(out, answer) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetHandleByIndex_v2(index: c_uint, out: *mut Handle) -> Code {
    let answer = on_system("nvmlDeviceGetHandleByIndex_v2", |driver, _| {
        let slot = *driver.visible.get(index as usize).ok_or(INVALID_ARGUMENT)?;
        driver.handle(slot)
    });
    // SAFETY: NVML's contract: the caller passes null or a place for the handle.
    unsafe { put(out, answer) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetHandleByUUID(uuid: *const c_char, out: *mut Handle) -> Code {
    // SAFETY: NVML's contract: the caller passes null or text with a NUL.
    let uuid = unsafe { text(uuid) };
    let answer = on_system("nvmlDeviceGetHandleByUUID", |driver, _| {
        let uuid = uuid.ok_or(INVALID_ARGUMENT)?;
        for &slot in &driver.visible {
            let mut slices = driver.devices[slot].slices().iter();
            if let Some(slice) = slices.find(|slice| slice.uuid == uuid) {
                driver.handle(slot)?;
                return Ok(encode(slot, driver.devices[slot].epoch, Some(slice.serial)));
            }
        }
        driver.find(NOT_FOUND, |device| device.uuid == uuid)
    });
    // SAFETY: NVML's contract: the caller passes null or a place for the handle.
    unsafe { put(out, answer) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetHandleByPciBusId_v2(bus_id: *const c_char, out: *mut Handle) -> Code {
    // SAFETY: NVML's contract: the caller passes null or text with a NUL.
    let bus_id = unsafe { text(bus_id) };
    let answer = on_system("nvmlDeviceGetHandleByPciBusId_v2", |driver, _| {
        let pci = bus_id.and_then(Pci::parse).ok_or(INVALID_ARGUMENT)?;
        driver.find(NOT_FOUND, |device| device.pci.bus_id() == pci.bus_id())
    });
    // SAFETY: NVML's contract: the caller passes null or a place for the handle.
    unsafe { put(out, answer) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetHandleBySerial(serial: *const c_char, out: *mut Handle) -> Code {
    // SAFETY: NVML's contract: the caller passes null or text with a NUL.
    let serial = unsafe { text(serial) };
    let answer = on_system("nvmlDeviceGetHandleBySerial", |driver, _| {
        let serial = serial.ok_or(INVALID_ARGUMENT)?;
        driver.find(NOT_FOUND, |device| device.serial.as_deref() == Some(serial))
    });
    // SAFETY: NVML's contract: the caller passes null or a place for the handle.
    unsafe { put(out, answer) }
}
