//! The comparison: what a family renders against what was kept.
//!
//! The invariant: [`Comparator::compare`] finds what Miles' comparator finds (reference: Miles §5):
//! structure first, and only where it is the same, segment by segment; texts are compared, not ids.

use std::sync::Arc;

use verbatim_families::Family;
use verbatim_tokenizer::Tokenizer;
use verbatim_tokens::TokenId;

use crate::segment::{Segment, cut, sketch};
use crate::{Finding, Kind, Mismatch, Profile, cause};

/// As many ids of a text are looked at to say whether it is an assistant's.
const HEAD: usize = 20;

/// Compares runs of ids of one family.
pub struct Comparator {
    tokenizer: Arc<dyn Tokenizer>,
    profile: Profile,
    /// How an assistant's text starts, with how many special tokens.
    starts: Vec<(String, usize)>,
}

impl Comparator {
    /// For a family, by its [`Profile`].
    pub fn of(family: &dyn Family) -> Self {
        Self::new(Arc::clone(family.tokenizer()), Profile::of(family))
    }

    /// By a profile of one's own.
    pub fn new(tokenizer: Arc<dyn Tokenizer>, profile: Profile) -> Self {
        let spellings: Vec<String> = profile.special.iter().map(|id| tokenizer.text(&[*id])).collect();
        let count = |start: &String| spellings.iter().map(|special| start.matches(&**special).count()).sum();
        let starts = profile.assistant.iter().map(|start| (start.clone(), count(start))).collect();
        Self { tokenizer, profile, starts }
    }

    /// What Miles' session server reports: `expected` as [`crate::canonical`] renders it, `actual` as
    /// the session kept it. Empty where nothing differs. The cost is linear in both.
    pub fn compare(&self, expected: &[TokenId], actual: &[TokenId]) -> Vec<Mismatch> {
        let (expected, actual) = (self.stripped(expected), self.stripped(actual));
        if expected == actual {
            return Vec::new();
        }
        let expected = cut(expected, &self.profile.special);
        let actual = cut(actual, &self.profile.special);
        match self.structure(&expected, &actual) {
            Some(found) => vec![found],
            None => (0..expected.len()).filter_map(|at| self.segment(at, &expected, &actual)).collect(),
        }
    }

    /// The same, each with its cause; besides, texts that are the same in other ids.
    pub fn explain(&self, expected: &[TokenId], actual: &[TokenId]) -> Vec<Finding> {
        let (expected, actual) = (self.stripped(expected), self.stripped(actual));
        if expected == actual {
            return Vec::new();
        }
        let explainer = cause::Explainer { tokenizer: &*self.tokenizer, profile: &self.profile };
        let expected_cut = cut(expected, &self.profile.special);
        let actual_cut = cut(actual, &self.profile.special);
        if let Some(mismatch) = self.structure(&expected_cut, &actual_cut) {
            let cause = explainer.structure(expected, actual);
            return vec![Finding { mismatch, cause }];
        }
        let each = (0..expected_cut.len()).filter_map(|at| {
            let found = self.segment(at, &expected_cut, &actual_cut);
            let mismatch = found.or_else(|| self.respelled(at, &expected_cut, &actual_cut))?;
            let cause = explainer.segment(&mismatch, expected_cut[at].ids, actual_cut[at].ids);
            Some(Finding { mismatch, cause })
        });
        each.collect()
    }

    fn stripped<'i>(&self, ids: &'i [TokenId]) -> &'i [TokenId] {
        let kept = ids.iter().rposition(|id| !self.profile.trailing.contains(id)).map_or(0, |last| last + 1);
        &ids[..kept]
    }

    fn structure(&self, expected: &[Segment<'_>], actual: &[Segment<'_>]) -> Option<Mismatch> {
        let pattern = |segments: &[Segment<'_>]| segments.iter().map(|s| s.special).collect::<Vec<_>>();
        let detail = if expected.len() != actual.len() {
            format!("segment count: expected {}, got {}", expected.len(), actual.len())
        } else if pattern(expected) != pattern(actual) {
            "segment pattern: special tokens stand between other texts".to_owned()
        } else {
            return None;
        };
        Some(Mismatch {
            kind: Kind::SpecialTokenCount,
            segment_index: -1,
            expected_text: sketch(expected, &*self.tokenizer),
            actual_text: sketch(actual, &*self.tokenizer),
            detail,
        })
    }

    fn segment(&self, at: usize, expected: &[Segment<'_>], actual: &[Segment<'_>]) -> Option<Mismatch> {
        let (left, right) = (expected[at].ids, actual[at].ids);
        if left == right {
            return None;
        }
        let (expected_text, actual_text) = (self.tokenizer.text(left), self.tokenizer.text(right));
        let (kind, detail) = if expected[at].special {
            (Kind::SpecialTokenType, format!("special token: expected id {}, got {}", left[0].0, right[0].0))
        } else if expected_text == actual_text {
            return None;
        } else if self.is_assistants(at, expected) && self.is_assistants(at, actual) {
            (Kind::AssistantText, "the assistant's text differs".to_owned())
        } else {
            (Kind::NonAssistantText, "a text that is no assistant's differs".to_owned())
        };
        Some(Mismatch { kind, segment_index: index(at), expected_text, actual_text, detail })
    }

    /// The same text in other ids.
    fn respelled(&self, at: usize, expected: &[Segment<'_>], actual: &[Segment<'_>]) -> Option<Mismatch> {
        let (left, right) = (expected[at].ids, actual[at].ids);
        (left != right).then(|| Mismatch {
            kind: Kind::Retokenised,
            segment_index: index(at),
            expected_text: self.tokenizer.text(left),
            actual_text: self.tokenizer.text(right),
            detail: format!("the same text in other ids: expected {}, got {}", left.len(), right.len()),
        })
    }

    /// Whether a text follows what opens an assistant's turn.
    fn is_assistants(&self, at: usize, segments: &[Segment<'_>]) -> bool {
        self.starts.iter().any(|(start, specials)| {
            let before = segments[..at].iter().enumerate().rev();
            let Some((from, _)) = before.filter(|(_, s)| s.special).nth(specials.saturating_sub(1)) else {
                return false;
            };
            let mut ids = segments[from..at].iter().flat_map(|s| s.ids).copied().collect::<Vec<_>>();
            ids.extend(segments[at].ids.iter().take(HEAD));
            segments[at - 1].special && self.tokenizer.text(&ids).starts_with(start.as_str())
        })
    }
}

fn index(at: usize) -> i64 {
    i64::try_from(at).unwrap_or(i64::MAX)
}
