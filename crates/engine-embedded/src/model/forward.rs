//! One pass over the new tokens of several sequences.

use rayon::prelude::*;
use verbatim_tokens::TokenId;

use super::Model;
use super::layer::{Layer, add, gated, rms_norm};
use super::rope::Turn;
use crate::cache::{BLOCK, Sequence};
use crate::config::Config;
use crate::kernel::{Attend, attend};

/// Which rows' logits a feed wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Logits {
    None,
    Last,
    All,
}

/// New tokens of one sequence.
pub(crate) struct Feed<'a> {
    /// Takes up the tokens' keys and values.
    pub(crate) sequence: &'a mut Sequence,
    /// At least one id, all in the vocabulary.
    pub(crate) ids: &'a [TokenId],
    pub(crate) logits: Logits,
}

impl Feed<'_> {
    /// How many rows of logits it wants.
    pub(crate) fn rows(&self) -> usize {
        match self.logits {
            Logits::None => 0,
            Logits::Last => 1,
            Logits::All => self.ids.len(),
        }
    }
}

/// Where each row of a pass belongs.
struct Rows {
    /// Feed and position of each row.
    at: Vec<(usize, usize)>,
    turns: Vec<Turn>,
}

impl Model {
    /// Extends every feed's sequence and returns the wanted rows' logits, `[wanted, vocabulary]`, in
    /// the order of the feeds.
    pub(crate) fn forward(&self, feeds: &mut [Feed<'_>]) -> Vec<f32> {
        let hidden = self.config.hidden;
        let mut rows = Rows { at: Vec::new(), turns: Vec::new() };
        let mut x = vec![0.0; feeds.iter().map(|feed| feed.ids.len()).sum::<usize>() * hidden];
        let mut embedded = x.chunks_exact_mut(hidden);
        for (at, feed) in feeds.iter_mut().enumerate() {
            for (position, id) in (feed.sequence.len()..).zip(feed.ids) {
                rows.at.push((at, position));
                rows.turns.push(Turn::at(position, &self.config.frequencies));
                if let Some(row) = embedded.next() {
                    self.embedding.row(id.0 as usize, row);
                }
            }
            feed.sequence.extend(self.layout(), feed.ids);
        }
        for (at, layer) in self.layers.iter().enumerate() {
            self.layer(at, layer, &mut x, &rows, feeds);
        }
        self.logits(&x, feeds)
    }

    fn layer(&self, at: usize, layer: &Layer, x: &mut [f32], rows: &Rows, feeds: &mut [Feed<'_>]) {
        let attended = {
            let normed = self.normed(x, &layer.attention_norm);
            let mut projected = layer.queries_keys_values.apply(&normed);
            self.turn(layer, rows, &mut projected);
            self.remember(at, rows, &projected, feeds);
            self.attend(at, rows, &projected, feeds)
        };
        add(x, &layer.attention_out.apply(&attended));

        let normed = self.normed(x, &layer.feed_norm);
        let both = layer.gate_up.apply(&normed);
        let width = self.config.feed_forward;
        let mut inner = vec![0.0; rows.at.len() * width];
        inner
            .par_chunks_mut(width)
            .zip(both.par_chunks(2 * width))
            .with_min_len(8)
            .for_each(|(out, row)| gated(row, out));
        add(x, &layer.down.apply(&inner));
    }

    fn normed(&self, x: &[f32], weight: &[f32]) -> Vec<f32> {
        let mut normed = x.to_vec();
        let rows = normed.chunks_exact_mut(self.config.hidden);
        rows.for_each(|row| rms_norm(row, weight, self.config.norm_epsilon));
        normed
    }

    /// Norms and rotates queries and keys, and scales the queries.
    fn turn(&self, layer: &Layer, rows: &Rows, projected: &mut [f32]) {
        let config = &self.config;
        let each = (config.heads + 2 * config.kv_heads) * config.width;
        let scale = 1.0 / (config.width as f32).sqrt();
        projected.par_chunks_mut(each).zip(&rows.turns).with_min_len(16).for_each(|(row, turn)| {
            let turned = row.chunks_exact_mut(config.width).take(config.heads + config.kv_heads);
            for (head, numbers) in turned.enumerate() {
                let query = head < config.heads;
                if let Some((queries, keys)) = &layer.head_norms {
                    rms_norm(numbers, if query { queries } else { keys }, config.norm_epsilon);
                }
                turn.apply(numbers, config.pairs);
                if query {
                    numbers.iter_mut().for_each(|number| *number *= scale);
                }
            }
        });
    }

    fn remember(&self, layer: usize, rows: &Rows, projected: &[f32], feeds: &mut [Feed<'_>]) {
        let (queries, keys) =
            (self.config.heads * self.config.width, self.config.kv_heads * self.config.width);
        for ((feed, position), row) in rows.at.iter().zip(projected.chunks_exact(queries + 2 * keys)) {
            let (key, value) = row[queries..].split_at(keys);
            feeds[*feed].sequence.write(self.layout(), layer, *position, key, value);
        }
    }

    fn attend(&self, layer: usize, rows: &Rows, projected: &[f32], feeds: &[Feed<'_>]) -> Vec<f32> {
        let Config { heads, kv_heads, width, .. } = self.config;
        let (queries, each) = (heads / kv_heads * width, (heads + 2 * kv_heads) * width);
        let pasts: Vec<_> = feeds.iter().map(|feed| feed.sequence.layer(self.layout(), layer)).collect();
        let mut attended = vec![0.0; rows.at.len() * heads * width];
        // Short pasts are not worth waking another thread for.
        let longest = rows.at.iter().map(|(_, position)| position + 1).max().unwrap_or(1);
        let apart = ((1 << 15) / (longest * queries)).max(1);
        attended.par_chunks_mut(queries).with_min_len(apart).enumerate().for_each(|(task, out)| {
            let (row, head) = (task / kv_heads, task % kv_heads);
            let (feed, position) = rows.at[row];
            attend(
                self.isa,
                Attend {
                    queries: &projected[row * each + head * queries..][..queries],
                    blocks: &pasts[feed][..(position + 1).div_ceil(BLOCK)],
                    seen: position + 1,
                    head: (head, kv_heads),
                    width,
                    out,
                },
            );
        });
        attended
    }

    fn logits(&self, x: &[f32], feeds: &[Feed<'_>]) -> Vec<f32> {
        let hidden = self.config.hidden;
        let (mut wanted, mut first) = (Vec::new(), 0);
        for feed in feeds {
            let until = first + feed.ids.len();
            match feed.logits {
                Logits::None => {}
                Logits::Last => wanted.extend_from_slice(&x[(until - 1) * hidden..until * hidden]),
                Logits::All => wanted.extend_from_slice(&x[first * hidden..until * hidden]),
            }
            first = until;
        }
        self.head.as_ref().unwrap_or(&self.embedding).times(&self.normed(&wanted, &self.norm))
    }
}
