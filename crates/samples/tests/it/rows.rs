//! Any row that could be in a file.

use proptest::prelude::*;
use serde_json::{Map, Number, Value};
use verbatim_events::{Finish, GroupId, NodeId, SessionId};
use verbatim_samples::{Advantages, CacheUse, Row, Status, Turn};
use verbatim_tokens::{LogprobKind, MaskCause, Replay, Runs, Speculation, TokenId, Version, Width};

type Sampled = (u32, Option<f32>, Option<MaskCause>, Option<String>);

fn causes() -> impl Strategy<Value = Option<MaskCause>> {
    use MaskCause::{NoLogprob, Observation, Policy, SharedOwner, Trimmed, Truncated};
    prop::option::of(prop::sample::select(vec![
        Observation,
        SharedOwner,
        Trimmed,
        NoLogprob,
        Truncated,
        Policy,
    ]))
}

fn values() -> impl Strategy<Value = Value> {
    let number = prop_oneof![
        any::<i64>().prop_map(Number::from),
        any::<u64>().prop_map(Number::from),
        any::<f64>().prop_filter_map("finite", Number::from_f64),
    ];
    let leaf = prop_oneof![
        any::<bool>().prop_map(Value::Bool),
        number.prop_map(Value::Number),
        any::<String>().prop_map(Value::String),
        Just(Value::Null),
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::Array),
            prop::collection::vec((any::<String>(), inner), 0..3)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

fn metadata() -> impl Strategy<Value = Map<String, Value>> {
    let name = prop_oneof![8 => any::<String>(), 1 => Just("verbatim".to_owned()), 1 => Just("\u{2028}é\n".to_owned())];
    prop::collection::vec((name, values()), 0..4).prop_map(|fields| {
        // A null under our own name reads back as no value there.
        fields.into_iter().filter(|(name, value)| name != "verbatim" || !value.is_null()).collect()
    })
}

fn finite() -> impl Strategy<Value = f64> {
    any::<f64>().prop_filter("finite", |value| value.is_finite())
}

pub(crate) fn rows() -> impl Strategy<Value = Row> {
    let token =
        (any::<u32>(), prop::option::of(-9000.0f32..=0.0), causes(), prop::option::of("[a-zé7]{0,3}"));
    let names = (any::<String>(), prop::option::of(any::<String>()), any::<u32>(), any::<u64>());
    let tokens = (prop::collection::vec(any::<u32>(), 0..6), prop::collection::vec(token, 0..12));
    let rest = (prop::option::of(finite()), finite(), any::<bool>(), any::<u32>(), metadata());
    (names, tokens, rest).prop_map(|(names, (prompt, sampled), rest)| row(names, &prompt, sampled, rest))
}

fn row(
    (session, group, node, at): (String, Option<String>, u32, u64),
    prompt: &[u32],
    sampled: Vec<Sampled>,
    (reward, weight, cut, cached, metadata): (Option<f64>, f64, bool, u32, Map<String, Value>),
) -> Row {
    let (mut mask, mut versions) = (Runs::default(), Runs::default());
    mask.extend(Some(MaskCause::Observation), prompt.len());
    versions.extend(None, prompt.len());
    let mut tokens: Vec<_> = prompt.iter().copied().map(TokenId).collect();
    let mut logprobs = vec![None; prompt.len()];
    let (start, end) = (prompt.len(), prompt.len() + sampled.len());
    for (id, logprob, cause, version) in sampled {
        tokens.push(TokenId(id));
        logprobs.push(logprob);
        mask.extend(cause, 1);
        versions.extend(version.map(Version::new), 1);
    }
    let finish = if cut { Finish::Length } else { Finish::Stop };
    let turn = Turn {
        node: NodeId(node),
        start,
        end,
        finish,
        temperature: at as f32 / 7.0,
        response: session.clone(),
        at,
        reward: reward.filter(|_| at % 2 == 0),
    };
    let routed = node.is_multiple_of(2) && tokens.len() > 1;
    let experts = routed.then(|| {
        let width = [Width::U8, Width::U16, Width::I32][node as usize % 3];
        let bytes = vec![1; (tokens.len() - 1) * 6 * width.bytes()];
        Replay::new(0, 3, 2, width, bytes).unwrap()
    });
    let advantages = match at % 4 {
        0 => reward.map(Advantages::Whole),
        1 => Some(Advantages::Turns(vec![weight; usize::from(end > start)])),
        _ => None,
    };
    let speculation = cut.then_some(Speculation { proposed: 5, accepted: 3, verified: 2 });
    Row {
        session: SessionId::new(session),
        group: group.map(GroupId::new),
        group_index: (at % 3 == 0).then_some(at),
        sample_index: (at % 3 == 0).then_some(at.wrapping_mul(7)),
        leaf: NodeId(node),
        name: (at % 5 == 0).then(|| format!("context {at}")),
        tokens,
        prompt_length: start,
        mask,
        logprobs,
        logprob_kind: if cut { LogprobKind::Raw } else { LogprobKind::Processed },
        versions,
        indexer: experts.as_ref().filter(|_| cut).map(|experts| experts.widened(Width::I32)),
        experts,
        images: if prompt.is_empty() || at % 3 == 0 { Vec::new() } else { vec![crate::images::at(0, 1)] },
        turns: if end > start { vec![turn] } else { Vec::new() },
        status: if cut { Status::Truncated } else { Status::Completed },
        reward,
        advantages,
        weight,
        cache: CacheUse { cached_tokens: cached as usize, total_prompt_tokens: start },
        speculation,
        metadata,
    }
}
