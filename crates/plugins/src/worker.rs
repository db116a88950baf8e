//! One worker over its lives: started, served, ended, started again.

use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{sleep, timeout};
use verbatim_process::{Inherit, Launcher, Process, Spec};

use crate::frame::{self, PROTOCOL};
use crate::host::Loaded;
use crate::log::{tail, trim};
use crate::serve::{End, Job, Line, Order, died};
use crate::{HostOptions, PluginError};

/// How long a worker may take to end by itself, in milliseconds.
const GRACE_MS: u64 = 500;

/// Where a worker runs.
pub(crate) struct Seat {
    pub(crate) number: usize,
    pub(crate) folder: PathBuf,
    pub(crate) launcher: Launcher,
    pub(crate) options: Arc<HostOptions>,
    pub(crate) loaded: Arc<Loaded>,
}

/// A worker as the host sees it.
pub(crate) struct Worker {
    orders: mpsc::UnboundedSender<Order>,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    up: AtomicBool,
    busy: AtomicUsize,
}

impl Worker {
    pub(crate) fn give(&self, order: Order) {
        // A worker whose task is gone answers by dropping the order.
        let _ = self.orders.send(order);
    }

    pub(crate) fn end(&self) -> oneshot::Receiver<()> {
        let (ended, end) = oneshot::channel();
        self.give(Order::End(ended));
        end
    }

    pub(crate) fn is_up(&self) -> bool {
        self.state.up.load(Ordering::Relaxed)
    }

    /// Counts a job for as long as what this gives lives.
    pub(crate) fn taken(&self) -> Busy {
        self.state.busy.fetch_add(1, Ordering::Relaxed);
        Busy(self.state.clone())
    }

    pub(crate) fn busy(&self) -> usize {
        self.state.busy.load(Ordering::Relaxed)
    }
}

/// A live worker.
struct Life {
    process: Process,
    line: Line,
}

/// Starts a worker's task. The receiver tells whether it came up the first time.
pub(crate) fn start(seat: Seat) -> (Worker, oneshot::Receiver<Result<(), PluginError>>) {
    let (orders, heard) = mpsc::unbounded_channel();
    let (up, came_up) = oneshot::channel();
    let state = Arc::new(State::default());
    tokio::spawn(live(seat, state.clone(), heard, up));
    (Worker { orders, state }, came_up)
}

async fn live(
    seat: Seat,
    state: Arc<State>,
    mut orders: mpsc::UnboundedReceiver<Order>,
    up: oneshot::Sender<Result<(), PluginError>>,
) {
    let mut first = Some(up);
    let mut pause = seat.options.backoff;
    // What is asked while the worker is down.
    let mut kept = Vec::new();
    for life in 0_u64.. {
        let begun = begin(&seat, life).await;
        if let Some(up) = first.take() {
            let refused = begun.is_err();
            let told = up.send(begun.as_ref().map(|_| ()).map_err(Clone::clone));
            if refused || told.is_err() {
                return;
            }
        }
        match begun {
            Ok(mut alive) => {
                state.up.store(true, Ordering::Relaxed);
                kept.drain(..).for_each(|job| alive.line.ask(job));
                let end = serve(&mut alive, &mut orders).await;
                state.up.store(false, Ordering::Relaxed);
                let closed = finish(&seat, alive, end, &mut pause).await;
                if closed {
                    return;
                }
            }
            Err(error) => {
                tracing::error!(worker = seat.number, %error, "a plug-in worker did not come up again");
                for job in kept.drain(..) {
                    let error = died(&job, &error.to_string());
                    let _ = job.reply.send(Err(error));
                }
            }
        }
        if rest(&mut orders, pause, &mut kept).await {
            return;
        }
        pause = (pause * 2).min(seat.options.backoff_most);
    }
}

/// Waits before the next life, and keeps what is asked meanwhile. True if there is to be no other.
async fn rest(orders: &mut mpsc::UnboundedReceiver<Order>, pause: Duration, kept: &mut Vec<Job>) -> bool {
    let mut over = pin!(sleep(pause));
    loop {
        tokio::select! {
            () = &mut over => return false,
            order = orders.recv() => match order {
                Some(Order::Ask(job)) => kept.push(*job),
                Some(Order::Cancel(id) | Order::Stop(id)) => kept.retain(|job| job.id != id),
                Some(Order::End(ended)) => {
                    kept.drain(..).for_each(|job| { let _ = job.reply.send(Err(PluginError::Closed)); });
                    let _ = ended.send(());
                    return true;
                }
                None => return true,
            },
        }
    }
}

/// Serves until the worker is lost, or its process ends.
async fn serve(alive: &mut Life, orders: &mut mpsc::UnboundedReceiver<Order>) -> End {
    let Life { process, line } = alive;
    tokio::select! {
        end = line.serve(orders) => end,
        exit = process.wait() => End::Lost(match exit {
            Ok(exit) => format!("it ended with {exit}"),
            Err(error) => error.to_string(),
        }),
    }
}

/// Ends a life: its processes are gone when this returns. True if there is to be no other.
async fn finish(seat: &Seat, alive: Life, end: End, pause: &mut Duration) -> bool {
    let Life { mut process, mut line } = alive;
    // Whoever lost the connection knows less than who ended the process.
    let exit = process.end().await;
    line.hear_out().await;
    let log = seat.log();
    if line.answered {
        *pause = seat.options.backoff;
    }
    let reason = match end {
        End::Closed(ended) => {
            line.fail(|_| PluginError::Closed);
            ended.map(|ended| ended.send(()));
            return true;
        }
        End::Lost(why) => match exit {
            Ok(exit) => format!("it ended with {exit} ({why}); the end of its log:\n{}", tail(&log)),
            Err(error) => format!("{why}; {error}"),
        },
        End::Overran => "another call on it overran its deadline".to_owned(),
    };
    tracing::warn!(worker = seat.number, reason, "a plug-in worker is started again");
    line.fail(|job| died(job, &reason));
    trim(&log);
    false
}

/// Starts the process and reads its greeting; loads what was loaded.
async fn begin(seat: &Seat, life: u64) -> Result<Life, PluginError> {
    let socket = seat.folder.join(format!("{}-{life}", seat.number));
    let listener = UnixListener::bind(&socket).map_err(PluginError::system)?;
    let python = &seat.options.python;
    let mut process = (seat.launcher.start(&seat.spec(&socket)).await)
        .map_err(|error| PluginError::started(python, error))?;
    let greeted = tokio::select! {
        greeted = timeout(seat.options.start_deadline, greet(&listener)) => greeted,
        _ = process.wait() => {
            return Err(PluginError::Package { python: python.clone(), tail: tail(&seat.log()) });
        }
    };
    let _ = std::fs::remove_file(&socket);
    let stream = match greeted {
        Ok(greeted) => greeted?,
        Err(_) => {
            let tail = format!("{}\n(it did not come up in time)", tail(&seat.log()));
            return Err(PluginError::Package { python: python.clone(), tail });
        }
    };
    let line = Line::new(stream, seat.options.cancel_grace);
    for (kind, path) in seat.loaded.all() {
        line.preload(kind, &path);
    }
    Ok(Life { process, line })
}

async fn greet(listener: &UnixListener) -> Result<UnixStream, PluginError> {
    let (mut stream, _) = listener.accept().await.map_err(PluginError::system)?;
    let (said, _) = frame::read(&mut stream).await.map_err(PluginError::system)?;
    let hello = said.hello.ok_or_else(|| PluginError::system("the worker did not greet"))?;
    if hello.protocol != PROTOCOL {
        return Err(PluginError::Version { ours: PROTOCOL, theirs: hello.protocol });
    }
    tracing::debug!(pid = hello.pid, python = hello.python, "a plug-in worker is up");
    Ok(stream)
}

impl Seat {
    fn log(&self) -> PathBuf {
        self.folder.join(format!("{}.log", self.number))
    }

    fn spec(&self, socket: &std::path::Path) -> Spec {
        let cwd = self.options.cwd.clone().or_else(|| std::env::current_dir().ok()).unwrap_or_default();
        // A folder of the user's may be relative to where the owner runs.
        let mut folders: Vec<PathBuf> = vec![cwd.clone()];
        folders.extend(self.options.search_paths.iter().map(|path| cwd.join(path)));
        folders.extend(
            std::env::var_os("PYTHONPATH")
                .iter()
                .flat_map(|paths| std::env::split_paths(paths).collect::<Vec<_>>()),
        );
        let paths = std::env::join_paths(folders).unwrap_or_default();
        let environment =
            [("PYTHONPATH", paths.to_string_lossy().into_owned()), ("PYTHONUNBUFFERED", "1".to_owned())];
        let words = [&self.options.python, "-m", "verbatim.host", "--connect"];
        Spec {
            argv: words
                .into_iter()
                .map(str::to_owned)
                .chain([socket.to_string_lossy().into_owned()])
                .collect(),
            cwd,
            env: environment.map(|(name, value)| (name.to_owned(), value)).into(),
            inherit: Inherit::Except(self.options.hide.clone()),
            log: self.log(),
            // It is the host's, and other workers' too.
            folder: None,
            grace_ms: GRACE_MS,
        }
    }
}

/// One job that a worker has.
pub(crate) struct Busy(Arc<State>);

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.busy.fetch_sub(1, Ordering::Relaxed);
    }
}
