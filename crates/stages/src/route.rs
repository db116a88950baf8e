//! Which stage a rollout is at, and which may come next.
//!
//! The invariant: a stage counts only while what it was given for is unchanged, and none comes before the one before it
//! has passed.

use serde::Serialize;

use crate::page::{Page, Part, listed};

/// What a stage left, as the router sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Known {
    /// What has changed since, by its hash's name.
    pub stale: Vec<String>,
    /// What it said.
    pub told: String,
    /// Whether the next stage may come.
    pub passed: bool,
    /// What is open, each with its way out.
    pub open: Vec<String>,
}

/// Where a rollout stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Route {
    /// `A`, `B`, `C` or `D`.
    pub current: &'static str,
    /// What each stage left: its name, what it said, what is stale.
    pub evidence: Vec<(&'static str, Option<Known>)>,
    /// What is open.
    pub blocking: Vec<String>,
    /// The stage that may come next; none once all have passed.
    pub next: Option<&'static str>,
}

impl Known {
    fn holds(&self) -> bool {
        self.stale.is_empty() && self.passed
    }
}

/// Decides: the first stage that was not passed, or is stale, is the current one.
pub fn route(assessed: Option<Known>, checked: Option<Known>, demonstrated: Option<Known>) -> Route {
    let holds = |known: &Option<Known>| known.as_ref().is_some_and(Known::holds);
    let open = |known: &Option<Known>| {
        let fresh = known.as_ref().filter(|known| known.stale.is_empty());
        fresh.map(|known| known.open.clone()).unwrap_or_default()
    };
    let assessed_now = assessed.as_ref().is_some_and(|known| known.stale.is_empty());
    let (current, next, blocking) = match (holds(&assessed), holds(&checked), holds(&demonstrated)) {
        (false, ..) if assessed_now => ("A", Some("B"), open(&assessed)),
        (false, ..) => ("A", Some("A"), Vec::new()),
        (true, false, _) => ("C", Some("C"), open(&checked)),
        (true, true, false) => ("D", Some("D"), open(&demonstrated)),
        (true, true, true) => ("D", None, Vec::new()),
    };
    let evidence = vec![("Assess", assessed), ("Check", checked), ("Demonstrate", demonstrated)];
    Route { current, evidence, blocking, next }
}

impl Route {
    /// The report.
    pub fn page(&self, rollout: &str) -> Page {
        let told = |(_, known): &(&str, Option<Known>)| match known {
            None => "never ran".to_owned(),
            Some(known) if known.stale.is_empty() => known.told.clone(),
            Some(known) => format!("stale ({} changed): {}", known.stale.join(", "), known.told),
        };
        let evidence = self.evidence.iter().map(|known| (known.0.to_owned(), vec![told(known)]));
        let command = match self.next {
            None => "none: it was demonstrated, and nothing has changed since".to_owned(),
            Some(stage @ "A") => format!("{stage}: verbatim assess {rollout}"),
            Some(stage @ "B") => format!("{stage}: change what is open, then verbatim assess {rollout}"),
            Some(stage @ "C") => format!("{stage}: verbatim check {rollout}"),
            Some(stage) => format!("{stage}: verbatim demonstrate {rollout}"),
        };
        let mut fields = vec![("Current stage".to_owned(), vec![self.current.to_owned()])];
        fields.extend(evidence);
        fields.push(("Blocking unknowns".to_owned(), listed(&self.blocking)));
        fields.push(("Next allowed stage".to_owned(), vec![command]));
        Page::new("Stages").with(Part::Fields(fields))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(passed: bool, stale: &[&str]) -> Option<Known> {
        let stale = stale.iter().map(|what| (*what).to_owned()).collect();
        Some(Known { stale, told: "said".into(), passed, open: vec!["an item".into()] })
    }

    #[test]
    fn a_stage_comes_only_after_the_one_before_has_passed_and_while_nothing_changed() {
        let at = |a, c, d| {
            let route = route(a, c, d);
            (route.current, route.next)
        };
        assert_eq!(at(None, None, None), ("A", Some("A")));
        assert_eq!(at(known(false, &[]), None, None), ("A", Some("B")));
        assert_eq!(at(known(true, &[]), None, None), ("C", Some("C")));
        assert_eq!(at(known(true, &["agent"]), known(true, &[]), known(true, &[])), ("A", Some("A")));
        assert_eq!(at(known(true, &[]), known(false, &[]), known(true, &[])), ("C", Some("C")));
        assert_eq!(at(known(true, &[]), known(true, &[]), known(false, &[])), ("D", Some("D")));
        assert_eq!(at(known(true, &[]), known(true, &[]), known(true, &["engine"])), ("D", Some("D")));
        assert_eq!(at(known(true, &[]), known(true, &[]), known(true, &[])), ("D", None));
    }
}
