//! Verdicts, and how they add up.

use serde::{Deserialize, Serialize};

/// What is said of one thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Verdict {
    /// It is right.
    Pass,
    /// It does not apply.
    #[serde(rename = "N/A")]
    NotApplicable,
    /// Nobody knows.
    Unverified,
    /// It is wrong, and can be put right.
    NeedsChanges,
    /// It would fail, or lose data, while the job runs.
    Unsafe,
}

impl Verdict {
    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pass => "PASS",
            Self::NotApplicable => "N/A",
            Self::Unverified => "UNVERIFIED",
            Self::NeedsChanges => "NEEDS_CHANGES",
            Self::Unsafe => "UNSAFE",
        }
    }

    /// Of all of them: UNSAFE before UNVERIFIED before PASS. Nothing at all is unverified.
    pub fn of_all(each: impl IntoIterator<Item = Self>) -> Self {
        match Self::worst(each) {
            None => Self::Unverified,
            Some(Self::NeedsChanges) => Self::Unsafe,
            Some(Self::NotApplicable) => Self::Pass,
            Some(worst) => worst,
        }
    }

    /// The worst of them; that a thing does not apply is said only if none does.
    pub fn worst(each: impl IntoIterator<Item = Self>) -> Option<Self> {
        let rank = |verdict: &Self| match verdict {
            Self::NotApplicable => 0,
            Self::Pass => 1,
            Self::Unverified => 2,
            Self::NeedsChanges => 3,
            Self::Unsafe => 4,
        };
        each.into_iter().max_by_key(rank)
    }
}

/// One verdict with its evidence and its way out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    /// The verdict.
    pub verdict: Verdict,
    /// What it is about.
    pub about: String,
    /// What was found.
    pub what: String,
    /// What to do; empty where nothing is to be done.
    pub way_out: String,
}

impl Line {
    /// A line.
    pub fn new(
        verdict: Verdict,
        about: impl Into<String>,
        what: impl Into<String>,
        way_out: impl Into<String>,
    ) -> Self {
        Self { verdict, about: about.into(), what: what.into(), way_out: way_out.into() }
    }

    /// As one text.
    pub fn told(&self) -> String {
        let Self { about, what, way_out, .. } = self;
        if way_out.is_empty() { format!("{about}: {what}") } else { format!("{about}: {what}; {way_out}") }
    }

    /// Whether it keeps the job from being ready.
    pub fn blocks(&self) -> bool {
        !matches!(self.verdict, Verdict::Pass | Verdict::NotApplicable)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_counts_and_nothing_is_no_pass() {
        use Verdict::*;
        assert_eq!(Verdict::of_all([]), Unverified);
        assert_eq!(Verdict::of_all([Pass, NotApplicable]), Pass);
        assert_eq!(Verdict::of_all([Pass, Unverified, NotApplicable]), Unverified);
        assert_eq!(Verdict::of_all([Unverified, NeedsChanges, Pass]), Unsafe);
        assert_eq!(Verdict::of_all([Unverified, Unsafe]), Unsafe);
        assert_eq!(Verdict::worst([NotApplicable]), Some(NotApplicable));
    }
}
