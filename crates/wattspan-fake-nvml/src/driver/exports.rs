//! The exported functions of libnvidia-ml, and ours to control them.
//!
//! No export calls another one: such a call would go through the symbol table, and a copy of the library from which
//! that symbol was taken away could not be loaded.
#![allow(unsafe_code)] // This is the C edge of the crate.
#![allow(non_snake_case)] // The names are NVIDIA's.
#![allow(clippy::wildcard_imports)] // Each group of exports needs nearly all of this module's helpers and C types.

#[macro_use]
mod macros;
mod health;
mod identity;
mod mig;
mod ours;
mod power;
mod process;
mod system;

use std::ffi::{CStr, c_char, c_int, c_uint, c_ulonglong};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::abi::*;
use super::device::{Device, MemoryUse, Mig, Pci, Process, ProcessKind, answered, injected};
use super::{Driver, View, encode};
use crate::model::PowerReading;

static DRIVER: LazyLock<Mutex<Driver>> = LazyLock::new(|| Mutex::new(Driver::from_environment()));

fn driver() -> MutexGuard<'static, Driver> {
    DRIVER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes a call last as long as the script wants. The driver is not held meanwhile.
fn timed<T>(function: &'static str, call: impl FnOnce(&mut Driver) -> T) -> T {
    let mut driver = driver();
    let delay = driver.enter(function);
    let begin = if delay == Duration::ZERO { None } else { Some(Instant::now()) };
    let result = call(&mut driver);
    drop(driver);
    if let Some(begin) = begin {
        while begin.elapsed() < delay {
            std::hint::spin_loop();
        }
    }
    result
}

fn on_system<T>(
    function: &'static str,
    answer: impl FnOnce(&mut Driver, u64) -> Result<T, Code>,
) -> Result<T, Code> {
    timed(function, |driver| driver.system_call(function, answer))
}

fn on_device<T>(
    function: &'static str,
    handle: Handle,
    answer: impl FnOnce(&mut View<'_>) -> Result<T, Code>,
) -> Result<T, Code> {
    timed(function, |driver| driver.device_call(function, handle, answer))
}

fn code(result: Result<(), Code>) -> Code {
    result.err().unwrap_or(SUCCESS)
}

/// Writes an answer where the caller wants it.
///
/// # Safety
///
/// `out` is null or valid for a write.
unsafe fn put<T>(out: *mut T, answer: Result<T, Code>) -> Code {
    match answer {
        Err(code) => code,
        Ok(_) if out.is_null() => INVALID_ARGUMENT,
        Ok(value) => {
            // SAFETY: not null, and the caller promises that it can be written.
            unsafe { out.write(value) };
            SUCCESS
        }
    }
}

/// Writes two answers.
///
/// # Safety
///
/// Both are null or valid for a write.
unsafe fn put_two<A, B>(first: *mut A, second: *mut B, answer: Result<(A, B), Code>) -> Code {
    match answer {
        Err(code) => code,
        Ok(_) if first.is_null() || second.is_null() => INVALID_ARGUMENT,
        // SAFETY: neither is null, and the caller promises that they can be written.
        Ok((a, b)) => unsafe {
            first.write(a);
            second.write(b);
            SUCCESS
        },
    }
}

/// Writes text with its final NUL.
///
/// # Safety
///
/// `out` is null or valid for `length` bytes.
unsafe fn put_text(out: *mut c_char, length: c_uint, answer: Result<String, Code>) -> Code {
    let text = match answer {
        Ok(text) => text,
        Err(code) => return code,
    };
    if out.is_null() {
        return INVALID_ARGUMENT;
    }
    if text.len() >= length as usize {
        return INSUFFICIENT_SIZE;
    }
    // SAFETY: text and NUL fit into the `length` bytes that the caller promises.
    unsafe {
        std::ptr::copy_nonoverlapping(text.as_ptr().cast(), out, text.len());
        out.add(text.len()).write(0);
    }
    SUCCESS
}

/// Text that the caller gives.
///
/// # Safety
///
/// `text` is null or ends in a NUL.
unsafe fn text<'a>(text: *const c_char) -> Option<&'a str> {
    if text.is_null() {
        return None;
    }
    // SAFETY: not null, and the caller promises the NUL.
    unsafe { CStr::from_ptr(text) }.to_str().ok()
}

fn array<const N: usize>(text: &str) -> [c_char; N] {
    let mut array = [0; N];
    for (to, from) in array.iter_mut().zip(text.bytes().take(N - 1)) {
        *to = from as c_char;
    }
    array
}
