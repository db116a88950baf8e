//! `str()` and `repr()` of values that a template prints.

use super::{Node, float};

/// What `{{ value }}` prints: a string as it is, everything else as [`repr`].
pub(crate) fn display(node: &Node, out: &mut String) {
    match node {
        Node::Text(text) => out.push_str(text),
        other => repr(other, out),
    }
}

/// What `repr(value)` gives.
pub(crate) fn repr(node: &Node, out: &mut String) {
    match node {
        Node::Null => out.push_str("None"),
        Node::Bool(flag) => out.push_str(if *flag { "True" } else { "False" }),
        Node::Int(digits) => out.push_str(digits),
        Node::Float(value) if value.is_finite() => out.push_str(&float(*value)),
        Node::Float(value) if value.is_nan() => out.push_str("nan"),
        Node::Float(value) => out.push_str(if *value > 0.0 { "inf" } else { "-inf" }),
        Node::Text(text) => string(text, out),
        Node::List(list) => {
            out.push('[');
            for (at, item) in list.iter().enumerate() {
                out.push_str(if at > 0 { ", " } else { "" });
                repr(item, out);
            }
            out.push(']');
        }
        Node::Map(map) => {
            out.push('{');
            for (at, (key, value)) in map.iter().enumerate() {
                out.push_str(if at > 0 { ", " } else { "" });
                string(key, out);
                out.push_str(": ");
                repr(value, out);
            }
            out.push('}');
        }
    }
}

fn string(text: &str, out: &mut String) {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    out.push(quote);
    for character in text.chars() {
        let code = u32::from(character);
        match character {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            same if same == quote => out.extend(['\\', same]),
            shown if is_printable(shown) => out.push(shown),
            _ if code < 0x100 => out.push_str(&format!("\\x{code:02x}")),
            _ if code < 0x1_0000 => out.push_str(&format!("\\u{code:04x}")),
            _ => out.push_str(&format!("\\U{code:08x}")),
        }
    }
    out.push(quote);
}

/// Python's `str.isprintable` for one character, but for unassigned code points, which it would
/// take a table of Unicode to know. Private use prints here (our own marks pass through it).
fn is_printable(character: char) -> bool {
    let separator = character.is_whitespace() && character != ' ';
    let format = matches!(u32::from(character),
        0xad | 0x600..=0x605 | 0x61c | 0x6dd | 0x70f | 0x180e | 0x200b..=0x200f | 0x202a..=0x202e
        | 0x2060..=0x206f | 0xfeff | 0xfff9..=0xfffb | 0xe0001..=0xe007f);
    !character.is_control() && !separator && !format
}
