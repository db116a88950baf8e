//! A report as people read it: in a terminal of 80 columns, in Markdown, and as a page.
//!
//! The invariant: all three say the same words in the same order; nothing is cut, long lines are wrapped.

mod html;
mod text;

/// A report.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// What it is a report of.
    pub title: String,
    /// Its parts.
    pub parts: Vec<Part>,
}

/// A part of a report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// A heading.
    Heading(String),
    /// Named values, one a line. Several values of one name stand under one another.
    Fields(Vec<(String, Vec<String>)>),
    /// Lines with a mark in front: a verdict, a number.
    Lines(Vec<(String, String)>),
    /// A small diff: its lines begin with `-` or `+`.
    Diff(Vec<String>),
}

impl Page {
    /// An empty report.
    pub fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), parts: Vec::new() }
    }

    /// Adds a part.
    #[must_use]
    pub fn with(mut self, part: Part) -> Self {
        self.parts.push(part);
        self
    }

    /// Adds what to do next, in order.
    #[must_use]
    pub fn todo(self, steps: &[&str]) -> Self {
        let steps = steps.iter().enumerate();
        let steps = steps.map(|(at, step)| (format!("{}.", at + 1), (*step).to_owned())).collect();
        self.listing("What to do next", steps)
    }

    /// Adds lines under a heading, where there are any.
    #[must_use]
    pub fn listing(self, heading: &str, lines: Vec<(String, String)>) -> Self {
        if lines.is_empty() {
            return self;
        }
        self.with(Part::Heading(heading.to_owned())).with(Part::Lines(lines))
    }
}

/// So many of a thing, in words that fit the number.
pub fn count(number: usize, one: &str, more: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { more })
}

/// One value, or `none`.
pub fn listed(values: &[String]) -> Vec<String> {
    if values.is_empty() { vec!["none".to_owned()] } else { values.to_vec() }
}
