//! The shapes that most exports have.

/// Exports of the form `(device, *mut value)`.
macro_rules! device_values {
    ($($name:ident: $type:ty = |$view:ident| $answer:expr;)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(device: Handle, out: *mut $type) -> Code {
            let answer = on_device(stringify!($name), device, |$view| $answer);
            // SAFETY: NVML's contract: the caller passes null or a place for the value.
            unsafe { put(out, answer) }
        }
    )*};
}

/// Exports of the form `(device, *mut first, *mut second)`.
macro_rules! device_pairs {
    ($($name:ident: ($first:ty, $second:ty) = |$view:ident| $answer:expr;)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(device: Handle, first: *mut $first, second: *mut $second) -> Code {
            let answer = on_device(stringify!($name), device, |$view| $answer);
            // SAFETY: NVML's contract: the caller passes null or places for the values.
            unsafe { put_two(first, second, answer) }
        }
    )*};
}

/// Exports of the form `(device, kind, *mut value)`.
macro_rules! device_values_by_kind {
    ($($name:ident: $type:ty = |$view:ident, $kind:ident| $answer:expr;)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(device: Handle, $kind: c_uint, out: *mut $type) -> Code {
            let answer = on_device(stringify!($name), device, |$view| $answer);
            // SAFETY: NVML's contract: the caller passes null or a place for the value.
            unsafe { put(out, answer) }
        }
    )*};
}

/// Exports of the form `(device, *mut char, length)`.
macro_rules! device_texts {
    ($($name:ident = |$view:ident| $answer:expr;)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(device: Handle, out: *mut c_char, length: c_uint) -> Code {
            let answer = on_device(stringify!($name), device, |$view| $answer);
            // SAFETY: NVML's contract: the caller passes null or `length` bytes.
            unsafe { put_text(out, length, answer) }
        }
    )*};
}
