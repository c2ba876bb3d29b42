//! Which GPUs a process may use, by `ROCR_VISIBLE_DEVICES` and `HIP_VISIBLE_DEVICES`. Pure: must not read the
//! environment.
//!
//! **Source** ROCm documentation, "GPU isolation techniques": the ROCr variable takes indices and `GPU-` UUIDs and
//! renumbers what is left; the HIP variable then picks from those by their new index. Both stop at the first entry that
//! names no GPU, and a variable that is set and empty shows none.

/// Indices of the GPUs that are visible, in the order in which the process sees them.
///
/// `uuids` are those of all GPUs in the order of the ROCm runtime, `None` where a GPU has none.
///
/// ```
/// use wattspan_amd::visible_devices;
///
/// let gpus = [Some("GPU-00000000000000aa"), Some("GPU-00000000000000bb"), None];
/// assert_eq!(visible_devices(None, None, &gpus), [0, 1, 2]);
/// assert_eq!(visible_devices(Some("2,GPU-00000000000000BB"), None, &gpus), [2, 1]);
/// assert_eq!(visible_devices(Some("2,1"), Some("1"), &gpus), [1]);
/// assert_eq!(visible_devices(Some("0,9,1"), None, &gpus), [0]);
/// ```
pub fn visible_devices(rocr: Option<&str>, hip: Option<&str>, uuids: &[Option<&str>]) -> Vec<usize> {
    let all: Vec<usize> = (0..uuids.len()).collect();
    let runtime = pick(rocr, &all, uuids);
    pick(hip, &runtime, uuids)
}

fn pick(list: Option<&str>, from: &[usize], uuids: &[Option<&str>]) -> Vec<usize> {
    let Some(list) = list else {
        return from.to_vec();
    };
    let mut picked = Vec::new();
    for entry in list.split(',').map(str::trim) {
        let found = match entry.parse::<usize>() {
            Ok(index) => from.get(index).copied(),
            // Partitions of one GPU share its UUID; each mention takes the next one.
            Err(_) => from.iter().copied().find(|gpu| {
                !picked.contains(gpu) && uuids[*gpu].is_some_and(|uuid| uuid.eq_ignore_ascii_case(entry))
            }),
        };
        match found {
            Some(gpu) if !picked.contains(&gpu) => picked.push(gpu),
            // A GPU named twice is a mistake of the user's that the runtime also ends the list at.
            _ => break,
        }
    }
    picked
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn set_and_empty_shows_none() {
        assert_eq!(visible_devices(Some(""), None, &[None, None]), [0_usize; 0]);
        assert_eq!(visible_devices(None, Some("-1"), &[None, None]), [0_usize; 0]);
    }

    #[test]
    fn the_second_variable_counts_what_the_first_left() {
        assert_eq!(visible_devices(Some("3,1,0"), Some("2,0"), &[None; 4]), [0, 3]);
    }
}
