//! How fast it goes. Readers never wait for the worker, and the worker never for readers.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// A reading of the engine's counters since it was loaded.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Stats {
    /// Prompt tokens read; those that came from the cache are not among them.
    pub prefill_tokens: u64,
    /// Tokens that decoding steps read, one a sequence and step.
    pub decoded_tokens: u64,
    /// Seconds spent on prompts. A step that does both is split by its tokens.
    pub prefill_seconds: f64,
    /// Seconds spent on decoding.
    pub decode_seconds: f64,
    /// Sequences in the batch now.
    pub active: usize,
    /// Sequences in line now.
    pub waiting: usize,
    /// Bytes of cached prefixes now.
    pub cache_bytes: usize,
}

/// The counters behind [`Stats`].
#[derive(Debug, Default)]
pub(crate) struct Counters {
    prefill_tokens: AtomicU64,
    decoded_tokens: AtomicU64,
    prefill_nanos: AtomicU64,
    decode_nanos: AtomicU64,
    active: AtomicU64,
    waiting: AtomicU64,
    cache_bytes: AtomicU64,
}

impl Counters {
    /// Books one step of `prefill` prompt tokens and `decoded` decoding rows.
    pub(crate) fn step(&self, prefill: usize, decoded: usize, took: Duration) {
        let nanos = took.as_nanos() as u64;
        let share = nanos * prefill as u64 / (prefill + decoded).max(1) as u64;
        self.prefill_tokens.fetch_add(prefill as u64, Relaxed);
        self.decoded_tokens.fetch_add(decoded as u64, Relaxed);
        self.prefill_nanos.fetch_add(share, Relaxed);
        self.decode_nanos.fetch_add(nanos - share, Relaxed);
    }

    /// Sets what is held now.
    pub(crate) fn hold(&self, active: usize, waiting: usize, cache_bytes: usize) {
        self.active.store(active as u64, Relaxed);
        self.waiting.store(waiting as u64, Relaxed);
        self.cache_bytes.store(cache_bytes as u64, Relaxed);
    }

    pub(crate) fn read(&self) -> Stats {
        Stats {
            prefill_tokens: self.prefill_tokens.load(Relaxed),
            decoded_tokens: self.decoded_tokens.load(Relaxed),
            prefill_seconds: self.prefill_nanos.load(Relaxed) as f64 / 1e9,
            decode_seconds: self.decode_nanos.load(Relaxed) as f64 / 1e9,
            active: self.active.load(Relaxed) as usize,
            waiting: self.waiting.load(Relaxed) as usize,
            cache_bytes: self.cache_bytes.load(Relaxed) as usize,
        }
    }
}
