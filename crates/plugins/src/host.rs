//! The host: workers, and what is loaded into them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use serde_json::Value;
use tempfile::TempDir;
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout_at};
use verbatim_process::Launcher;

use crate::frame::Op;
use crate::serve::{Job, Order};
use crate::worker::{self, Busy, Seat, Worker};
use crate::{HostOptions, Kind, PluginError};

/// Running workers. Clones are the same host; when the last one and its plug-ins are gone, the workers end.
#[derive(Clone)]
pub struct Host(Arc<Inner>);

struct Inner {
    options: Arc<HostOptions>,
    workers: Vec<Worker>,
    loaded: Arc<Loaded>,
    ids: AtomicU64,
    /// Sockets and logs.
    _folder: TempDir,
}

/// What every worker holds, so that a new one can be given the same.
#[derive(Default)]
pub(crate) struct Loaded(Mutex<Vec<(Kind, Arc<str>)>>);

/// One callable, loaded into every worker. Clones are the same.
#[derive(Clone)]
pub struct Plugin {
    host: Host,
    kind: Kind,
    path: Arc<str>,
    is_async: bool,
}

impl Host {
    /// Starts the workers and waits until they are up.
    ///
    /// # Errors
    /// [`PluginError::Interpreter`], [`PluginError::Package`] or [`PluginError::Version`] where Python is not
    /// as it must be; [`PluginError::System`].
    pub async fn start(options: HostOptions) -> Result<Self, PluginError> {
        let folder =
            tempfile::Builder::new().prefix("verbatim-host-").tempdir().map_err(PluginError::system)?;
        let launcher = match &options.launcher {
            Some(launcher) => launcher.clone(),
            None => Launcher::this().map_err(PluginError::system)?,
        };
        let options = Arc::new(options);
        let loaded = Arc::new(Loaded::default());
        let (workers, ups): (Vec<_>, Vec<_>) = (0..options.workers.max(1))
            .map(|number| {
                worker::start(Seat {
                    number,
                    folder: folder.path().to_owned(),
                    launcher: launcher.clone(),
                    options: options.clone(),
                    loaded: loaded.clone(),
                })
            })
            .unzip();
        // The folder goes with the host, also when a worker did not come up.
        let host =
            Self(Arc::new(Inner { options, workers, loaded, ids: AtomicU64::new(1), _folder: folder }));
        for up in ups {
            up.await.map_err(|_| PluginError::Closed)??;
        }
        Ok(host)
    }

    /// Loads a callable into every worker and checks it. A dotted path is `pkg.mod:fn` or `pkg.mod.fn`.
    ///
    /// # Errors
    /// [`PluginError::Refused`] says what is wrong with it.
    pub async fn load(&self, kind: Kind, path: &str) -> Result<Plugin, PluginError> {
        let path: Arc<str> = path.into();
        let until = Instant::now() + self.0.options.start_deadline;
        let asked: Vec<_> = (self.0.workers.iter())
            .map(|worker| self.ask(worker, Op::Load, (kind, &path, false), Value::Null, Bytes::new(), until))
            .collect();
        let mut is_async = false;
        for answer in asked {
            let (value, _) = answer.wait().await?;
            is_async |= value["is_async"].as_bool().unwrap_or_default();
        }
        self.0.loaded.add(kind, path.clone());
        Ok(Plugin { host: self.clone(), kind, path, is_async })
    }

    /// Ends the workers and waits until everything of theirs is gone. Calls that run fail with
    /// [`PluginError::Closed`].
    pub async fn close(&self) {
        let ended: Vec<_> = self.0.workers.iter().map(Worker::end).collect();
        for end in ended {
            // A worker that is gone has ended.
            let _ = end.await;
        }
    }

    /// Sends a worker something to do.
    fn ask<'a>(
        &self,
        worker: &'a Worker,
        op: Op,
        (kind, path, is_async): (Kind, &Arc<str>, bool),
        value: Value,
        blob: Bytes,
        until: Instant,
    ) -> Answer<'a> {
        let id = self.0.ids.fetch_add(1, Ordering::Relaxed);
        let (reply, answer) = oneshot::channel();
        let job = Job {
            id,
            op,
            kind,
            path: path.clone(),
            value,
            blob,
            is_async,
            given: Instant::now(),
            until,
            reply,
        };
        worker.give(Order::Ask(Box::new(job)));
        // The worker's task keeps the deadline; this is for the time when there is no worker.
        let last = until + self.0.options.cancel_grace + Duration::from_secs(1);
        Answer { worker, id, answer: Some(answer), last, _busy: worker.taken() }
    }

    /// The worker that has least to do; one that is up, if one is.
    fn idlest(&self) -> &Worker {
        let workers = &self.0.workers;
        (workers.iter().min_by_key(|worker| (!worker.is_up(), worker.busy()))).unwrap_or(&workers[0])
    }
}

/// How a call ended that could be told to end.
#[derive(Debug)]
pub enum Until<T> {
    /// By itself.
    Ended(Result<(Value, Bytes), PluginError>),
    /// By being told to.
    Told(T),
}

/// What stands for no deadline.
const ENDLESS: Duration = Duration::from_secs(365 * 24 * 3600);

impl Plugin {
    /// What it is for.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Its dotted path.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Whether it is an async function, which can be cancelled without ending its worker.
    pub fn is_async(&self) -> bool {
        self.is_async
    }

    /// Calls it, within the host's deadline. Dropping the future cancels an async callable; a sync one
    /// runs on until its deadline.
    ///
    /// # Errors
    /// [`PluginError`].
    pub async fn call(&self, value: Value, blob: Bytes) -> Result<(Value, Bytes), PluginError> {
        self.call_within(self.host.0.options.deadline, value, blob).await
    }

    /// [`Plugin::call`] with a deadline of its own.
    ///
    /// # Errors
    /// [`PluginError`].
    pub async fn call_within(
        &self,
        deadline: Duration,
        value: Value,
        blob: Bytes,
    ) -> Result<(Value, Bytes), PluginError> {
        let until = Instant::now() + deadline;
        let face = (self.kind, &self.path, self.is_async);
        let host = &self.host;
        let first = host.ask(host.idlest(), Op::Call, face, value.clone(), blob.clone(), until).wait().await;
        match first {
            Err(PluginError::Died { reason, .. }) if self.kind.repeatable() && Instant::now() < until => {
                tracing::warn!(kind = %self.kind, path = %self.path, reason, "a call lost its worker and is made again");
                host.ask(host.idlest(), Op::Call, face, value, blob, until).wait().await
            }
            other => other,
        }
    }
}

impl Plugin {
    /// Calls it without a deadline. Once `told` resolves the call is to end: an async callable is cancelled, and
    /// what has not ended within the host's grace loses its worker. Returns once the call has ended.
    pub async fn call_until<T>(&self, told: impl Future<Output = T>, value: Value, blob: Bytes) -> Until<T> {
        let until = Instant::now() + ENDLESS;
        let face = (self.kind, &self.path, self.is_async);
        let answer = self.host.ask(self.host.idlest(), Op::Call, face, value, blob, until);
        let (worker, id) = (answer.worker, answer.id);
        let ended = answer.wait();
        tokio::pin!(ended);
        tokio::select! {
            result = &mut ended => Until::Ended(result),
            told = told => {
                worker.give(Order::Stop(id));
                // Whatever it yet gave comes too late.
                let _ = ended.await;
                Until::Told(told)
            }
        }
    }
}

impl Loaded {
    fn add(&self, kind: Kind, path: Arc<str>) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !all.contains(&(kind, path.clone())) {
            all.push((kind, path));
        }
    }

    pub(crate) fn all(&self) -> Vec<(Kind, Arc<str>)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// What a worker will answer. Dropped before that, it cancels.
struct Answer<'a> {
    worker: &'a Worker,
    id: u64,
    answer: Option<oneshot::Receiver<Result<(Value, Bytes), PluginError>>>,
    last: Instant,
    _busy: Busy,
}

impl Answer<'_> {
    async fn wait(mut self) -> Result<(Value, Bytes), PluginError> {
        let Some(answer) = &mut self.answer else { return Err(PluginError::Closed) };
        let got = timeout_at(self.last, answer).await;
        self.answer = None;
        match got {
            Ok(Ok(result)) => result,
            Ok(Err(_)) => Err(PluginError::Closed),
            Err(_) => {
                self.worker.give(Order::Cancel(self.id));
                Err(PluginError::system("no worker came up in time; its log says why"))
            }
        }
    }
}

impl Drop for Answer<'_> {
    fn drop(&mut self) {
        if self.answer.is_some() {
            self.worker.give(Order::Cancel(self.id));
        }
    }
}
