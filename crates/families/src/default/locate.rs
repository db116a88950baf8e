//! Whose words are whose in a rendered text.
//!
//! The invariant: the rendered text itself is never touched. A second render, in which every text
//! is put between marks, shows where they went; where marks change what the template does, long
//! texts are looked for instead, and what is not found counts as the template's.

use super::context::Prepared;
use crate::Source;

/// The characters of private use around a marked text. After the first stands the message's index,
/// as a character from U+F0000 on.
const MARKS: [char; 2] = ['\u{10f7a5}', '\u{10f7a6}'];
const FIRST_INDEX: u32 = 0xf0000;
/// Shorter texts are found by chance.
const LONG: usize = 12;

/// A stretch of a rendered text that a message wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stretch {
    start: usize,
    end: usize,
    message: usize,
}

impl Stretch {
    /// The same stretch where the text stands `by` bytes further on.
    pub(super) fn shift(&mut self, by: usize) {
        self.start += by;
        self.end += by;
    }
}

/// A text between marks. Text that holds a mark itself, or that there are too many of, is not
/// marked.
pub(super) fn marked(message: usize, text: &str) -> String {
    let index =
        u32::try_from(message).ok().filter(|at| *at < 0xfffe).and_then(|at| char::from_u32(FIRST_INDEX + at));
    match index {
        Some(index) if !text.contains(MARKS) => format!("{}{index}{text}{}", MARKS[0], MARKS[1]),
        _ => text.to_owned(),
    }
}

/// Finds every message's texts in a render, given the same render with marks.
pub(super) fn stretches(rendered: &str, shadow: Option<&str>, prepared: &Prepared) -> Vec<Stretch> {
    let exact = shadow.map(unmark).filter(|(text, _)| text == rendered);
    exact.map_or_else(|| search(rendered, prepared), |(_, stretches)| stretches)
}

fn unmark(shadow: &str) -> (String, Vec<Stretch>) {
    let mut text = String::with_capacity(shadow.len());
    let mut found = Vec::new();
    let mut open = None;
    let mut characters = shadow.chars();
    while let Some(character) = characters.next() {
        if character == MARKS[0] {
            let index = characters.next().map_or(0, u32::from).saturating_sub(FIRST_INDEX);
            open = Some((text.len(), index as usize));
        } else if character == MARKS[1] {
            let stretch = open.take().filter(|(start, _)| *start < text.len());
            found.extend(stretch.map(|(start, message)| Stretch { start, end: text.len(), message }));
        } else {
            text.push(character);
        }
    }
    (text, found)
}

fn search(rendered: &str, prepared: &Prepared) -> Vec<Stretch> {
    let mut found = Vec::new();
    let mut done = 0;
    for (message, texts) in prepared.texts.iter().enumerate() {
        for text in texts.iter().map(|text| text.trim()).filter(|text| text.len() >= LONG) {
            if let Some(at) = rendered[done..].find(text) {
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
