//! Takes symbols away from a shared library's image, as if it were an older release.

use std::ops::Range;

/// Why a symbol could not be taken away.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    NotElf,
    NoSymbol,
}

/// Renames a dynamic symbol, so that nothing finds it under its name any more.
///
/// The hash tables keep the old name's hash: the loader finds the entry, compares names, and goes on.
pub(crate) fn remove_symbol(image: &mut [u8], name: &str) -> Result<(), Refused> {
    let strings = dynamic_strings(image).ok_or(Refused::NotElf)?;
    let table = image.get_mut(strings).ok_or(Refused::NotElf)?;
    let wanted = [b"\0", name.as_bytes(), b"\0"].concat();
    let at = table.windows(wanted.len()).position(|window| window == wanted).ok_or(Refused::NoSymbol)?;
    table[at + 1] = b'X';
    Ok(())
}

/// Where `.dynstr` lies.
///
/// **Source** System V ABI, chapter 4, "ELF Header" and "Sections", with the 64-bit field sizes.
fn dynamic_strings(image: &[u8]) -> Option<Range<usize>> {
    const DYNAMIC_SYMBOLS: u32 = 11; // SHT_DYNSYM
    // Magic, ELFCLASS64, ELFDATA2LSB.
    if !image.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    let table = usize::try_from(u64_at(image, 0x28)?).ok()?;
    let entry_size = usize::from(u16_at(image, 0x3a)?);
    let count = usize::from(u16_at(image, 0x3c)?);
    let section = |index: usize| {
        let begin = table.checked_add(index.checked_mul(entry_size)?)?;
        image.get(begin..begin.checked_add(entry_size)?)
    };
    let symbols = (0..count).filter_map(section).find(|header| u32_at(header, 4) == Some(DYNAMIC_SYMBOLS))?;
    // The symbol table's link is its string table.
    let strings = section(u32_at(symbols, 0x28)? as usize)?;
    let begin = usize::try_from(u64_at(strings, 0x18)?).ok()?;
    let length = usize::try_from(u64_at(strings, 0x20)?).ok()?;
    Some(begin..begin.checked_add(length)?)
}

fn bytes<const N: usize>(image: &[u8], at: usize) -> Option<[u8; N]> {
    image.get(at..at.checked_add(N)?)?.try_into().ok()
}

fn u16_at(image: &[u8], at: usize) -> Option<u16> {
    bytes(image, at).map(u16::from_le_bytes)
}

fn u32_at(image: &[u8], at: usize) -> Option<u32> {
    bytes(image, at).map(u32::from_le_bytes)
}

fn u64_at(image: &[u8], at: usize) -> Option<u64> {
    bytes(image, at).map(u64::from_le_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The smallest image with a dynamic symbol table: header, strings at 64, two sections.
    fn image(strings: &[u8]) -> Vec<u8> {
        let table = 64 + strings.len();
        let mut image = vec![0_u8; 64];
        image[..6].copy_from_slice(b"\x7fELF\x02\x01");
        image[0x28..0x30].copy_from_slice(&(table as u64).to_le_bytes());
        image[0x3a..0x3c].copy_from_slice(&64_u16.to_le_bytes());
        image[0x3c..0x3e].copy_from_slice(&2_u16.to_le_bytes());
        image.extend_from_slice(strings);
        let mut symbols = [0_u8; 64];
        symbols[4] = 11;
        symbols[0x28] = 1;
        image.extend_from_slice(&symbols);
        let mut section = [0_u8; 64];
        section[0x18] = 64;
        section[0x20] = strings.len() as u8;
        image.extend_from_slice(&section);
        image
    }

    #[test]
    fn only_the_whole_name_is_changed() {
        let mut image = image(b"\0nvmlInit_v2\0nvmlInit\0xnvmlInit\0");
        assert_eq!(remove_symbol(&mut image, "nvmlInit"), Ok(()));
        assert_eq!(&image[64..96], b"\0nvmlInit_v2\0XvmlInit\0xnvmlInit\0");
        assert_eq!(remove_symbol(&mut image, "nvmlInit"), Err(Refused::NoSymbol));
    }

    #[test]
    fn other_files_are_refused() {
        assert_eq!(remove_symbol(&mut [], "nvmlInit"), Err(Refused::NotElf));
        assert_eq!(remove_symbol(&mut [0x7f, b'E', b'L', b'F', 1, 1], "nvmlInit"), Err(Refused::NotElf));
        let mut cut = image(b"\0nvmlInit\0");
        cut.truncate(100);
        assert_eq!(remove_symbol(&mut cut, "nvmlInit"), Err(Refused::NotElf));
    }
}
