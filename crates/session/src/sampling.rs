//! What a turn has sampled so far, and what it reads as.

use verbatim_chat::Content;
use verbatim_engine::{Attempts, End, EngineError, Facts, Increment};
use verbatim_families::{Parsed, Parser, Part};
use verbatim_tokens::{LogprobKind, Sampled, TokenId};

use crate::SampledToken;
use crate::stop::StopWatch;

/// Attempts, parser and stop strings of one turn. It lives through aborts: a resumed turn goes on
/// in the middle of whatever it was saying.
pub(crate) struct Live {
    attempts: Attempts,
    parser: Box<dyn Parser>,
    stop: StopWatch,
    /// The stop string that is complete.
    stopped: Option<String>,
    /// Content as passed on: what the message says if a stop string cut it.
    content: String,
    dropped: usize,
}

/// A turn that is over.
pub(crate) struct Finished {
    /// Its span.
    pub(crate) sampled: Sampled,
    /// Its message.
    pub(crate) parsed: Parsed,
    /// Parts that were held back.
    pub(crate) parts: Vec<Part>,
    /// The stop string that ended it.
    pub(crate) stop: Option<String>,
}

impl Live {
    pub(crate) fn new(kind: LogprobKind, limit: u32, parser: Box<dyn Parser>, stop: Vec<String>) -> Self {
        Self {
            attempts: Attempts::new(kind, limit),
            parser,
            stop: StopWatch::new(stop),
            stopped: None,
            content: String::new(),
            dropped: 0,
        }
    }

    /// Another attempt begins.
    pub(crate) fn begin(&mut self) {
        self.attempts.begin();
    }

    /// Takes over what the end of an attempt tells.
    pub(crate) fn end(&mut self, end: &End) {
        self.attempts.end(end);
    }

    /// What engines told besides tokens.
    pub(crate) fn facts(&self) -> &Facts {
        self.attempts.facts()
    }

    /// Forgets the present attempt; `parser`, a new one, reads what is left.
    pub(crate) fn discard(&mut self, mut parser: Box<dyn Parser>) {
        self.attempts.discard();
        let (mut settled, mut parts) = (Vec::new(), Vec::new());
        parser.push(self.attempts.ids(), &mut settled);
        self.parser = parser;
        self.stop = self.stop.anew();
        self.content.clear();
        self.stopped = self.stop.pass(settled, &mut parts);
        self.hear(&parts);
    }

    /// Whether the turn, if it ended here, would end with a stop string; `parser` is a new one.
    pub(crate) fn stops_here(&self, mut parser: Box<dyn Parser>) -> bool {
        let (mut stop, mut settled, mut parts) = (self.stop.anew(), Vec::new(), Vec::new());
        parser.push(self.attempts.ids(), &mut settled);
        parser.finish(&mut settled);
        stop.pass(settled, &mut parts).is_some()
    }

    /// Takes an increment over; returns what it settles and, if they are `wanted`, its tokens.
    pub(crate) fn take(
        &mut self,
        increment: Increment,
        wanted: bool,
    ) -> Result<(Vec<Part>, Vec<SampledToken>), EngineError> {
        let (mut parts, mut tokens) = (Vec::new(), Vec::new());
        let consistent = increment.ids.len() == increment.logprobs.len();
        if !self.stop.is_on() || !consistent {
            self.admit(increment, wanted, &mut parts, &mut tokens)?;
            return Ok((parts, tokens));
        }
        let Increment { ids, logprobs, version, mut top } = increment;
        let count = ids.len();
        top.resize_with(if top.is_empty() { 0 } else { count }, Vec::new);
        for (at, (id, logprob)) in ids.into_iter().zip(logprobs).enumerate() {
            let one = Increment {
                ids: vec![id],
                logprobs: vec![logprob],
                version: version.clone(),
                top: top.get_mut(at).map(std::mem::take).into_iter().collect(),
            };
            self.admit(one, wanted, &mut parts, &mut tokens)?;
            if self.is_stopped() {
                self.dropped += count - at - 1;
                break;
            }
        }
        Ok((parts, tokens))
    }

    fn admit(
        &mut self,
        increment: Increment,
        wanted: bool,
        parts: &mut Vec<Part>,
        tokens: &mut Vec<SampledToken>,
    ) -> Result<(), EngineError> {
        if wanted {
            let mut top = increment.top.iter().cloned();
            tokens.extend(increment.ids.iter().zip(&increment.logprobs).map(|(id, logprob)| SampledToken {
                id: *id,
                logprob: *logprob,
                top: top.next().unwrap_or_default(),
            }));
        }
        let from = self.attempts.ids().len();
        self.attempts.push(increment)?;
        let mut settled = Vec::new();
        self.parser.push(&self.attempts.ids()[from..], &mut settled);
        let said = parts.len();
        self.stopped = self.stop.pass(settled, parts);
        self.hear(&parts[said..]);
        Ok(())
    }

    fn hear(&mut self, parts: &[Part]) {
        if self.stop.is_on() {
            for part in parts {
                if let Part::Content(text) = part {
                    self.content.push_str(text);
                }
            }
        }
    }

    pub(crate) fn ids(&self) -> &[TokenId] {
        self.attempts.ids()
    }

    pub(crate) fn sampled(&self) -> usize {
        self.attempts.ids().len()
    }

    pub(crate) fn remaining(&self) -> u32 {
        self.attempts.remaining()
    }

    /// Whether a stop string is complete.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped.is_some()
    }

    /// Tokens that came with the one that completed a stop string, and were not taken.
    pub(crate) fn dropped(&self) -> usize {
        self.dropped
    }

    /// What the turn comes to.
    pub(crate) fn finish(mut self) -> Result<Finished, EngineError> {
        let sampled = self.attempts.finish()?;
        let mut settled = Vec::new();
        let mut parsed = self.parser.finish(&mut settled);
        let mut parts = Vec::new();
        if self.stopped.is_none() {
            self.stopped = self.stop.pass(settled, &mut parts);
            self.stop.flush(&mut parts);
        }
        if self.stopped.is_some() {
            let late = parts
                .iter()
                .filter_map(|part| if let Part::Content(text) = part { Some(text.as_str()) } else { None });
            self.content.extend(late);
            parsed.message.content = Content::Text(self.content);
        }
        Ok(Finished { sampled, parsed, parts, stop: self.stopped })
    }
}
