//! Whether a request is one that was sent before.
//!
//! The rule is [`answer`]. Clients resend for good reasons (a connection died, a time-out was too short) and send the
//! same twice for good reasons (the best of two replies is wanted). What tells them apart is, in this order: what the
//! client says of it, and whether anybody still waits for, or has received, the earlier reply.

/// What a client says of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    /// Nothing.
    None,
    /// That it was sent before: by the earlier request's idempotency key, or by counting its tries.
    Again,
}

/// How it stands with an earlier request of the same bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Standing {
    /// Its turn runs, and its connection is gone.
    Abandoned,
    /// Its turn is committed, and no client has received the reply.
    Unreceived,
    /// Its turn runs, and a client waits for it.
    Awaited,
    /// Its turn is committed, and its reply was received.
    Received,
    /// Its turn failed: nothing was committed.
    Failed,
}

/// What a request is answered with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// A turn of its own.
    Fresh,
    /// The turn that runs.
    Join,
    /// The reply that was recorded.
    Replay,
}

/// The rule.
///
/// - A request that is marked as a retry joins its turn if that runs, and gets its reply if that is committed.
/// - A request that is not marked does so only if the earlier client cannot have the reply: its connection died
///   before the reply was whole. Two clients that wait for the same are two turns, and so is a request that is sent
///   again after its reply was received.
/// - What failed is tried anew.
pub(crate) fn answer(mark: Mark, earlier: Standing) -> Answer {
    match (mark, earlier) {
        (_, Standing::Failed) | (Mark::None, Standing::Awaited | Standing::Received) => Answer::Fresh,
        (_, Standing::Abandoned | Standing::Awaited) => Answer::Join,
        (_, Standing::Unreceived | Standing::Received) => Answer::Replay,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rule() {
        use Answer::{Fresh, Join, Replay};
        let table = [
            (Standing::Abandoned, Join, Join),
            (Standing::Unreceived, Replay, Replay),
            (Standing::Awaited, Fresh, Join),
            (Standing::Received, Fresh, Replay),
            (Standing::Failed, Fresh, Fresh),
        ];
        for (earlier, unmarked, marked) in table {
            assert_eq!(answer(Mark::None, earlier), unmarked, "{earlier:?}, not marked");
            assert_eq!(answer(Mark::Again, earlier), marked, "{earlier:?}, marked");
        }
    }
}
