//! Stop strings, found in the content as it is parsed.

use verbatim_families::Part;

/// Watches a turn's content for stop strings.
///
/// Engines differ in what they do with a stop string (cut the text inside a token, include it or
/// not); done here it is one behaviour: the message ends before the string, the ids end with the
/// token that completed it, and text that may still become one is held back.
#[derive(Debug)]
pub(crate) struct StopWatch {
    stops: Vec<String>,
    held: String,
}

impl StopWatch {
    pub(crate) fn new(stops: Vec<String>) -> Self {
        Self { stops, held: String::new() }
    }

    /// The same stop strings, watched for from the beginning.
    pub(crate) fn anew(&self) -> Self {
        Self::new(self.stops.clone())
    }

    /// Whether there is anything to watch for.
    pub(crate) fn is_on(&self) -> bool {
        !self.stops.is_empty()
    }

    /// Passes parts on, content no further than is safe. Returns the stop string if one is complete;
    /// nothing that follows it in `parts` is passed on.
    pub(crate) fn pass(&mut self, parts: Vec<Part>, out: &mut Vec<Part>) -> Option<String> {
        if !self.is_on() {
            out.extend(parts);
            return None;
        }
        for part in parts {
            let Part::Content(text) = part else {
                self.flush(out);
                out.push(part);
                continue;
            };
            self.held.push_str(&text);
            let earliest = self
                .stops
                .iter()
                .filter_map(|stop| self.held.find(stop.as_str()).map(|at| (at, stop)))
                .min_by_key(|(at, stop)| (*at, std::cmp::Reverse(stop.len())));
            if let Some((at, stop)) = earliest {
                let stop = stop.clone();
                self.held.truncate(at);
                self.flush(out);
                return Some(stop);
            }
            let safe = self.safe();
            if safe > 0 {
                out.push(Part::Content(self.held.drain(..safe).collect()));
            }
        }
        None
    }

    /// Passes on what was held back: the turn ended without a stop string.
    pub(crate) fn flush(&mut self, out: &mut Vec<Part>) {
        if !self.held.is_empty() {
            out.push(Part::Content(std::mem::take(&mut self.held)));
        }
    }

    /// How many held bytes can be no part of a stop string.
    fn safe(&self) -> usize {
        let begins = |at: &usize| {
            let tail = &self.held[*at..];
            self.stops.iter().any(|stop| stop.starts_with(tail))
        };
        self.held.char_indices().map(|(at, _)| at).find(begins).unwrap_or(self.held.len())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Feeds pieces; returns the passed text and the stop string.
    fn watch(stops: &[&str], pieces: &[&str]) -> (String, Option<String>) {
        let mut watch = StopWatch::new(stops.iter().map(|stop| (*stop).to_owned()).collect());
        let mut out = Vec::new();
        let mut hit = None;
        for piece in pieces {
            hit = watch.pass(vec![Part::Content((*piece).to_owned())], &mut out);
            if hit.is_some() {
                break;
            }
        }
        watch.flush(&mut out);
        let text =
            out.iter().map(|part| if let Part::Content(text) = part { text.as_str() } else { "" }).collect();
        (text, hit)
    }

    #[test]
    fn the_first_stop_string_ends_the_content_before_it() {
        assert_eq!(watch(&["END"], &["a E", "N", "D b"]), ("a ".into(), Some("END".into())));
        assert_eq!(watch(&["b", "ab"], &["xab"]), ("x".into(), Some("ab".into())));
        assert_eq!(watch(&["END"], &["a EN"]), ("a EN".into(), None));
    }

    proptest! {
        /// However the text is cut into pieces, what passes is the text before the first stop string.
        #[test]
        fn any_split_passes_the_same(text in "[abé]{0,12}", cuts in prop::collection::vec(0usize..12, 0..6)) {
            let stops = ["ab", "éa", "bbb"];
            let first = stops.iter().filter_map(|stop| text.find(stop)).min();
            let expected = &text[..first.unwrap_or(text.len())];
            let chars: Vec<char> = text.chars().collect();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(chars.len())).collect();
            cuts.extend([0, chars.len()]);
            cuts.sort_unstable();
            let pieces: Vec<String> = cuts.windows(2).map(|w| chars[w[0]..w[1]].iter().collect()).collect();
            let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
            let (passed, hit) = watch(&stops, &pieces);
            prop_assert_eq!(passed, expected);
            prop_assert_eq!(hit.is_some(), first.is_some());
        }
    }
}
