//! Loads, timeouts and exports whose verdict is known: one on each side of every formula.

use verbatim_stages::check::{
    Export, Gate, Hold, Load, Machine, Need, Patience, Verdict, Widths, capacity, export, hold, required,
    scale, timeout,
};
use verbatim_stages::lineage::Topology;

fn load(train: u64, eval: u64, retained: bool) -> Load {
    Load { train, eval, retained }
}

#[test]
fn a_pool_has_enough_places_exactly_from_what_its_formula_says() {
    let shared = [
        (load(8, 0, false), 8),
        (load(8, 0, true), 8),
        // Whichever is larger, where training's sessions end first.
        (load(8, 3, false), 8),
        (load(8, 12, false), 12),
        // Both, where they live on.
        (load(8, 3, true), 11),
        (load(8, 12, true), 20),
    ];
    for (load, needed) in shared {
        assert_eq!(required(load, Gate::Shared(None)), Some(Need::Shared(needed)), "{load:?}");
        let verdict = |slots| capacity(load, Gate::Shared(slots)).verdict;
        assert_eq!(verdict(Some(needed)), Verdict::Pass, "{load:?}");
        assert_eq!(verdict(Some(needed - 1)), Verdict::Unsafe, "{load:?}");
        assert_eq!(verdict(None), Verdict::Unverified, "{load:?}");
        assert_eq!(capacity(load, Gate::None).verdict, Verdict::NotApplicable);
    }
    let dedicated = |train, eval| capacity(load(8, 3, true), Gate::Dedicated { train, eval }).verdict;
    assert_eq!(dedicated(Some(8), Some(3)), Verdict::Pass);
    assert_eq!(dedicated(Some(7), Some(30)), Verdict::Unsafe);
    assert_eq!(dedicated(Some(80), Some(2)), Verdict::Unsafe);
    assert_eq!(dedicated(Some(8), None), Verdict::Unverified);
    // What is known to be too few is said before what nobody knows.
    assert_eq!(dedicated(Some(7), None), Verdict::Unsafe);
    // Nothing is asked of a pool that nobody uses.
    let unused = capacity(load(8, 0, true), Gate::Dedicated { train: Some(8), eval: None });
    assert_eq!(unused.verdict, Verdict::Pass);
}

#[test]
fn too_few_places_come_with_the_number_that_is_needed() {
    let line = capacity(load(8, 4, true), Gate::Shared(Some(2)));
    assert!(line.told().contains("12 slots are needed, and there are 2"), "{}", line.told());
    assert!(line.way_out.contains("give it 12 slots"), "{}", line.way_out);
}

#[test]
fn the_worst_hold_follows_from_what_holds() {
    let by = |retained, barrier, deadline, known| hold(retained, barrier, deadline, known).seconds;
    assert_eq!(by(false, 0.0, 600.0, None), 0.0);
    assert_eq!(by(false, 120.0, 600.0, None), 120.0);
    assert_eq!(by(false, 900.0, 600.0, None), 600.0);
    assert_eq!(by(true, 120.0, 600.0, None), 600.0);
    assert_eq!(by(true, 120.0, 600.0, Some(42.0)), 42.0);
}

#[test]
fn a_client_is_patient_enough_exactly_from_the_hold_on() {
    let hold = Hold { seconds: 600.0, by: "a test".into() };
    let known = |client: f64| Patience { client: Some(client), ..Patience::default() };
    let verdict = |patience| timeout(&hold, patience).verdict;
    assert_eq!(verdict(known(600.0)), Verdict::Pass);
    assert_eq!(verdict(known(599.0)), Verdict::Unsafe);
    assert_eq!(verdict(known(30.0)), Verdict::Unsafe);
    assert_eq!(verdict(Patience::default()), Verdict::Unverified);
    // What was seen to wait so long does; what waited less long may.
    assert_eq!(verdict(Patience { waited: Some(600.0), ..Patience::default() }), Verdict::Pass);
    assert_eq!(verdict(Patience { waited: Some(10.0), ..Patience::default() }), Verdict::Unverified);
    // A proxy on the way counts like the client.
    assert_eq!(verdict(Patience { proxied: true, ..known(900.0) }), Verdict::Unverified);
    assert_eq!(verdict(Patience { proxied: true, proxy: Some(60.0), ..known(900.0) }), Verdict::Unsafe);
    assert_eq!(verdict(Patience { proxied: true, proxy: Some(600.0), ..known(900.0) }), Verdict::Pass);
    let none = Hold { seconds: 0.0, by: "nothing".into() };
    assert_eq!(timeout(&none, Patience::default()).verdict, Verdict::Pass);
    let told = timeout(&hold, known(30.0)).told();
    assert!(told.contains("gives up after 30 s") && told.contains("wait 600 s or longer"), "{told}");
}

#[test]
fn widths_are_looked_at_only_where_the_load_comes_near_one() {
    let machine = Machine { files: Some(1 << 20), processes: Some(1 << 16), memory_mib: Some(1 << 16) };
    let widths = |sessions, connections| Widths {
        sessions,
        local: true,
        connections,
        max_sessions: None,
        agent_mib: None,
    };
    let verdicts = |widths, machine| {
        let lines = scale(widths, machine);
        (lines[0].verdict, lines.iter().skip(1).filter(|line| line.blocks()).count())
    };
    assert_eq!(verdicts(widths(16, 4096), machine), (Verdict::NotApplicable, 0));
    assert_eq!(verdicts(widths(1024, 4096), machine), (Verdict::Pass, 0));
    assert_eq!(verdicts(widths(4096, 4096), machine), (Verdict::Unsafe, 1));
    assert_eq!(verdicts(widths(16, 8), machine), (Verdict::Unsafe, 1));
    let narrow = Machine { files: Some(1024), ..machine };
    assert_eq!(verdicts(widths(200, 4096), narrow), (Verdict::Unsafe, 1));
    let silent = Machine::default();
    assert_eq!(verdicts(widths(1024, 4096), silent), (Verdict::Unverified, 2));
}

#[test]
fn the_table_of_export_credit_and_batching() {
    let one = Export {
        topology: Some(Topology::Linear),
        several: false,
        advantage: false,
        rewarded: Some(true),
        dynamic: None,
        bounded: false,
    };
    let several = Export { topology: Some(Topology::Intentional), several: true, advantage: true, ..one };
    let cases = [
        (one, [Verdict::Pass, Verdict::Pass, Verdict::Pass]),
        (Export { rewarded: None, ..one }, [Verdict::Pass, Verdict::Unverified, Verdict::Pass]),
        (Export { rewarded: Some(false), ..one }, [Verdict::Pass, Verdict::NeedsChanges, Verdict::Pass]),
        (Export { rewarded: None, advantage: true, ..one }, [Verdict::Pass; 3]),
        (Export { topology: None, ..one }, [Verdict::Unverified, Verdict::Pass, Verdict::Pass]),
        (
            Export { topology: Some(Topology::Accidental), ..one },
            [Verdict::NeedsChanges, Verdict::Pass, Verdict::Pass],
        ),
        (
            Export { topology: Some(Topology::Intentional), ..one },
            [Verdict::NeedsChanges, Verdict::Pass, Verdict::Pass],
        ),
        (several, [Verdict::Pass, Verdict::Pass, Verdict::Unverified]),
        (Export { advantage: false, ..several }, [Verdict::Pass, Verdict::NeedsChanges, Verdict::Unverified]),
        (Export { dynamic: Some(false), ..several }, [Verdict::Pass, Verdict::Pass, Verdict::NeedsChanges]),
        (Export { dynamic: Some(true), ..several }, [Verdict::Pass, Verdict::Pass, Verdict::NeedsChanges]),
        (Export { dynamic: Some(true), bounded: true, ..several }, [Verdict::Pass; 3]),
        (
            Export { topology: Some(Topology::Accidental), dynamic: Some(true), bounded: true, ..several },
            [Verdict::NeedsChanges, Verdict::Pass, Verdict::Pass],
        ),
    ];
    for (case, expected) in cases {
        let found: Vec<Verdict> = export(case).iter().map(|line| line.verdict).collect();
        assert_eq!(found, expected, "{case:?}");
    }
}
