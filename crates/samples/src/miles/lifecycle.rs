//! When the turns of a row began and ended.

use serde_json::{Value, json};
use verbatim_events::NodeId;
use verbatim_forest::Forest;

/// One entry a turn: `t0` when its first attempt began and `t1` when it was committed, both in seconds since the
/// Unix epoch, `req_ts` when its request came, `turn` from 1, `prev_t1` of the turn before. Of a single turn it
/// is the entry itself, as in Miles.
pub(super) fn lifecycle(forest: &Forest, turns: impl Iterator<Item = NodeId>) -> Value {
    let mut entries = Vec::new();
    let mut previous = None;
    for (at, node) in turns.enumerate() {
        let Some(generation) = forest.node(node).and_then(|node| node.generation()) else { continue };
        let timings = &generation.timings;
        let end = generation.at as f64 / 1000.0;
        let begin = end - timings.generate.as_secs_f64();
        let asked = begin - timings.held.as_secs_f64() - timings.prepare.as_secs_f64();
        let mut entry = json!({"t0": begin, "t1": end, "turn": at + 1, "req_ts": asked});
        if let Some(previous) = previous {
            entry["prev_t1"] = json!(previous);
        }
        previous = Some(end);
        entries.push(entry);
    }
    match entries.len() {
        1 => entries.remove(0),
        _ => Value::Array(entries),
    }
}
