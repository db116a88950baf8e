//! Stage C's report.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Gate, Line, Load, Parameter, Verdict, required};
use crate::page::{Page, Part, listed};

/// What a verdict was given for, by its hash: when one of these differs, it is given no more.
pub type Hashes = BTreeMap<String, String>;

/// The verdicts, part by part.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Parts {
    /// Settings.
    pub parameters: Vec<Line>,
    /// Context linearity on integrated traffic.
    pub linearity: Vec<Line>,
    /// Places outside.
    pub capacity: Vec<Line>,
    /// Widths inside.
    pub scale: Vec<Line>,
    /// The client's patience.
    pub timeout: Vec<Line>,
    /// Parsing.
    pub parsers: Vec<Line>,
    /// Export, credit and batching.
    pub export: Vec<Line>,
    /// Groups, their barrier, their end.
    pub groups: Vec<Line>,
    /// The engine, and what of it rows need.
    pub engine: Vec<Line>,
    /// What becomes of a turn from one step to the next.
    pub steps: Vec<Line>,
    /// The engine's cache, and admission to it.
    pub cache: Vec<Line>,
}

impl Parts {
    fn all(&self) -> impl Iterator<Item = &Line> {
        let each = [
            &self.parameters,
            &self.linearity,
            &self.capacity,
            &self.scale,
            &self.timeout,
            &self.parsers,
            &self.export,
            &self.groups,
            &self.engine,
            &self.steps,
            &self.cache,
        ];
        each.into_iter().flatten()
    }
}

/// A check that was made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Checked {
    /// In all.
    pub verdict: Verdict,
    /// Part by part.
    pub parts: Parts,
    /// Sessions at once.
    pub load: Load,
    /// What limits them.
    pub gate: Gate,
    /// What it was given for.
    pub hashes: Hashes,
    /// Every setting.
    pub settings: Vec<Parameter>,
}

impl Checked {
    /// Adds up the parts.
    pub fn new(parts: Parts, load: Load, gate: Gate, hashes: Hashes, settings: Vec<Parameter>) -> Self {
        // A part that nobody looked at is unknown, whatever the others are.
        let looked_at = [
            &parts.parameters,
            &parts.linearity,
            &parts.capacity,
            &parts.scale,
            &parts.timeout,
            &parts.parsers,
            &parts.export,
            &parts.groups,
            &parts.engine,
            &parts.steps,
            &parts.cache,
        ];
        let verdict = Verdict::of_all(looked_at.map(|part| verdict_of(part)));
        Self { verdict, parts, load, gate, hashes, settings }
    }

    /// Whether the job may start.
    pub fn is_ready(&self) -> bool {
        self.verdict == Verdict::Pass
    }

    /// What keeps it from being ready, each with its way out.
    pub fn blocking(&self) -> Vec<String> {
        self.parts
            .all()
            .filter(|line| line.blocks() && !line.what.contains(": see "))
            .map(Line::told)
            .collect()
    }

    /// Stage C's fields with their values (reference: Relax §13).
    pub fn block(&self) -> Vec<(String, Vec<String>)> {
        let parts = &self.parts;
        let of = |lines: &[Line]| vec![verdict_of(lines).name().to_owned()];
        let widths: Vec<_> = parts
            .scale
            .iter()
            .skip(1)
            .filter(|line| line.blocks())
            .map(|line| format!("see {}", line.told()))
            .collect();
        let widths = if widths.is_empty() { vec!["N/A".to_owned()] } else { widths };
        let required = required(self.load, self.gate).map_or("N/A".to_owned(), super::Need::told);
        [
            ("Verdict", vec![self.verdict.name().to_owned()]),
            (
                "Agentic parameters",
                of(&[&parts.parameters[..], &parts.groups, &parts.engine, &parts.steps, &parts.cache]
                    .concat()),
            ),
            ("Context linearity", of(&parts.linearity)),
            ("External capacity", of(&parts.capacity)),
            ("Internal scale", of(&parts.scale[..parts.scale.len().min(1)])),
            ("Internal width changes", widths),
            ("Per-request timeout", of(&parts.timeout)),
            ("Reasoning/tool-call parsers", of(&parts.parsers)),
            ("Export/advantage/batching", of(&parts.export)),
            ("Required slots", vec![required]),
            ("Configured slots", vec![self.gate.told()]),
            ("Blocking items", listed(&self.blocking())),
            ("Ready to launch", vec![if self.is_ready() { "yes" } else { "no" }.to_owned()]),
        ]
        .map(|(name, values)| (name.to_owned(), values))
        .to_vec()
    }

    /// The whole report.
    pub fn page(&self) -> Page {
        let todo: &[_] = match self.is_ready() {
            true => &[
                "`verbatim demonstrate ROLLOUT.TOML --job COMMAND` runs the job and proves what it does",
                "or start the job: nothing that is known speaks against it",
            ],
            false => &[
                "put the blocking items right: each says how, behind what was found",
                "check again: nothing was started",
            ],
        };
        let mut page = Page::new("Stage C: Check").with(Part::Fields(self.block())).todo(todo);
        let parts = &self.parts;
        let each = [
            ("Settings", &parts.parameters),
            ("Groups", &parts.groups),
            ("Engine", &parts.engine),
            ("From step to step", &parts.steps),
            ("Cache and admission", &parts.cache),
            ("Contexts", &parts.linearity),
            ("Places outside", &parts.capacity),
            ("Widths inside", &parts.scale),
            ("Waiting", &parts.timeout),
            ("Parsing", &parts.parsers),
            ("Rows", &parts.export),
        ];
        for (heading, lines) in each {
            let lines = lines.iter().map(|line| (line.verdict.name().to_owned(), line.told())).collect();
            page = page.listing(heading, lines);
        }
        let set = |parameter: &Parameter| {
            (parameter.name.clone(), vec![format!("{} ({})", parameter.value, parameter.origin)])
        };
        page = page.with(Part::Heading("Every setting, and where it came from".into()));
        page = page.with(Part::Fields(self.settings.iter().map(set).collect()));
        page = page.with(Part::Heading("What it was given for, by hash".into()));
        page.with(Part::Fields(
            self.hashes.iter().map(|(what, hash)| (what.clone(), vec![hash.clone()])).collect(),
        ))
    }
}

/// Of one part: as it is named there, so that a setting that needs a change says so.
fn verdict_of(lines: &[Line]) -> Verdict {
    Verdict::worst(lines.iter().map(|line| line.verdict)).unwrap_or(Verdict::Unverified)
}
