//! Text that others wrote: made harmless for each format, and still readable.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Makes visible what would hide or reorder text: control characters, marks of the writing direction, zero-width spaces.
/// Line breaks and tabs stay.
pub(crate) fn clean(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for char in text.chars() {
        match char {
            // The block "Control Pictures" has a picture of each of the first 32 and of DEL.
            '\0'..='\u{1f}' if is_hidden(char) => out.extend(char::from_u32(0x2400 + char as u32)),
            '\u{7f}' => out.push('\u{2421}'),
            _ if is_hidden(char) => {
                // Writing to a string does not fail.
                let _ = write!(out, "⟨U+{:04X}⟩", char as u32);
            }
            _ => out.push(char),
        }
    }
    Cow::Owned(out)
}

fn is_hidden(char: char) -> bool {
    match char {
        '\n' | '\t' => false,
        // Of writing direction; zero-width spaces; line and paragraph separators; interlinear marks; tags, which are
        // letters that nobody sees.
        '\u{61c}'
        | '\u{200b}'
        | '\u{200e}'
        | '\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{feff}'
        | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e007f}' => true,
        _ => char.is_control(),
    }
}

/// The first so many characters, with a mark where something is left out.
pub(crate) fn shorten(text: &str, most: usize) -> Cow<'_, str> {
    match text.char_indices().nth(most) {
        None => Cow::Borrowed(text),
        Some((end, _)) => Cow::Owned(format!("{}…", &text[..end])),
    }
}

/// On one line.
pub(crate) fn line(text: &str) -> String {
    clean(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// For a cell or a sentence of Markdown: what would be markup is escaped.
pub(crate) fn markdown(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for char in line_keeping_spaces(text).chars() {
        if "\\`*_[]<>|~&#!$".contains(char) {
            out.push('\\');
        }
        out.push(char);
    }
    out
}

fn line_keeping_spaces(text: &str) -> String {
    clean(text).replace(['\n', '\t'], " ")
}

/// A cell of CSV (RFC 4180). Text that a spreadsheet would take for a formula has an apostrophe before it.
pub(crate) fn csv(text: &str) -> String {
    let text = clean(text);
    let guard = if text.starts_with(['=', '+', '-', '@', '\t']) { "'" } else { "" };
    if text.contains(['"', ',', '\n', ';']) {
        format!("\"{guard}{}\"", text.replace('"', "\"\""))
    } else {
        format!("{guard}{text}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_hides_is_seen() {
        assert_eq!(clean("a\0b\u{1b}[31m\u{7f}"), "a␀b␛[31m␡");
        assert_eq!(clean("x\u{202e}y\u{2066}z\u{200b}"), "x⟨U+202E⟩y⟨U+2066⟩z⟨U+200B⟩");
        assert_eq!(clean("\u{85}\u{e0041}"), "⟨U+0085⟩⟨U+E0041⟩");
        // Emoji and scripts that join letters need theirs.
        assert!(matches!(clean("👩‍💻 می‌خواهم\n\tמה"), Cow::Borrowed(_)));
    }

    #[test]
    fn markdown_stays_text() {
        assert_eq!(markdown("a|b\n<script>*x*[y](z)"), r"a\|b \<script\>\*x\*\[y\](z)");
    }

    #[test]
    fn csv_stays_one_cell_and_no_formula() {
        assert_eq!(csv("a,\"b\"\nc"), "\"a,\"\"b\"\"\nc\"");
        assert_eq!(csv("=1+1"), "'=1+1");
        assert_eq!(csv("@SUM(A1,2)"), "\"'@SUM(A1,2)\"");
        assert_eq!(csv("plain"), "plain");
    }

    #[test]
    fn a_long_text_is_cut_between_characters() {
        assert_eq!(shorten("äöü", 2), "äö…");
        assert_eq!(shorten("äöü", 3), "äöü");
    }
}
