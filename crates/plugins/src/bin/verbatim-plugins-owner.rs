//! For tests: an owner of a host that can be killed, and the launcher of its workers.
//!
//! usage: `verbatim-plugins-owner KIND PATH [VALUE]`: loads, calls, prints the result, and waits.

use bytes::Bytes;
use serde_json::Value;
use verbatim_plugins::{Host, HostOptions, Kind, PluginError};

fn main() -> std::process::ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words.first().is_some_and(|word| word == "launcher") {
        return verbatim_process::launcher::main();
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let done = runtime.map_err(|error| PluginError::System { reason: error.to_string() });
    match done.and_then(|runtime| runtime.block_on(own(&words))) {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(error) => {
            println!("{error}");
            std::process::ExitCode::FAILURE
        }
    }
}

async fn own(words: &[String]) -> Result<(), PluginError> {
    let [kind, path, rest @ ..] = words else { return Ok(()) };
    let refused = |error: serde_json::Error| PluginError::System { reason: error.to_string() };
    let kind: Kind = serde_json::from_value(Value::from(kind.as_str())).map_err(refused)?;
    let value = rest.first().map(|text| serde_json::from_str(text)).transpose().map_err(refused)?;
    let host = Host::start(HostOptions { workers: 1, ..HostOptions::default() }).await?;
    let plugin = host.load(kind, path).await?;
    let (value, _) = plugin.call(value.unwrap_or_default(), Bytes::new()).await?;
    println!("{value}");
    std::future::pending().await
}
