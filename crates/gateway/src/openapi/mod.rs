//! The server's own description, as OpenAPI 3.1.
//!
//! The invariant: every route is described and every description is a route; a test compares the two.

mod routes;
mod schemas;

use axum::response::Response;
use serde_json::{Map, Value, json};

use self::routes::{Answer, Keyed, ROUTES, Route};
use crate::error;

/// `GET /openapi.json`.
pub(crate) async fn show() -> Response {
    error::json(document())
}

/// The document.
fn document() -> Value {
    let mut paths: Map<String, Value> = Map::new();
    for route in ROUTES {
        let path = paths.entry(route.path.replace("{*", "{")).or_insert_with(|| json!({}));
        path[route.method] = operation(route);
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Verbatim",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Agents' sessions, their rows, and rollouts of groups.",
        },
        "paths": paths,
        "components": {
            "schemas": schemas::all(),
            "securitySchemes": {
                "session": {"type": "http", "scheme": "bearer", "description": "A session's token."},
                "control": {"type": "http", "scheme": "bearer", "description": "The control key."},
            },
        },
    })
}

fn operation(route: &Route) -> Value {
    let in_path = route.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let named = in_path.map(|name| name.trim_start_matches('*'));
    let numbers = ["step", "batch"];
    let in_path = named.map(|name| {
        let kind = if numbers.contains(&name) { "integer" } else { "string" };
        json!({"name": name, "in": "path", "required": true, "schema": {"type": kind}})
    });
    let in_query = route.query.iter().map(
        |(name, kind)| json!({"name": name, "in": "query", "required": false, "schema": {"type": kind}}),
    );
    let mut operation = json!({
        "summary": route.does,
        "operationId": route.name,
        "parameters": in_path.chain(in_query).collect::<Vec<_>>(),
        "responses": responses(route),
    });
    if let Some((schema, required)) = route.body {
        operation["requestBody"] = json!({"required": required, "content": content(schema)});
    }
    match route.keyed {
        Keyed::Open => {}
        Keyed::Session => operation["security"] = json!([{"session": []}]),
        // Without a control key everyone may.
        Keyed::Control => operation["security"] = json!([{"control": []}, {}]),
    }
    operation
}

fn content(schema: &str) -> Value {
    json!({"application/json": {"schema": {"$ref": format!("#/components/schemas/{schema}")}}})
}

fn responses(route: &Route) -> Value {
    let (status, answer) = route.answer;
    let success = match answer {
        Answer::Nothing => json!({"description": "done"}),
        Answer::Json => {
            json!({"description": "what was asked", "content": {"application/json": {"schema": {}}}})
        }
        Answer::Reply => json!({"description": "the reply, or its stream", "content": {
            "application/json": {"schema": {}}, "text/event-stream": {"schema": {"type": "string"}},
        }}),
        Answer::File => {
            json!({"description": "a file", "content": {"application/octet-stream": {"schema": {}}}})
        }
        Answer::Any => json!({"description": "what the engine says"}),
    };
    let failure = json!({"description": "what is wrong, and the way out", "content": content("Error")});
    json!({status: success, "default": failure})
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// The routes as the router names them.
    fn routed() -> BTreeSet<(String, String)> {
        let source = include_str!("../app.rs");
        let lines = source.split(".route(").skip(1).map(|rest| rest.split('\n').next().unwrap_or_default());
        let methods = ["get", "post", "delete", "any"];
        let of = |line: &str| {
            let path = line.split('"').nth(1).unwrap_or_default().to_owned();
            let handlers = line.split_once("\",").map_or("", |(_, handlers)| handlers).to_owned();
            let named = move |method: &&str| handlers.contains(&format!("{method}("));
            methods
                .into_iter()
                .filter(named)
                .map(|method| (method.to_owned(), path.clone()))
                .collect::<Vec<_>>()
        };
        lines.flat_map(of).collect()
    }

    #[test]
    fn every_route_is_described_and_nothing_else() {
        let described: BTreeSet<_> =
            ROUTES.iter().map(|route| (route.method.to_owned(), route.path.to_owned())).collect();
        // What is passed on takes every method; it is described by one.
        let routed: BTreeSet<_> =
            routed().into_iter().map(|(method, path)| (method.replace("any", "post"), path)).collect();
        assert_eq!(described, routed);
        let names: BTreeSet<_> = ROUTES.iter().map(|route| route.name).collect();
        assert_eq!(names.len(), ROUTES.len(), "each has a name of its own");
    }

    #[test]
    fn every_schema_that_is_named_is_there() {
        let document = document();
        let schemas = document["components"]["schemas"].as_object().unwrap();
        for route in ROUTES {
            if let Some((schema, _)) = route.body {
                assert!(schemas.contains_key(schema), "{schema}");
            }
        }
        assert!(schemas.contains_key("Error"));
    }
}
