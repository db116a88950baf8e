//! One worker while it is up: what it was asked, what it answers, and what happens when it does not.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde_json::Value;
use tokio::net::UnixStream;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until, timeout};

use crate::frame::{self, Asked, Op, Said};
use crate::{Kind, PluginError};

/// How long a connection may stay open once its worker is gone.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// What a worker's task is told.
pub(crate) enum Order {
    /// Do this.
    Ask(Box<Job>),
    /// Nobody waits for this job any more.
    Cancel(u64),
    /// This job is to end: an async callable is cancelled, and what does not end in its grace loses its worker.
    Stop(u64),
    /// End, and say when everything is gone.
    End(oneshot::Sender<()>),
}

/// One load or call.
pub(crate) struct Job {
    pub(crate) id: u64,
    pub(crate) op: Op,
    pub(crate) kind: Kind,
    pub(crate) path: Arc<str>,
    pub(crate) value: Value,
    pub(crate) blob: Bytes,
    pub(crate) is_async: bool,
    /// When it was asked for, and until when an answer is of use.
    pub(crate) given: Instant,
    pub(crate) until: Instant,
    pub(crate) reply: oneshot::Sender<Result<(Value, Bytes), PluginError>>,
}

/// Why a worker no longer serves.
pub(crate) enum End {
    /// The host is gone or was closed.
    Closed(Option<oneshot::Sender<()>>),
    /// The worker ended, or stopped making sense.
    Lost(String),
    /// A call overran, and its worker must go.
    Overran,
}

/// The connection to one worker, and the jobs it has.
pub(crate) struct Line {
    frames: mpsc::Receiver<std::io::Result<(Said, Bytes)>>,
    to_worker: mpsc::UnboundedSender<(Bytes, Bytes)>,
    tasks: [JoinHandle<()>; 2],
    jobs: HashMap<u64, Running>,
    grace: Duration,
    /// Whether it has answered anything.
    pub(crate) answered: bool,
}

struct Running {
    job: Job,
    /// When something must be done about it.
    next: Instant,
    cancelled: bool,
}

impl Line {
    /// Takes over a connection whose greeting was read.
    pub(crate) fn new(stream: UnixStream, grace: Duration) -> Self {
        let (mut from, mut to) = stream.into_split();
        let (say, frames) = mpsc::channel(16);
        let (to_worker, mut heard) = mpsc::unbounded_channel::<(Bytes, Bytes)>();
        let reader = tokio::spawn(async move {
            loop {
                let frame = frame::read(&mut from).await;
                let last = frame.is_err();
                if say.send(frame).await.is_err() || last {
                    return;
                }
            }
        });
        let writer = tokio::spawn(async move {
            while let Some((head, blob)) = heard.recv().await {
                // The reader notices the same, and says so.
                if frame::write(&mut to, &head, &blob).await.is_err() {
                    return;
                }
            }
        });
        let tasks = [reader, writer];
        Self { frames, to_worker, tasks, jobs: HashMap::new(), grace, answered: false }
    }

    /// Asks for a load whose answer nobody waits for.
    pub(crate) fn preload(&self, kind: Kind, path: &str) {
        let asked =
            Asked { id: 0, op: Op::Load, kind: Some(kind), path: Some(path.to_owned()), value: Value::Null };
        if let Ok(head) = frame::encode(&asked, &Bytes::new()) {
            let _ = self.to_worker.send((head, Bytes::new()));
        }
    }

    /// Serves until the worker or the host is gone.
    pub(crate) async fn serve(&mut self, orders: &mut mpsc::UnboundedReceiver<Order>) -> End {
        loop {
            let next = self.jobs.values().map(|running| running.next).min();
            let overdue = async {
                match next {
                    Some(next) => sleep_until(next).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                frame = self.frames.recv() => match frame {
                    Some(Ok((said, blob))) => self.answer(said, blob),
                    Some(Err(error)) => return End::Lost(error.to_string()),
                    None => return End::Lost("it closed its connection".to_owned()),
                },
                order = orders.recv() => match order {
                    Some(Order::Ask(job)) => self.ask(*job),
                    Some(Order::Cancel(id)) => self.cancel(id),
                    Some(Order::Stop(id)) => self.stop(id),
                    Some(Order::End(ended)) => return End::Closed(Some(ended)),
                    None => return End::Closed(None),
                },
                () = overdue => if self.overran() { return End::Overran },
            }
        }
    }

    /// Takes the answers that a worker gave before it ended.
    pub(crate) async fn hear_out(&mut self) {
        while let Ok(Some(Ok((said, blob)))) = timeout(LAST_WORDS, self.frames.recv()).await {
            self.answer(said, blob);
        }
    }

    /// Fails every job that is left.
    pub(crate) fn fail(&mut self, error: impl Fn(&Job) -> PluginError) {
        for (_, running) in self.jobs.drain() {
            let error = error(&running.job);
            let _ = running.job.reply.send(Err(error));
        }
    }

    /// Passes a job on.
    pub(crate) fn ask(&mut self, mut job: Job) {
        if job.reply.is_closed() {
            return;
        }
        let asked = Asked {
            id: job.id,
            op: job.op,
            kind: Some(job.kind),
            path: Some(job.path.to_string()),
            value: std::mem::take(&mut job.value),
        };
        let blob = std::mem::take(&mut job.blob);
        match frame::encode(&asked, &blob) {
            Ok(head) => {
                let _ = self.to_worker.send((head, blob));
                self.jobs.insert(job.id, Running { next: job.until, cancelled: false, job });
            }
            Err(error) => {
                let _ = job.reply.send(Err(error));
            }
        }
    }

    /// A sync callable cannot be cancelled; its deadline stays.
    fn cancel(&mut self, id: u64) {
        let Some(running) = self.jobs.get_mut(&id) else { return };
        if running.job.is_async && !running.cancelled {
            running.cancelled = true;
            running.next = Instant::now() + self.grace;
            let asked = Asked { id, op: Op::Cancel, kind: None, path: None, value: Value::Null };
            if let Ok(head) = frame::encode(&asked, &Bytes::new()) {
                let _ = self.to_worker.send((head, Bytes::new()));
            }
        }
    }

    /// Has a call end. Somebody waits for its end, whatever comes of it.
    fn stop(&mut self, id: u64) {
        self.cancel(id);
        if let Some(running) = self.jobs.get_mut(&id) {
            running.next = running.next.min(Instant::now() + self.grace);
        }
    }

    fn answer(&mut self, said: Said, blob: Bytes) {
        let Some(Running { job, .. }) = self.jobs.remove(&said.id) else {
            if let Some(fault) = said.error.filter(|_| said.id == 0) {
                tracing::warn!(message = fault.message, "a plug-in could not be loaded again");
            }
            return;
        };
        self.answered = true;
        let result = match said.error {
            _ if Instant::now() >= job.until => Err(deadline(&job)),
            Some(fault) => Err(PluginError::Refused {
                kind: job.kind.word().to_owned(),
                path: job.path.to_string(),
                cause: fault.cause,
                message: fault.message,
                traceback: fault.traceback,
            }),
            None => Ok((said.ok, blob)),
        };
        let _ = job.reply.send(result);
    }

    /// Cancels what is overdue. True if something will not end but with its worker.
    fn overran(&mut self) -> bool {
        let now = Instant::now();
        let overdue: Vec<u64> =
            self.jobs.iter().filter(|(_, running)| running.next <= now).map(|(id, _)| *id).collect();
        let mut lost = false;
        for id in overdue {
            let hopeless =
                self.jobs.get(&id).is_some_and(|running| running.cancelled || !running.job.is_async);
            if !hopeless {
                self.cancel(id);
            } else if let Some(running) = self.jobs.remove(&id) {
                lost = true;
                let error = deadline(&running.job);
                let _ = running.job.reply.send(Err(error));
            }
        }
        lost
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

fn deadline(job: &Job) -> PluginError {
    PluginError::Deadline {
        kind: job.kind.word().to_owned(),
        path: job.path.to_string(),
        seconds: (job.until - job.given).as_secs_f64(),
    }
}

/// The error of a job whose worker died.
pub(crate) fn died(job: &Job, reason: &str) -> PluginError {
    PluginError::Died {
        kind: job.kind.word().to_owned(),
        path: job.path.to_string(),
        reason: reason.to_owned(),
    }
}
