//! Trying a server out.
//!
//! Nothing here changes the server: it generates a few tokens, scores them, and aborts one attempt.

use std::time::Duration;

use futures::StreamExt;
use verbatim_engine::{
    AttemptId, Attempts, End, Ending, Engine, EngineError, Params, Piece, Prompt, SessionKey, StopBy,
};
use verbatim_engine_http::{Facts, Kind, Server};
use verbatim_tokens::{LogprobKind, Sampled, TokenId};

use super::report::{Check, EngineReport, State};

/// Tokens a try.
const TOKENS: u32 = 12;
/// How far a score may be from what sampling told to count as the same number, in nats.
const SAME: f32 = 0.05;
/// How long an abort may take.
const ABORT: Duration = Duration::from_secs(15);

/// What one attempt yielded.
struct Tried {
    sampled: Sampled,
    increments: usize,
    end: End,
}

/// Tries a server out; `prompt` should be something that a reply of a few tokens follows.
///
/// # Errors
/// [`EngineError`] if it does not generate at all.
pub async fn inspect(server: &Server, prompt: &[TokenId]) -> Result<EngineReport, EngineError> {
    let engine = server.engine.as_ref();
    // What a server says is likely is whole words; llama.cpp has no logprobs for parts of a character.
    let cold = Params { max_tokens: TOKENS, temperature: 0.0, ..Params::default() };
    let tried = attempt(engine, prompt, &cold).await?;
    let mut checks = vec![ids(&tried), logprobs(&tried)];
    checks.push(scores(engine, prompt, &tried).await);
    checks.push(kind(engine, prompt).await?);
    checks.push(stops(engine, prompt, &tried).await?);
    checks.push(versions(&tried, server));
    checks.push(streams(&tried, server));
    checks.push(aborts(engine, prompt).await);
    checks.extend(told(server));
    let ready = checks.iter().all(|check| !check.needed || check.state == State::Yes);
    let capabilities = engine.capabilities();
    Ok(EngineReport {
        url: server.url.clone(),
        kind: server.kind.as_str(),
        model: capabilities.model.clone(),
        context: capabilities.max_context,
        facts: server.facts.clone(),
        checks,
        ready,
    })
}

async fn attempt(engine: &dyn Engine, prompt: &[TokenId], params: &Params) -> Result<Tried, EngineError> {
    let mut attempts = Attempts::new(engine.capabilities().logprobs, params.max_tokens);
    let mut increments = 0;
    let prompt = Prompt::new(prompt, SessionKey("probe".into()));
    let mut pieces = engine.generate(AttemptId::fresh(), prompt, params);
    while let Some(piece) = pieces.next().await {
        match piece {
            Piece::More(increment) => {
                increments += 1;
                attempts.push(increment)?;
            }
            Piece::End(end) => {
                if let Ending::Failed(error) = end.ending {
                    return Err(error);
                }
                attempts.end(&end);
                return Ok(Tried { sampled: attempts.finish()?, increments, end });
            }
        }
    }
    Err(EngineError::Cut { tokens: attempts.ids().len(), reason: "the stream ended without an end".into() })
}

fn ids(tried: &Tried) -> Check {
    let (state, note) = match tried.sampled.len() {
        0 => (State::No, "none came back: nothing can be trained on".to_owned()),
        count => (State::Yes, format!("{count} of {TOKENS} asked")),
    };
    Check::new("sampled token ids", state, note).needed()
}

fn logprobs(tried: &Tried) -> Check {
    let (all, with) = (tried.sampled.len(), tried.sampled.logprobs().iter().flatten().count());
    let state = if with == all && all > 0 { State::Yes } else { State::No };
    let note = match state {
        State::Yes => format!("one for each of {all} tokens"),
        _ => format!("{with} for {all} tokens; a token without one carries no loss"),
    };
    Check::new("a logprob for each token", state, note).needed()
}

/// Whether the server scores what it sampled as it sampled it.
async fn scores(engine: &dyn Engine, prompt: &[TokenId], tried: &Tried) -> Check {
    let what = "scoring of given ids";
    let Some(scorer) = engine.score() else {
        return Check::new(what, State::No, "`verbatim verify rows` needs another engine for its rows");
    };
    let ids = [prompt, tried.sampled.ids()].concat();
    match scorer.score(ids, prompt.len()).await {
        Ok(scored) => {
            let told = tried.sampled.logprobs().iter().zip(&scored[prompt.len()..]);
            let gaps = told.filter_map(|(told, scored)| Some((told? - (*scored)?).abs()));
            let (worst, count) = gaps.fold((0f32, 0), |(worst, count), gap| (worst.max(gap), count + 1));
            Check::new(what, State::Yes, format!("largest gap to sampling {worst:.1e} over {count} tokens"))
        }
        Err(error) => Check::new(what, State::No, error.to_string()),
    }
}

/// Which distribution logprobs are of: sampled cold, and scored.
async fn kind(engine: &dyn Engine, prompt: &[TokenId]) -> Result<Check, EngineError> {
    let what = "kind of logprobs";
    let declared = engine.capabilities().logprobs;
    let name = |kind| match kind {
        LogprobKind::Raw => "raw: before temperature and truncation",
        LogprobKind::Tempered => "tempered: after temperature, before truncation",
        LogprobKind::Processed => "processed: of the distribution that was sampled",
    };
    let Some(scorer) = engine.score() else {
        return Ok(Check::new(what, State::Unknown, format!("taken as {}", name(declared))));
    };
    let hot = Params { max_tokens: TOKENS, temperature: 2.0, ..Params::default() };
    let tried = attempt(engine, prompt, &hot).await?;
    let scored = scorer.score([prompt, tried.sampled.ids()].concat(), prompt.len()).await?;
    let told = tried.sampled.logprobs().iter().zip(&scored[prompt.len()..]);
    let gaps: Vec<f32> = told.filter_map(|(told, raw)| Some((told? - (*raw)?).abs())).collect();
    let raw = gaps.iter().all(|gap| *gap < SAME);
    let (state, note) = match (declared, raw) {
        (LogprobKind::Raw, true) => (State::Yes, format!("{} (seen at temperature 2)", name(declared))),
        (LogprobKind::Raw, false) => (
            State::No,
            "raw ones were expected, and at temperature 2 they are not; say which with engine.logprobs"
                .to_owned(),
        ),
        (_, false) => (State::Yes, format!("{} (seen at temperature 2)", name(declared))),
        (_, true) => (
            State::No,
            format!("expected {}; at temperature 2 they are raw: set engine.logprobs=raw", name(declared)),
        ),
    };
    Ok(Check::new(what, state, note).needed())
}

/// Whether a stop id ends a reply and is part of it.
async fn stops(engine: &dyn Engine, prompt: &[TokenId], tried: &Tried) -> Result<Check, EngineError> {
    let what = "stop ids, kept in the reply";
    let Some(first) = tried.sampled.ids().first().copied() else {
        return Ok(Check::new(what, State::Unknown, "nothing was sampled"));
    };
    // Whatever it samples first with the same seed, greedily, is its stop.
    let cold = Params { max_tokens: 1, temperature: 0.0, ..Params::default() };
    let first = attempt(engine, prompt, &cold).await?.sampled.ids().first().copied().unwrap_or(first);
    let params = Params { max_tokens: TOKENS, temperature: 0.0, stop_ids: vec![first], ..Params::default() };
    let stopped = attempt(engine, prompt, &params).await?;
    let kept = stopped.sampled.ids() == [first];
    let ended = matches!(&stopped.end.ending, Ending::Stop(StopBy::Token(id)) if *id == first);
    let note = format!(
        "{} tokens up to stop id {first}, ended by {}",
        stopped.sampled.len(),
        said(&stopped.end.ending)
    );
    Ok(Check::new(what, if kept && ended { State::Yes } else { State::No }, note).needed())
}

fn versions(tried: &Tried, server: &Server) -> Check {
    let known = tried.sampled.versions().iter();
    let known: usize = known.filter(|(version, _)| version.is_some()).map(|(_, count)| count).sum();
    let (all, exact) = (tried.sampled.len(), tried.end.versions.is_some());
    let (state, note) = match (known == all && all > 0, exact) {
        (true, true) => (State::Yes, "exact, span by span".to_owned()),
        (true, false) => (
            State::Yes,
            "one for a whole reply: tokens of a reply during which it changes have an unknown one".to_owned(),
        ),
        (false, _) => {
            (State::No, "rows cannot say which weights sampled a token".to_owned() + way_out(server))
        }
    };
    Check::new("weight version of each token", state, note)
}

fn way_out(server: &Server) -> &'static str {
    match (server.kind, server.facts.tokens_route) {
        (Kind::Vllm, Some(false)) => "; start it with --enable-scale-out and VLLM_SERVER_DEV_MODE=1",
        (Kind::Vllm, _) => "; start it with VLLM_SERVER_DEV_MODE=1",
        _ => "",
    }
}

fn streams(tried: &Tried, server: &Server) -> Check {
    let what = "tokens while they are sampled";
    if tried.increments > 1 {
        return Check::new(what, State::Yes, format!("{} pieces", tried.increments));
    }
    let note = match (server.kind, server.facts.incremental) {
        (Kind::Sglang, Some(false)) => {
            "replies come whole: its stream repeats itself with each token; start it with --incremental-streaming-output"
        }
        (Kind::LlamaCpp, _) => "replies come whole: its stream leaves tokens out",
        _ => "replies come whole",
    };
    Check::new(what, State::No, note)
}

/// Whether an attempt can be ended early, and gives back what it has.
async fn aborts(engine: &dyn Engine, prompt: &[TokenId]) -> Check {
    let what = "aborting, with what was sampled";
    let room = engine.capabilities().max_context.saturating_sub(prompt.len() + 1);
    let params = Params { max_tokens: room.min(2048) as u32, temperature: 1.0, ..Params::default() };
    let id = AttemptId::fresh();
    let mut pieces = engine.generate(id, Prompt::new(prompt, SessionKey("probe".into())), &params);
    let trying = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        engine.abort(id).await?;
        let mut tokens = 0;
        while let Some(piece) = pieces.next().await {
            match piece {
                Piece::More(increment) => tokens += increment.ids.len(),
                Piece::End(end) => return Ok((tokens, end.ending)),
            }
        }
        Err(EngineError::Cut { tokens, reason: "the stream ended without an end".into() })
    };
    match tokio::time::timeout(ABORT, trying).await {
        Ok(Ok((0, Ending::Aborted))) => {
            Check::new(what, State::No, "it ends and gives nothing back: a pause throws its tokens away")
        }
        Ok(Ok((tokens, Ending::Aborted))) => {
            Check::new(what, State::Yes, format!("{tokens} tokens came back"))
        }
        Ok(Ok((tokens, ending))) => {
            Check::new(what, State::Unknown, format!("it ended first: {tokens} tokens, {}", said(&ending)))
        }
        Ok(Err(error)) => Check::new(what, State::No, error.to_string()),
        Err(_) => Check::new(what, State::No, format!("not over {} s after it was told", ABORT.as_secs())),
    }
}

fn said(ending: &Ending) -> String {
    match ending {
        Ending::Stop(StopBy::Token(id)) => format!("stop id {id}"),
        Ending::Stop(StopBy::Text(text)) => format!("stop string {text:?}"),
        Ending::Stop(StopBy::Other(what)) => what.clone(),
        Ending::Length => "its limit".to_owned(),
        Ending::Aborted => "an abort".to_owned(),
        Ending::Failed(error) => error.to_string(),
    }
}

/// What is not tried, because trying would disturb whoever uses the server.
fn told(server: &Server) -> Vec<Check> {
    let Facts { control, experts, grammar, images, truncates, no_tokenizer, .. } = &server.facts;
    let pause = match (server.kind, control) {
        (Kind::Vllm, Some(false)) => {
            "start it with VLLM_SERVER_DEV_MODE=1; until then weights can be updated only while no turn runs"
        }
        (Kind::LlamaCpp, _) => "it has none; weights are those of its start",
        _ => "abort, retract, in place, drain",
    };
    let routing = match (server.kind, experts) {
        (Kind::LlamaCpp, _) => "it has none",
        (_, Some(true)) => "on",
        (_, Some(false)) => "off; for a mixture of experts start it with --enable-return-routed-experts",
        (_, None) => "it does not say",
    };
    let mut checks = vec![
        Check::new("pausing and weight updates", State::from(*control), pause),
        Check::new("routed experts", State::from(*experts), routing),
        Check::new("grammars", State::from(*grammar), "no request of ours asks for one"),
        Check::new("images", State::from(*images), "as it says of its model"),
    ];
    if truncates == &Some(true) {
        checks.push(
            Check::new(
                "prompts as they are sent",
                State::No,
                "it runs with --allow-auto-truncate and would shorten long prompts without a word; start it without",
            )
            .needed(),
        );
    }
    if no_tokenizer == &Some(true) {
        checks.push(Check::new("stop strings", State::No, "it has no tokenizer; they are looked for here"));
    }
    checks
}
