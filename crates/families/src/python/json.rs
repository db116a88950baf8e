//! `json.dumps`.

use super::{Node, float};

/// The keyword arguments of `json.dumps` that templates use.
#[derive(Clone, Debug)]
pub(crate) struct Style {
    /// Escape everything beyond printable ASCII. Hugging Face's `tojson` has it off.
    pub(crate) ensure_ascii: bool,
    /// Spaces a level, on lines of their own.
    pub(crate) indent: Option<usize>,
    /// Between items.
    pub(crate) item_separator: String,
    /// After keys.
    pub(crate) key_separator: String,
    /// Keys in order of code points instead of insertion.
    pub(crate) sort_keys: bool,
    /// Characters that are left as they are even where others are escaped.
    pub(crate) transparent: &'static [char],
}

impl Default for Style {
    fn default() -> Self {
        Self {
            ensure_ascii: false,
            indent: None,
            item_separator: ", ".to_owned(),
            key_separator: ": ".to_owned(),
            sort_keys: false,
            transparent: &[],
        }
    }
}

/// Writes a document.
pub(crate) fn dumps(node: &Node, style: &Style, out: &mut String) {
    write(node, style, 0, out);
}

fn write(node: &Node, style: &Style, depth: usize, out: &mut String) {
    match node {
        Node::Null => out.push_str("null"),
        Node::Bool(flag) => out.push_str(if *flag { "true" } else { "false" }),
        Node::Int(digits) => out.push_str(digits),
        Node::Float(value) => out.push_str(&float(*value)),
        Node::Text(text) => string(text, style, out),
        Node::List(list) if list.is_empty() => out.push_str("[]"),
        Node::Map(map) if map.is_empty() => out.push_str("{}"),
        Node::List(list) => {
            out.push('[');
            for (at, item) in list.iter().enumerate() {
                separate(at, style, depth, out);
                write(item, style, depth + 1, out);
            }
            line(style, depth, out);
            out.push(']');
        }
        Node::Map(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            if style.sort_keys {
                entries.sort_by(|(a, _), (b, _)| a.cmp(b));
            }
            out.push('{');
            for (at, (key, value)) in entries.into_iter().enumerate() {
                separate(at, style, depth, out);
                string(key, style, out);
                out.push_str(&style.key_separator);
                write(value, style, depth + 1, out);
            }
            line(style, depth, out);
            out.push('}');
        }
    }
}

fn separate(at: usize, style: &Style, depth: usize, out: &mut String) {
    if at > 0 {
        out.push_str(&style.item_separator);
    }
    line(style, depth + 1, out);
}

fn line(style: &Style, depth: usize, out: &mut String) {
    if let Some(width) = style.indent {
        out.push('\n');
        out.extend(std::iter::repeat_n(' ', width * depth));
    }
}

fn string(text: &str, style: &Style, out: &mut String) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            other if style.transparent.contains(&other) => out.push(other),
            other if other < ' ' || (style.ensure_ascii && other > '~') => {
                for unit in other.encode_utf16(&mut [0; 2]) {
                    out.push_str(&format!("\\u{unit:04x}"));
                }
            }
            other => out.push(other),
        }
    }
    out.push('"');
}
