//! A service of agents that stands in: it speaks the protocol over a real socket, and fails as it is told to.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::routing::{get, post};
use axum::{Json, Router};
use serde_json::{Value, json};
use tokio::net::TcpListener;

/// What the service knows.
#[derive(Default)]
pub(crate) struct Known {
    /// By id: what was posted, and the report.
    pub(crate) tasks: HashMap<String, (Value, Value)>,
    /// Requests, in order.
    pub(crate) heard: Vec<String>,
    /// Statuses that the next requests get instead of their replies.
    pub(crate) refuse: Vec<u16>,
    /// What a task's report becomes when it is looked at for the second time.
    pub(crate) result: Value,
    /// What a cancelled task becomes.
    pub(crate) cancelled: Option<Value>,
}

pub(crate) type Shared = Arc<Mutex<Known>>;

fn heard(known: &mut Known, what: String) -> Result<(), StatusCode> {
    known.heard.push(what);
    match known.refuse.pop() {
        Some(status) => Err(StatusCode::from_u16(status).unwrap()),
        None => Ok(()),
    }
}

async fn posted(State(known): State<Shared>, Json(task): Json<Value>) -> Result<Json<Value>, StatusCode> {
    let mut known = known.lock().unwrap();
    heard(&mut known, "POST".into())?;
    let id = format!("task-{}", task["session_id"].as_str().unwrap());
    known.tasks.entry(id.clone()).or_insert((task, json!({"status": "queued"})));
    Ok(Json(json!({ "id": id })))
}

async fn report(State(known): State<Shared>, Path(id): Path<String>) -> Result<Json<Value>, StatusCode> {
    let mut known = known.lock().unwrap();
    heard(&mut known, "GET".into())?;
    let result = known.result.clone();
    let (_, report) = known.tasks.get_mut(&id).ok_or(StatusCode::NOT_FOUND)?;
    let now = report.clone();
    if now["status"] == "queued" {
        *report = json!({"status": "running"});
    } else if now["status"] == "running" && !result.is_null() {
        *report = result;
    }
    Ok(Json(now))
}

async fn cancel(State(known): State<Shared>, Path(id): Path<String>) -> Result<StatusCode, StatusCode> {
    let mut known = known.lock().unwrap();
    heard(&mut known, "DELETE".into())?;
    let cancelled = known.cancelled.clone();
    let (_, report) = known.tasks.get_mut(&id).ok_or(StatusCode::NOT_FOUND)?;
    if let Some(cancelled) = cancelled {
        *report = cancelled;
    }
    Ok(StatusCode::ACCEPTED)
}

async fn slots() -> Json<Value> {
    Json(json!({"total": 3, "free": 1}))
}

/// Starts the service; its URL.
pub(crate) async fn start(known: Shared) -> String {
    let router = Router::new()
        .route("/tasks", post(posted))
        .route("/tasks/{id}", get(report).delete(cancel))
        .route("/slots", get(slots))
        .with_state(known);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    url
}
