//! Whose words are whose in a rendered text.
//!
//! A template leaves no trace of where a message's text went, so it is looked for, in order. Text
//! that the template changed is not found and counts as the template's.

use super::context::Prepared;
use crate::Source;

/// A stretch of a rendered text that a message wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stretch {
    start: usize,
    end: usize,
    message: usize,
}

/// Finds every message's texts.
pub(super) fn stretches(rendered: &str, prepared: &Prepared) -> Vec<Stretch> {
    let mut found = Vec::new();
    let mut done = 0;
    for (message, texts) in prepared.texts.iter().enumerate() {
        for text in texts {
            let text = if rendered[done..].contains(text.as_str()) { text } else { text.trim() };
            if let Some(at) = rendered[done..].find(text).filter(|_| !text.is_empty()) {
                let start = done + at;
                done = start + text.len();
                found.push(Stretch { start, end: done, message });
            }
        }
    }
    found
}

/// Who wrote the character at a byte.
pub(super) fn at(stretches: &[Stretch], byte: usize) -> Source {
    let next = stretches.partition_point(|stretch| stretch.end <= byte);
    match stretches.get(next) {
        Some(stretch) if stretch.start <= byte => Source::Message(stretch.message),
        _ => Source::Template,
    }
}

/// Cuts a text that begins at byte `start` of the whole where its writers change.
pub(super) fn split<'t>(stretches: &[Stretch], start: usize, text: &'t str) -> Vec<(&'t str, Source)> {
    let mut parts = Vec::new();
    let mut done = 0;
    while done < text.len() {
        let next = stretches.partition_point(|stretch| stretch.end <= start + done);
        let (until, source) = match stretches.get(next) {
            Some(stretch) if stretch.start <= start + done => (stretch.end, Source::Message(stretch.message)),
            Some(stretch) => (stretch.start, Source::Template),
            None => (start + text.len(), Source::Template),
        };
        let end = (until - start).min(text.len());
        parts.push((&text[done..end], source));
        done = end;
    }
    parts
}

impl Stretch {
    /// The same stretch where the text stands `by` bytes further on.
    pub(super) fn shift(&mut self, by: usize) {
        self.start += by;
        self.end += by;
    }
}
