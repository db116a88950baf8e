//! What a recording says of the client itself.
//!
//! The invariant: a timeout is declared (a header says it), measured (the client left a held request), or at least
//! what it waited; nothing else is said of it.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::lineage::{Cause, Lineage, Transition};
use crate::recording::{Outcome, Recording};

/// The client, as seen.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Client {
    /// Requests by dialect.
    pub dialects: BTreeMap<&'static str, usize>,
    /// Requests that asked for a stream, and all that were read.
    pub streamed: (usize, usize),
    /// How it says who it is: `bearer`, `x-api-key`, or `none`.
    pub authentication: BTreeSet<String>,
    /// Its names of itself.
    pub agents: BTreeSet<String>,
    /// The shortest read timeout that its headers declare, in seconds.
    pub declared_timeout: Option<f64>,
    /// The shortest time after which it left a request that had no end yet, in seconds.
    pub left_after: Option<f64>,
    /// The longest that it waited for a reply and had it, in seconds.
    pub waited: Option<f64>,
    /// Requests that were put again after they had failed.
    pub retried: usize,
    /// Requests that were put again although they had had their reply.
    pub resent: usize,
}

impl Client {
    /// Of several runs together.
    pub fn of<'r>(runs: impl IntoIterator<Item = (&'r Recording, &'r Lineage)>) -> Self {
        let mut client = Self::default();
        for (recording, lineage) in runs {
            client.add(recording, lineage);
        }
        client
    }

    /// The shortest time that a request may take before the client gives up, in seconds: as measured, else as declared.
    pub fn timeout(&self) -> Option<f64> {
        match (self.left_after, self.declared_timeout) {
            (Some(left), Some(declared)) => Some(left.min(declared)),
            (left, declared) => left.or(declared),
        }
    }

    fn add(&mut self, recording: &Recording, lineage: &Lineage) {
        for (exchange, step) in recording.exchanges.iter().zip(&lineage.steps) {
            *self.dialects.entry(exchange.dialect.name()).or_default() += 1;
            if step.transition != Transition::Unread {
                self.streamed.1 += 1;
                let body: Option<serde_json::Value> = serde_json::from_str(&exchange.body).ok();
                self.streamed.0 += usize::from(body.is_some_and(|body| body["stream"] == true));
            }
            let authentication = match (exchange.header("authorization"), exchange.header("x-api-key")) {
                (Some(_), _) => "bearer",
                (None, Some(_)) => "x-api-key",
                (None, None) => "none",
            };
            self.authentication.insert(authentication.to_owned());
            self.agents.extend(exchange.header("user-agent").map(str::to_owned));
            let declared = ["x-stainless-read-timeout", "x-stainless-timeout"];
            let declared = declared.iter().find_map(|name| exchange.header(name)?.parse::<f64>().ok());
            keep(&mut self.declared_timeout, declared, f64::min);
            let took = exchange.arrived.zip(exchange.ended).map(|(arrived, ended)| ended - arrived);
            match exchange.outcome {
                Outcome::Left => keep(&mut self.left_after, took, f64::min),
                Outcome::Replied(_) => keep(&mut self.waited, took, f64::max),
                _ => {}
            }
            self.retried += usize::from(step.cause == Some(Cause::RetriedFailure));
            self.resent += usize::from(step.cause == Some(Cause::Resent));
        }
    }
}

fn keep(kept: &mut Option<f64>, new: Option<f64>, choose: fn(f64, f64) -> f64) {
    *kept = match (*kept, new) {
        (Some(a), Some(b)) => Some(choose(a, b)),
        (kept, new) => kept.or(new),
    };
}
