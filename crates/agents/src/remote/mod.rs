//! An agent that is a task of a service elsewhere.
//!
//! The invariants: a session is posted as one task however often the request is repeated; a task that was posted is
//! seen to its end, or cancelled and given its time; failures of the service in a row are bounded, and are never
//! taken for the agent's. How many tasks may be there at once is for the scheduler's rules: a service says how many
//! slots it has, so that no Group waits at its barrier for a slot that another one holds.

mod wire;

use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::{Instant, sleep, timeout_at};

use self::wire::{Came, Report, Service, Status, Task};
use crate::failure::Stopped;
use crate::{AgentFailure, Input, Output, Seat, Told};

pub use self::wire::Slots;

/// A service of agents.
#[derive(Clone, Debug)]
pub struct Remote {
    service: Service,
    options: RemoteOptions,
}

/// How a service is spoken to.
#[derive(Clone, Debug)]
pub struct RemoteOptions {
    /// Its root.
    pub url: String,
    /// Its key, sent as a bearer token.
    pub key: Option<String>,
    /// Between two looks at a task.
    pub poll: Duration,
    /// How long one request may take.
    pub deadline: Duration,
    /// How often in a row requests about a task may fail.
    pub failures: u32,
    /// How long a cancelled task may take to end.
    pub grace: Duration,
}

/// A failure of the service, not of an agent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RemoteError {
    /// Its URL is none.
    #[error("agent.url: {url}: {problem}")]
    Url {
        /// The URL.
        url: String,
        /// What is wrong.
        problem: String,
    },
    /// It could not be reached, or did not answer in time.
    #[error("the agent's service did not answer {what}: {problem}")]
    Lost {
        /// The request.
        what: &'static str,
        /// What went wrong.
        problem: String,
    },
    /// It refused.
    #[error("the agent's service answered {what} with {status}: {body}")]
    Refused {
        /// The request.
        what: &'static str,
        /// The HTTP status.
        status: u16,
        /// The beginning of the reply.
        body: String,
    },
    /// Its reply cannot be read.
    #[error("the agent's service answered {what} with what cannot be read: {problem}")]
    Nonsense {
        /// The request.
        what: &'static str,
        /// What is wrong.
        problem: String,
    },
    /// It forgot a task.
    #[error("the agent's service knows nothing of task {id} any more")]
    Forgotten {
        /// The task.
        id: String,
    },
}

impl RemoteError {
    fn lost(what: &'static str, error: &reqwest::Error) -> Self {
        Self::Lost { what, problem: error.to_string() }
    }

    /// Whether asking again may help.
    fn passes(&self) -> bool {
        match self {
            Self::Lost { .. } => true,
            Self::Refused { status, .. } => *status >= 500,
            Self::Url { .. } | Self::Nonsense { .. } | Self::Forgotten { .. } => false,
        }
    }
}

impl Remote {
    /// A service.
    ///
    /// # Errors
    /// [`RemoteError::Url`].
    pub fn new(options: RemoteOptions) -> Result<Self, RemoteError> {
        let service = Service::new(&options.url, options.key.clone(), options.deadline)?;
        Ok(Self { service, options })
    }

    /// How many tasks it runs at once.
    ///
    /// # Errors
    /// [`RemoteError`].
    pub async fn slots(&self) -> Result<Slots, RemoteError> {
        self.service.slots().await
    }

    pub(crate) async fn run(
        &self,
        seat: &Seat,
        input: &Input,
        told: oneshot::Receiver<Told>,
    ) -> Result<Output, Stopped> {
        let told = async move { told.await.unwrap_or(Told::End) };
        tokio::pin!(told);
        let task = Task {
            session_id: &seat.session,
            base_url: format!("{}/v1", seat.root()),
            api_key: &seat.token,
            model: &seat.model,
            group: &seat.group,
            mode: &seat.mode,
            input,
        };
        let posted = tokio::select! {
            posted = self.post(&task) => posted,
            // Whether the task is there is not known; posting it once more tells its name.
            told = &mut told => {
                if let Ok(Came::Reply(id)) = self.service.post(&task).await {
                    self.end(&id).await;
                }
                return Err(Stopped::Told(told));
            }
        };
        let id = posted.map_err(AgentFailure::from)?;
        tokio::select! {
            report = self.over(&id) => match report {
                Ok(report) => read(report),
                Err(error) => {
                    self.end(&id).await;
                    Err(error.into())
                }
            },
            told = &mut told => {
                self.end(&id).await;
                Err(Stopped::Told(told))
            }
        }
    }

    /// Posts a task, until the service takes it.
    async fn post(&self, task: &Task<'_>) -> Result<String, RemoteError> {
        let mut failed = 0;
        loop {
            match self.service.post(task).await {
                Ok(Came::Reply(id)) => return Ok(id),
                // A slot will come free: what holds it has its time, and so has who waits.
                Ok(Came::Busy) => failed = 0,
                Ok(Came::Gone) => {
                    return Err(RemoteError::Nonsense { what: "POST /tasks", problem: "404".into() });
                }
                Err(error) => self.bear(error, &mut failed)?,
            }
            sleep(self.options.poll).await;
        }
    }

    /// Waits for a task's end.
    async fn over(&self, id: &str) -> Result<Report, RemoteError> {
        let mut failed = 0;
        loop {
            match self.service.report(id).await {
                Ok(Came::Reply(report)) if report.status.is_over() => return Ok(report),
                Ok(Came::Reply(_) | Came::Busy) => failed = 0,
                Ok(Came::Gone) => return Err(RemoteError::Forgotten { id: id.to_owned() }),
                Err(error) => self.bear(error, &mut failed)?,
            }
            sleep(self.options.poll).await;
        }
    }

    /// Counts a failure; gives it back if it was one too many.
    fn bear(&self, error: RemoteError, failed: &mut u32) -> Result<(), RemoteError> {
        *failed += 1;
        match error.passes() && *failed <= self.options.failures {
            true => Ok(()),
            false => Err(error),
        }
    }

    /// Cancels a task and waits until it is over, at most its grace.
    async fn end(&self, id: &str) {
        let until = Instant::now() + self.options.grace;
        let ended = timeout_at(until, async {
            let mut failed = 0;
            while let Err(error) = self.service.cancel(id).await {
                self.bear(error, &mut failed)?;
                sleep(self.options.poll).await;
            }
            self.over(id).await.map(drop)
        });
        match ended.await {
            Ok(Ok(()) | Err(RemoteError::Forgotten { .. })) => {}
            Ok(Err(error)) => tracing::warn!(task = id, "a cancelled task may still run: {error}"),
            Err(_) => tracing::warn!(task = id, "a cancelled task did not end in its grace"),
        }
    }
}

/// What a task came to.
fn read(report: Report) -> Result<Output, Stopped> {
    let said = report.error.unwrap_or_else(|| "its service does not say why".to_owned());
    match report.status {
        Status::Succeeded => Ok(Output::returned(report.output.unwrap_or_default())?),
        Status::Cancelled => Err(AgentFailure::Remote(format!("its service cancelled it: {said}")).into()),
        _ => Err(AgentFailure::Remote(said).into()),
    }
}
