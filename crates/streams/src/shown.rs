//! Messages: foreign text in one line, harmless on a terminal and of bounded length; the system's errors in words.

use std::fmt::Write as _;
use std::io;

/// Characters that a message repeats of a text.
const LONGEST: usize = 400;

/// What the system refused in words that everybody knows, with what to try.
pub(crate) fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "the disk is full: free some space, or choose another place".to_owned()
        }
        _ => error.to_string(),
    }
}

/// The text with an escape for whatever could act on a terminal or end a line, and no longer than it takes to be recognised.
///
/// The same characters as in `trialwise.visible`: controls, bidirectional marks, line ends, byte-order marks and tags.
pub(crate) fn shown(text: &str) -> String {
    let mut shown = String::new();
    for (place, character) in text.chars().enumerate() {
        if place == LONGEST {
            shown.push('…');
            break;
        }
        if acts(character) {
            // Writing to a string cannot fail.
            let _ = match u32::from(character) {
                code @ 0..0x100 => write!(shown, "\\x{code:02x}"),
                code @ 0x100..0x1_0000 => write!(shown, "\\u{code:04x}"),
                code => write!(shown, "\\U{code:08x}"),
            };
        } else {
            shown.push(character);
        }
    }
    shown
}

const fn acts(character: char) -> bool {
    matches!(
        character,
        '\0'..='\x1f' | '\x7f'..='\u{9f}'
            | '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
            | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_acts_is_an_escape_and_the_rest_stays() {
        assert_eq!(shown("a\nb\x1b[31m\u{9b}\u{202e}ü\u{e0041}"), "a\\x0ab\\x1b[31m\\x9b\\u202eü\\U000e0041");
        assert_eq!(shown(&"x".repeat(1000)), "x".repeat(LONGEST) + "…");
    }
}
