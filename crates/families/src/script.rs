//! Writing a prompt: text and special tokens in, ids with their sources out.
//!
//! The invariant: text between two special tokens is encoded in one piece, whoever wrote its
//! parts, because that is how a tokenizer sees a rendered template; and only [`Script::special`],
//! [`Script::marked`] and [`Script::image`] make special tokens.

use verbatim_chat::ImagePlace;
use verbatim_tokenizer::{Piece, SpecialSplitter, Tokenizer};
use verbatim_tokens::{Runs, TokenId};

use crate::Source;

/// A prompt in the making.
pub(crate) struct Script<'t> {
    tokenizer: &'t dyn Tokenizer,
    ids: Vec<TokenId>,
    sources: Runs<Source>,
    /// Text since the last special token.
    text: String,
    /// Who wrote it: each source with the byte one past its stretch.
    parts: Vec<(usize, Source)>,
    images: Vec<ImagePlace>,
}

/// A prompt that was made.
pub(crate) struct Written {
    pub(crate) ids: Vec<TokenId>,
    pub(crate) sources: Runs<Source>,
    pub(crate) images: Vec<ImagePlace>,
}

impl<'t> Script<'t> {
    pub(crate) fn new(tokenizer: &'t dyn Tokenizer) -> Self {
        Self {
            tokenizer,
            ids: Vec::new(),
            sources: Runs::default(),
            text: String::new(),
            parts: Vec::new(),
            images: Vec::new(),
        }
    }

    /// Appends text that means what it says: no special token comes of it.
    pub(crate) fn text(&mut self, text: &str, source: Source) {
        if !text.is_empty() {
            self.text.push_str(text);
            match self.parts.last_mut() {
                Some((end, last)) if *last == source => *end = self.text.len(),
                _ => self.parts.push((self.text.len(), source)),
            }
        }
    }

    /// Appends a special token.
    pub(crate) fn special(&mut self, id: TokenId, source: Source) {
        self.flush();
        self.ids.push(id);
        self.sources.extend(source, 1);
    }

    /// Appends an image: placeholders.
    pub(crate) fn image(&mut self, pad: TokenId, grid: [u32; 3], length: usize, source: Source) {
        self.flush();
        self.images.push(ImagePlace { start: self.ids.len(), length, grid });
        self.ids.resize(self.ids.len() + length, pad);
        self.sources.extend(source, length);
    }

    /// Appends text in which the tokens that `markers` knows are those tokens.
    pub(crate) fn marked(&mut self, text: &str, source: Source, markers: &SpecialSplitter) {
        for piece in markers.split(text) {
            match piece {
                Piece::Text(text) => self.text(text, source),
                Piece::Special(id) => self.special(id, source),
            }
        }
    }

    /// Ends the prompt.
    pub(crate) fn finish(mut self) -> Written {
        self.flush();
        Written { ids: self.ids, sources: self.sources, images: self.images }
    }

    fn flush(&mut self) {
        let from = self.ids.len();
        self.tokenizer.encode(&self.text, &mut self.ids);
        let added = &self.ids[from..];
        match self.parts.as_slice() {
            [] => {}
            [(_, only)] => self.sources.extend(*only, added.len()),
            _ => attribute(self.tokenizer, &self.text, &self.parts, added, &mut self.sources),
        }
        self.text.clear();
        self.parts.clear();
    }
}

/// Says of each id who wrote it. An id that spans several writers is the first message's among
/// them, else the template's.
fn attribute(
    tokenizer: &dyn Tokenizer,
    text: &str,
    parts: &[(usize, Source)],
    ids: &[TokenId],
    sources: &mut Runs<Source>,
) {
    let borders = borders(tokenizer, text, parts, ids);
    let mut part = 0;
    let mut start = 0;
    for id in ids {
        let end = start + tokenizer.bytes(*id).len();
        while part + 1 < borders.len() && borders[part].0 <= start {
            part += 1;
        }
        let touched = borders[part..]
            .iter()
            .enumerate()
            .take_while(|(at, _)| *at == 0 || borders[part + at - 1].0 < end);
        let mut touched = touched.map(|(_, (_, source))| *source);
        let first = touched.next().unwrap_or(Source::Template);
        let owner =
            if first == Source::Template { touched.find(|s| *s != first).unwrap_or(first) } else { first };
        sources.extend(owner, 1);
        start = end;
    }
}

/// The parts' ends, counted in the bytes that the ids stand for. Those are the text's unless the
/// vocabulary normalises; then each end is as far as the text before it encodes to.
fn borders(
    tokenizer: &dyn Tokenizer,
    text: &str,
    parts: &[(usize, Source)],
    ids: &[TokenId],
) -> Vec<(usize, Source)> {
    let spelled = |ids: &[TokenId]| ids.iter().map(|id| tokenizer.bytes(*id).len()).sum::<usize>();
    if spelled(ids) == text.len() {
        return parts.to_vec();
    }
    let moved = parts.iter().map(|(end, source)| {
        let mut before = Vec::new();
        tokenizer.encode(&text[..*end], &mut before);
        (spelled(&before), *source)
    });
    moved.collect()
}
