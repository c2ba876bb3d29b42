//! The two functions that libnvidia-ml does not have.

use super::*;

/// Carries out control lines. Returns 0, or the number of the first line that was wrong, from 1 on; -1 if the text is
/// not UTF-8. `fake_nvml_query("error")` tells what was wrong.
#[unsafe(no_mangle)]
unsafe extern "C" fn fake_nvml_ctl(lines: *const c_char) -> c_int {
    // SAFETY: the caller passes null or text with a NUL.
    let Some(lines) = (unsafe { text(lines) }) else { return -1 };
    driver().control(lines).err().unwrap_or(0) as c_int
}

/// Answers a question. Returns the length of the answer, whose beginning is written with a NUL as far as it fits; or
/// -1, and the answer is what is wrong.
#[unsafe(no_mangle)]
unsafe extern "C" fn fake_nvml_query(question: *const c_char, out: *mut c_char, length: usize) -> isize {
    // SAFETY: the caller passes null or text with a NUL.
    let question = unsafe { text(question) }.unwrap_or_default();
    let answer = driver().query(question);
    let right = answer.is_ok();
    let answer = answer.unwrap_or_else(|wrong| wrong);
    if !out.is_null() && length > 0 {
        let fits = answer.len().min(length - 1);
        // SAFETY: not null, and the caller promises `length` bytes.
        unsafe {
            std::ptr::copy_nonoverlapping(answer.as_ptr().cast(), out, fits);
            out.add(fits).write(0);
        }
    }
    if right { answer.len() as isize } else { -1 }
}
