//! Who may do what, once there is a control key.

use reqwest::{Method, StatusCode};
use serde_json::json;
use verbatim_gateway::{Access, ControlKey};

use crate::support::{Server, Setting, text, user};

const KEY: &str = "a-key-of-more-than-16-characters";

#[tokio::test(flavor = "multi_thread")]
async fn the_control_key_opens_control_and_a_session_token_only_its_turns() {
    let access = Access { key: Some(ControlKey::new(KEY).unwrap()), trusted: Vec::new() };
    let setting = Setting { access, ..Setting::default() };
    let server = Server::with(setting, [text("a")]).await;
    let (token, session) = server.sessions.open(Default::default()).unwrap();
    let token = token.as_str();
    let controlled = [
        (Method::POST, "/sessions".to_owned()),
        (Method::GET, format!("/sessions/{token}")),
        (Method::POST, format!("/sessions/{token}/samples")),
        (Method::POST, "/control/pause".to_owned()),
        (Method::POST, "/control/resume".to_owned()),
        (Method::DELETE, format!("/sessions/{token}")),
    ];
    let send = |method: &Method, path: &str, key: Option<&str>| {
        let request = server.client.request(method.clone(), format!("{}{path}", server.url));
        match key {
            Some(key) => request.bearer_auth(key).send(),
            None => request.send(),
        }
    };
    for (method, path) in &controlled {
        for key in [None, Some(token), Some("another-key-of-more-than-16")] {
            let status = send(method, path, key).await.unwrap().status();
            assert_eq!(status, StatusCode::UNAUTHORIZED, "{method} {path} with {key:?}");
        }
    }
    let (status, _) = server.turn(token, &json!({"messages": [user("hi")]})).await;
    assert_eq!(status, StatusCode::OK);
    for (method, path) in &controlled {
        let status = send(method, path, Some(KEY)).await.unwrap().status();
        assert!(status.is_success(), "{method} {path}: {status}");
    }
    assert!(!session.id().as_str().contains(token), "the public name does not tell the token");
}

#[test]
fn a_short_control_key_is_refused() {
    assert_eq!(ControlKey::new(" short \n").unwrap_err().length, 5);
}

#[tokio::test(flavor = "multi_thread")]
async fn session_tokens_are_long_and_never_repeat() {
    let server = Server::saying([text("a")]).await;
    let mut tokens = std::collections::HashSet::new();
    for _ in 0..100 {
        let token = server.open(json!({})).await;
        assert!(token.len() == 32 && token.bytes().all(|byte| byte.is_ascii_hexdigit()));
        assert!(tokens.insert(token));
    }
}
