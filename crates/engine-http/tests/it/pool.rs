//! Many engines as one: sessions stay, failing engines are left alone, all are told at once.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use verbatim_engine::{
    AttemptId, Ending, Engine, EngineError, Fleet, FleetError, Order, Params, PauseMode, Remedy,
};
use verbatim_engine_http::{Options, Pool, PoolOptions};
use verbatim_engine_mock::{Fault, Mock, Wire};
use verbatim_tokens::Version;

use crate::support::{ask, collect, mock, params, prompt, quick, slow_mock, until};

async fn engines(count: usize) -> Vec<Mock> {
    slow_engines(count, Duration::ZERO).await
}

async fn slow_engines(count: usize, token: Duration) -> Vec<Mock> {
    let mut all = Vec::new();
    for _ in 0..count {
        let line = vec![11, 12, 2];
        let (mock, _) = slow_mock(Wire::Sglang, token, [line], |options| options.eos = vec![2]).await;
        all.push(mock);
    }
    all
}

fn options(mocks: &[Mock], permits: usize) -> PoolOptions {
    PoolOptions {
        urls: mocks.iter().map(Mock::url).collect(),
        router: None,
        kind: None,
        permits,
        watch: Duration::from_millis(50),
        server: quick(),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_stays_where_its_prefix_is_and_sessions_are_spread() {
    let mocks = engines(3).await;
    let pool = Pool::connect(options(&mocks, 0)).await.unwrap();
    for turn in 0..4u32 {
        for session in 0..9 {
            let got = ask(&pool, prompt(&format!("s{session}"), &[9, turn]), &params()).await;
            assert_eq!(got.ids(), [11, 12, 2]);
        }
    }
    let mut homes: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (at, mock) in mocks.iter().enumerate() {
        for seen in mock.seen_at("/generate") {
            let session = seen.header("x-smg-routing-key").unwrap().to_owned();
            homes.entry(session).or_default().push(at);
        }
    }
    for (session, at) in &homes {
        assert!(at.len() == 4 && at.iter().all(|one| one == &at[0]), "{session} was at {at:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dead_engine_is_left_and_taken_back() {
    let mocks = engines(2).await;
    let pool = Pool::connect(options(&mocks, 0)).await.unwrap();
    let busy = |mock: &Mock| mock.seen_at("/generate").len();
    ask(&pool, prompt("s", &[9]), &params()).await;
    let home = usize::from(busy(&mocks[1]) > 0);
    mocks[home].kill().await;
    // Nothing is repeated here: the turn decides. Its next attempt goes elsewhere.
    let mut answered = 0;
    for _ in 0..6 {
        let got = ask(&pool, prompt("s", &[9]), &params()).await;
        match got.end.ending {
            Ending::Failed(error) => assert_eq!(error.remedy(), Remedy::Resume),
            _ => answered += 1,
        }
    }
    assert!(answered >= 5, "{answered} of 6");
    until("it is known to be down", || pool.members()[home].breaker == "open").await;
    mocks[home].restart().unwrap();
    until("it is ready again", || format!("{:?}", pool.members()[home].health) == "Ready").await;
    mocks[1 - home].kill().await;
    until("the other is down", || pool.members()[1 - home].breaker == "open").await;
    let got = ask(&pool, prompt("s", &[9]), &params()).await;
    assert_eq!(got.ids(), [11, 12, 2], "one engine that came back serves");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_engine_that_comes_back_with_other_flags_is_read_by_them() {
    let (one, _) = mock(Wire::Sglang, [vec![11, 12, 2]], |options| options.incremental = true).await;
    let port = one.url().rsplit(':').next().unwrap().parse().unwrap();
    let pool = Pool::connect(options(std::slice::from_ref(&one), 0)).await.unwrap();
    assert_eq!(ask(&pool, prompt("s", &[9]), &params()).await.ids(), [11, 12, 2]);
    one.kill().await;
    until("it is down", || pool.members()[0].breaker == "open").await;
    drop(one);
    let (_two, _) = mock(Wire::Sglang, [vec![11, 12, 2]], |options| options.port = port).await;
    until("it is back", || format!("{:?}", pool.members()[0].health) == "Ready").await;
    let mut got = ask(&pool, prompt("s", &[9]), &params()).await;
    for _ in 0..20 {
        if !matches!(got.end.ending, Ending::Failed(_)) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
        got = ask(&pool, prompt("s", &[9]), &params()).await;
    }
    assert_eq!(got.ids(), [11, 12, 2], "{:?}", got.end.ending);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_engine_runs_no_more_than_its_permits() {
    let mocks = engines(2).await;
    let pool = Pool::connect(options(&mocks, 2)).await.unwrap();
    mocks.iter().for_each(|mock| (0..6).for_each(|_| mock.fault(Fault::Late(Duration::from_millis(60)))));
    let all: Vec<_> = (0..12)
        .map(|at| {
            let pool = pool.clone();
            tokio::spawn(async move { ask(&pool, prompt(&format!("s{at}"), &[9]), &params()).await })
        })
        .collect();
    let watching = {
        let pool = pool.clone();
        tokio::spawn(async move {
            let mut most = 0;
            for _ in 0..100 {
                most = most.max(pool.members().iter().map(|member| member.attempts).max().unwrap());
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
            most
        })
    };
    for one in all {
        assert_eq!(one.await.unwrap().ids(), [11, 12, 2]);
    }
    assert_eq!(watching.await.unwrap(), 2);
    assert!(pool.members().iter().all(|member| member.attempts == 0), "every permit is back");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_reaches_all_and_who_does_not_answer_is_named() {
    let mocks = engines(3).await;
    let pool = Pool::connect(options(&mocks, 0)).await.unwrap();
    mocks[1].kill().await;
    let answers = pool.tell(Order::SetVersion(Version::new("5")), Duration::from_millis(300)).await;
    let failed: Vec<_> =
        answers.iter().filter(|answer| answer.outcome.is_err()).map(|one| &one.engine).collect();
    assert_eq!((answers.len(), failed), (3, vec![&mocks[1].url()]));
    let told: Vec<_> = mocks.iter().map(|mock| mock.seen_at("/update_weight_version").len()).collect();
    assert_eq!(told, [1, 0, 1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_paused_pool_sends_nothing_and_goes_on_after() {
    let mocks = engines(2).await;
    let pool = Pool::connect(options(&mocks, 0)).await.unwrap();
    let answers = pool.tell(Order::Pause(PauseMode::Abort), Duration::from_secs(3)).await;
    assert!(answers.iter().all(|answer| answer.outcome.is_ok()), "{answers:?}");
    let got = ask(&pool, prompt("s", &[9]), &params()).await;
    assert!(matches!(got.failure(), EngineError::Unavailable { .. }));
    assert!(
        mocks.iter().all(|mock| mock.seen_at("/generate").is_empty()),
        "nothing piles up in a paused engine"
    );
    pool.tell(Order::Resume, Duration::from_secs(3)).await;
    assert_eq!(ask(&pool, prompt("s", &[9]), &params()).await.ids(), [11, 12, 2]);
}

#[tokio::test(flavor = "multi_thread")]
async fn engines_come_and_go_while_it_runs() {
    let mocks = slow_engines(2, Duration::from_millis(60)).await;
    let pool = Pool::connect(options(&mocks[..1], 0)).await.unwrap();
    pool.add(mocks[1].url()).await.unwrap();
    assert!(matches!(pool.add(mocks[1].url()).await, Err(FleetError::Known { .. })));
    let (other, _) = mock(Wire::Vllm, [vec![11, 2]], |_| {}).await;
    let refused = pool.add(other.url()).await.unwrap_err();
    assert!(matches!(&refused, FleetError::Unfit { reason, .. } if reason.contains("logprobs")), "{refused}");
    let id = AttemptId::fresh();
    let reading = tokio::spawn(collect(pool.generate(id, prompt("s", &[9]), &params())));
    until("it runs", || pool.members()[0].attempts == 1).await;
    pool.remove(mocks[0].url(), Duration::from_secs(5)).await.unwrap();
    assert_eq!(reading.await.unwrap().ids(), [11, 12, 2], "what ran has ended by itself");
    assert_eq!(ask(&pool, prompt("s", &[9]), &params()).await.ids(), [11, 12, 2]);
    assert_eq!(pool.members().len(), 1);
    assert!(matches!(
        pool.remove("http://nowhere".into(), Duration::ZERO).await,
        Err(FleetError::Unknown { .. })
    ));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_attempt_that_waits_for_an_engine_can_be_aborted() {
    let mocks = engines(1).await;
    let pool = Pool::connect(options(&mocks, 1)).await.unwrap();
    mocks[0].fault(Fault::Late(Duration::from_millis(300)));
    let first = tokio::spawn(collect(pool.generate(AttemptId::fresh(), prompt("a", &[9]), &params())));
    until("it runs", || pool.members()[0].attempts == 1).await;
    let id = AttemptId::fresh();
    let second = tokio::spawn(collect(pool.generate(id, prompt("b", &[9]), &params())));
    tokio::time::sleep(Duration::from_millis(50)).await;
    pool.abort(id).await.unwrap();
    assert_eq!(second.await.unwrap().end.ending, Ending::Aborted);
    assert_eq!(first.await.unwrap().ids(), [11, 12, 2]);
}

#[tokio::test(flavor = "multi_thread")]
async fn behind_a_router_attempts_go_to_the_router_and_orders_to_the_engines() {
    let mocks = slow_engines(2, Duration::from_millis(60)).await;
    let urls = mocks[1..].iter().map(Mock::url).collect();
    let pool = Pool::connect(PoolOptions { urls, router: Some(mocks[0].url()), ..options(&mocks, 0) });
    let pool = pool.await.unwrap();
    assert_eq!(ask(&pool, prompt("s", &[9]), &params()).await.ids(), [11, 12, 2]);
    assert_eq!((mocks[0].seen_at("/generate").len(), mocks[1].seen_at("/generate").len()), (1, 0));
    pool.tell(Order::SetVersion(Version::new("5")), Duration::from_secs(1)).await;
    assert_eq!(mocks[1].seen_at("/update_weight_version").len(), 1);
    assert_eq!(mocks[0].seen_at("/update_weight_version").len(), 0);
    let id = AttemptId::fresh();
    let asked = Params { max_tokens: 3, ..params() };
    let reading = tokio::spawn(collect(pool.generate(id, prompt("s", &[9]), &asked)));
    until("it runs", || mocks[0].running() == 1).await;
    pool.abort(id).await.unwrap();
    assert_eq!(mocks[1].seen_at("/abort_request").len(), 1, "the router knows no aborts");
    reading.await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_at_home_is_said_by_name() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let options = PoolOptions { urls: vec![format!("http://{free}")], ..options(&[], 0) };
    let error = Pool::connect(options).await.err().unwrap().to_string();
    assert!(error.contains(&free.to_string()), "{error}");
    let keep: Arc<Options> = Arc::new(quick());
    drop(keep);
}
