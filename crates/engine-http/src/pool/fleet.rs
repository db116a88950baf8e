//! Orders to all engines of a pool, and changes of it.

use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use futures::FutureExt;
use futures::future::{BoxFuture, join_all};
use verbatim_engine::{Answer, EngineError, Fleet, FleetError, Health, MemberState, Order, give};

use super::member::Member;
use super::{Pool, unfit};
use crate::connect;

impl Fleet for Pool {
    fn tell(&self, order: Order, deadline: Duration) -> BoxFuture<'_, Vec<Answer>> {
        async move {
            let members = self.0.members();
            // An engine gets nothing new from the moment at which it may be pausing.
            if matches!(order, Order::Pause(_)) {
                members.iter().for_each(|member| member.ordered(Health::Paused));
            }
            let answers = members.iter().map(|member| tell(member, &order, deadline));
            let answers = join_all(answers).await;
            self.0.changed.notify_waiters();
            answers
        }
        .boxed()
    }

    fn members(&self) -> Vec<MemberState> {
        self.0.members().iter().map(|member| member.state()).collect()
    }

    fn add(&self, url: String) -> BoxFuture<'_, Result<(), FleetError>> {
        async move {
            let url = url.trim_end_matches('/').to_owned();
            let options = &self.0.options;
            if self.0.members().iter().any(|member| *member.url == url) {
                return Err(FleetError::Known { url });
            }
            let server = connect(&url, options.kind, &options.server)
                .await
                .map_err(|source| FleetError::Failed { url: url.clone(), source })?;
            let (pool, own) = (&self.0.capabilities, server.engine.capabilities());
            let less = || {
                let mut lacks = Vec::new();
                let mut lack = |lacking: bool, what: &str| lacks.extend(lacking.then(|| what.to_owned()));
                lack(own.max_context < pool.max_context, "it holds fewer tokens");
                lack(pool.experts && !own.experts, "it does not report routed experts");
                lack(pool.versions && !own.versions, "it does not report weight versions");
                lack(pool.stop_strings && !own.stop_strings, "it does not look for stop strings");
                (!lacks.is_empty()).then(|| lacks.join(", "))
            };
            if let Some(reason) = unfit(pool, own).or_else(less) {
                return Err(FleetError::Unfit { url, reason });
            }
            let mut members = self.0.members.write().unwrap_or_else(PoisonError::into_inner);
            if members.iter().any(|member| *member.url == url) {
                return Err(FleetError::Known { url });
            }
            members.push(Arc::new(Member::new(server, options.permits)));
            drop(members);
            self.0.changed.notify_waiters();
            Ok(())
        }
        .boxed()
    }

    fn remove(&self, url: String, drain: Duration) -> BoxFuture<'_, Result<(), FleetError>> {
        async move {
            let url = url.trim_end_matches('/').to_owned();
            let member = self.0.members().into_iter().find(|member| *member.url == url);
            let member = member.ok_or(FleetError::Unknown { url })?;
            member.drain();
            let deadline = Instant::now() + drain;
            while member.attempts() > 0 && Instant::now() < deadline {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            let left: Vec<_> = {
                let running = self.0.running();
                running.iter().filter(|(_, at)| Arc::ptr_eq(at, &member)).map(|(id, _)| *id).collect()
            };
            let engine = member.engine();
            join_all(left.into_iter().map(|id| engine.abort(id))).await;
            let mut members = self.0.members.write().unwrap_or_else(PoisonError::into_inner);
            members.retain(|other| !Arc::ptr_eq(other, &member));
            Ok(())
        }
        .boxed()
    }
}

/// Gives an order to one engine, and takes note of what it changes.
async fn tell(member: &Member, order: &Order, deadline: Duration) -> Answer {
    let engine = member.engine();
    let answer = match engine.control() {
        Some(control) => give(member.url.to_string(), control, order, deadline).await,
        None => Answer {
            engine: member.url.to_string(),
            outcome: Err(EngineError::Unsupported { what: "be controlled" }),
            took: Duration::ZERO,
        },
    };
    match (order, &answer.outcome) {
        // One that cannot pause was not paused; one that did not answer may have been.
        (Order::Pause(_), Err(EngineError::Unsupported { .. } | EngineError::Refused { .. }))
        | (Order::Resume, Ok(_)) => member.ordered(Health::Ready),
        (Order::SetVersion(version), Ok(_)) => member.set_version(version.clone()),
        (Order::Version, Ok(Some(version))) => member.set_version(version.clone()),
        _ => {}
    }
    answer
}
