//! Which engine takes an attempt.

use std::collections::HashMap;
use std::sync::Arc;

/// An engine as the choice sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct View {
    /// Whether it takes work: healthy, not draining, not left alone.
    pub(super) takes: bool,
    /// Attempts that it runs for us, and what waits there by its own count.
    pub(super) busy: usize,
    /// Whether it may run one more.
    pub(super) free: bool,
    /// How often it failed since it last answered.
    pub(super) failures: u32,
}

/// What comes of a choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Choice {
    /// This one.
    Take(usize),
    /// One takes work and has no room now.
    Wait,
    /// None takes work.
    None,
}

/// Chooses.
///
/// A session stays at its `home`, where its prefix is cached. It leaves one that takes no work or has
/// just failed, and one without room only for another that is at most half as busy: computing a prefix
/// again costs more than a short wait. Without a home the least busy engine is chosen.
pub(super) fn choose(engines: &[View], home: Option<usize>) -> Choice {
    let takes = || engines.iter().enumerate().filter(|(_, engine)| engine.takes);
    if takes().next().is_none() {
        return Choice::None;
    }
    let best = takes().filter(|(_, engine)| engine.free).min_by_key(|(_, one)| (one.failures, one.busy));
    let home = home.and_then(|at| Some((at, engines.get(at)?))).filter(|(_, home)| home.takes);
    match (home, best) {
        (Some((at, home)), _) if home.free && home.failures == 0 => Choice::Take(at),
        (Some((_, home)), Some((other, least))) if home.failures > 0 || least.busy * 2 <= home.busy => {
            Choice::Take(other)
        }
        (Some((at, home)), _) if home.free => Choice::Take(at),
        (Some(_), _) | (None, None) => Choice::Wait,
        (None, Some((at, _))) => Choice::Take(at),
    }
}

/// Where sessions were last. Two generations, so that it forgets in constant time what was not asked
/// for in a while.
#[derive(Debug, Default)]
pub(super) struct Homes {
    young: HashMap<Arc<str>, Arc<str>>,
    old: HashMap<Arc<str>, Arc<str>>,
}

/// Sessions a generation.
const GENERATION: usize = 1 << 17;

impl Homes {
    pub(super) fn get(&self, session: &str) -> Option<&Arc<str>> {
        self.young.get(session).or_else(|| self.old.get(session))
    }

    pub(super) fn put(&mut self, session: Arc<str>, engine: Arc<str>) {
        if self.young.len() >= GENERATION {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(session, engine);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(busy: usize) -> View {
        View { takes: true, busy, free: true, failures: 0 }
    }

    #[test]
    fn a_session_stays_where_its_prefix_is() {
        assert_eq!(choose(&[view(9), view(0)], Some(0)), Choice::Take(0));
        let full = View { free: false, ..view(4) };
        assert_eq!(choose(&[full, view(3)], Some(0)), Choice::Wait, "a wait is cheaper than its prefix");
        assert_eq!(choose(&[full, view(2)], Some(0)), Choice::Take(1));
    }

    #[test]
    fn it_leaves_what_takes_no_work_or_has_failed() {
        let gone = View { takes: false, ..view(0) };
        assert_eq!(choose(&[gone, view(7)], Some(0)), Choice::Take(1));
        let failing = View { failures: 1, ..view(0) };
        assert_eq!(choose(&[failing, view(7)], Some(0)), Choice::Take(1));
        assert_eq!(choose(&[failing], Some(0)), Choice::Take(0), "there is no other");
        assert_eq!(choose(&[gone], Some(0)), Choice::None);
        assert_eq!(choose(&[], None), Choice::None);
    }

    #[test]
    fn a_new_session_goes_where_least_is_done() {
        assert_eq!(choose(&[view(3), view(1), view(2)], None), Choice::Take(1));
        assert_eq!(choose(&[View { free: false, ..view(9) }], None), Choice::Wait);
    }
}
