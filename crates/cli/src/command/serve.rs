//! `verbatim serve`.

use std::process::ExitCode;

use anyhow::Context;
use verbatim_gateway::{Access, ControlKey};

use crate::args::{Serve, Settings};
use crate::rollout::{Driven, Prepared};
use crate::telemetry::Telemetry;
use crate::wiring::{Service, access, disowned, interruption, quoted, settings};
use crate::{journal, model};

/// Serves until Ctrl-C.
pub(crate) async fn run(args: Serve) -> anyhow::Result<ExitCode> {
    let text = |value: Option<String>| value.map(|value| quoted(&value));
    let key_file = args.control_key_file.map(|path| path.to_string_lossy().into_owned());
    let journal = args.journal.map(|path| path.to_string_lossy().into_owned());
    let trusted: Vec<_> = args.trust_cidr.iter().map(|network| quoted(network)).collect();
    let pin = |pin: &String| {
        let (field, value) =
            pin.split_once('=').with_context(|| format!("--pin {pin}: expected FIELD=VALUE"))?;
        Ok((format!("sampling.pin.{}", field.trim()), value.trim().to_owned()))
    };
    let pins = args.pin.iter().map(pin).collect::<anyhow::Result<Vec<_>>>()?;
    let mut more = vec![
        ("server.listen", text(args.listen)),
        ("server.control_key_file", text(key_file)),
        ("server.trust_cidr", (!trusted.is_empty()).then(|| format!("[{}]", trusted.join(", ")))),
        ("journal.folder", text(journal)),
        ("journal.level", text(args.journal_level)),
        ("sessions.lineage", text(args.lineage)),
        ("sessions.matcher", text(args.matcher)),
        ("sessions.tools_drift", text(args.tools_drift)),
    ];
    more.extend(pins.iter().map(|(field, value)| (field.as_str(), Some(value.clone()))));
    let config = args.settings.config.or_else(|| args.rollout.clone());
    let layered = settings(&Settings { config, ..args.settings }, &more)?;
    let config = layered.config;
    let _telemetry = Telemetry::start(&config.log)?;
    let access =
        if args.owned { Access { key: Some(owners_key()?), ..access(&config)? } } else { access(&config)? };
    let rollout = args.rollout.as_deref();
    let prepared = match rollout {
        Some(file) => Some(Prepared::new(&config, file, Driven::ByTrainer).await?),
        None => None,
    };
    let loaded = model::load(&config).await?;
    let journal = journal::open(&config.journal, loaded.family.as_ref())?;
    let (service, started) = match prepared {
        Some(prepared) => {
            let quiet = Box::new(());
            let started = Service::with_rollout(&config, &loaded, access, prepared, quiet, journal).await?;
            (started.0, Some(started.1))
        }
        None => (Service::start(&config, &loaded, access, journal).await?, None),
    };
    let interrupted = interruption()?;
    let engine = loaded.engine.capabilities();
    println!(
        "listening on {} (engine {}, model {}, family {}, context {})",
        service.url,
        engine.engine,
        loaded.model,
        loaded.family.name(),
        engine.max_context
    );
    if args.owned {
        let disowned = disowned()?;
        tokio::select! {
            () = interrupted => {}
            () = disowned => {}
        }
    } else {
        interrupted.await;
    }
    eprintln!("closing sessions");
    if let Some(started) = started {
        started.control.rollout.stop();
        if let Err(error) = started.ending.await? {
            tracing::error!(%error, "the rollout failed");
        }
    }
    service.stop().await;
    Ok(ExitCode::SUCCESS)
}

/// The key that the owner gives.
fn owners_key() -> anyhow::Result<ControlKey> {
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).context("cannot read the control key from standard input")?;
    ControlKey::new(&line).context("the first line of standard input")
}
