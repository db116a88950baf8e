//! Reports as text.

use std::fmt::Write as _;

use super::{Page, Part};

/// Columns of a terminal that nobody widened.
const WIDTH: usize = 80;
/// Columns of a field's name.
const NAME: usize = 30;
/// Columns of a line's mark.
const MARK: usize = 14;

impl Page {
    /// For a terminal.
    pub fn text(&self) -> String {
        let mut out = String::new();
        if !self.title.is_empty() {
            let _ = writeln!(out, "{}\n{}", self.title, "=".repeat(self.title.chars().count().min(WIDTH)));
        }
        for part in &self.parts {
            part.text(&mut out);
        }
        out
    }

    /// As Markdown.
    pub fn markdown(&self) -> String {
        let mut out = format!("# {}\n", self.title);
        for part in &self.parts {
            match part {
                Part::Heading(heading) => {
                    let _ = write!(out, "\n## {heading}\n");
                }
                Part::Fields(fields) => {
                    out.push_str("\n| Field | Value |\n|---|---|\n");
                    for (name, values) in fields {
                        let values: Vec<_> = values.iter().map(|value| cell(value)).collect();
                        let _ = writeln!(out, "| {} | {} |", cell(name), values.join("<br>"));
                    }
                }
                Part::Lines(lines) => {
                    out.push('\n');
                    for (mark, line) in lines {
                        let _ = writeln!(out, "- **{mark}** {line}");
                    }
                }
                Part::Diff(lines) => {
                    let _ = write!(out, "\n```diff\n{}\n```\n", lines.join("\n"));
                }
            }
        }
        out
    }
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

impl Part {
    fn text(&self, out: &mut String) {
        match self {
            Self::Heading(heading) => {
                out.push('\n');
                hang(out, "", 0, heading);
            }
            Self::Fields(fields) => {
                for (name, values) in fields {
                    let name = format!("{name}:");
                    for (at, value) in values.iter().enumerate() {
                        let label = if at == 0 { name.as_str() } else { "" };
                        // Of several values it is seen where each begins.
                        let (dash, indent) = if values.len() > 1 { ("- ", NAME + 2) } else { ("", NAME) };
                        hang(out, &format!("{label:NAME$}{dash}"), indent, value);
                    }
                }
            }
            Self::Lines(lines) => {
                for (mark, line) in lines {
                    hang(out, &format!("  {mark:MARK$}"), MARK + 2, line);
                }
            }
            Self::Diff(lines) => {
                for line in lines {
                    hang(out, "      ", 8, line);
                }
            }
        }
    }
}

/// Writes a text behind what stands at the margin, wrapped so that the rest stands under its beginning.
fn hang(out: &mut String, margin: &str, indent: usize, text: &str) {
    let mut line = margin.to_owned();
    let mut column = margin.chars().count();
    if column > indent {
        line.push(' ');
        column += 1;
    }
    let mut fresh = true;
    for word in text.split_whitespace() {
        let mut word: Vec<char> = word.chars().collect();
        if !fresh && column + 1 + word.len() > WIDTH {
            let _ = writeln!(out, "{}", line.trim_end());
            (line, column, fresh) = (" ".repeat(indent), indent, true);
        }
        if !fresh {
            line.push(' ');
            column += 1;
        }
        // A word longer than the line is broken.
        while column + word.len() > WIDTH && column < WIDTH {
            let rest = word.split_off(WIDTH - column);
            line.extend(word);
            let _ = writeln!(out, "{line}");
            (line, column, word) = (" ".repeat(indent), indent, rest);
        }
        column += word.len();
        line.extend(word);
        fresh = false;
    }
    let _ = writeln!(out, "{}", line.trim_end());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_is_wider_than_a_terminal_and_no_word_is_lost() {
        let long = format!("{} {}", "word ".repeat(60), "x".repeat(200));
        let page = Page::new("A title").with(Part::Fields(vec![("Name".into(), vec![long.clone()])]));
        let text = page.text();
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        let letters = |text: &str| text.chars().filter(|c| *c == 'x').count();
        assert_eq!((letters(&text), text.matches("word").count()), (200, 60));
    }
}
