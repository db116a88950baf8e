//! Logs, and traces where they are wanted.

use std::io::IsTerminal;

use anyhow::Context;
use opentelemetry::trace::TracerProvider;
use opentelemetry_otlp::{SpanExporter, WithExportConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer};

use crate::config::LogConfig;

/// Ends the export of spans; dropping it sends what is left.
pub(crate) struct Telemetry(Option<SdkTracerProvider>);

impl Telemetry {
    /// Starts logging to standard error, and exporting spans if an endpoint is set. `RUST_LOG` wins
    /// over the settings' filter.
    ///
    /// # Errors
    /// If the filter or the endpoint is malformed.
    pub(crate) fn start(config: &LogConfig) -> anyhow::Result<Self> {
        let filter = std::env::var("RUST_LOG").unwrap_or_else(|_| config.filter.clone());
        let filter = EnvFilter::try_new(&filter).with_context(|| format!("log.filter: {filter:?}"))?;
        let lines = tracing_subscriber::fmt::layer()
            .with_writer(std::io::stderr)
            .with_ansi(std::io::stderr().is_terminal())
            .with_target(false);
        let lines = if config.json { lines.json().boxed() } else { lines.boxed() };
        let provider = config.otlp.as_deref().map(exporter).transpose()?;
        let spans = provider
            .as_ref()
            .map(|provider| tracing_opentelemetry::layer().with_tracer(provider.tracer("verbatim")));
        tracing_subscriber::registry().with(filter).with(lines).with(spans).init();
        Ok(Self(provider))
    }
}

fn exporter(endpoint: &str) -> anyhow::Result<SdkTracerProvider> {
    let url = format!("{}/v1/traces", endpoint.trim_end_matches('/'));
    let exporter = SpanExporter::builder()
        .with_http()
        .with_endpoint(url)
        .build()
        .with_context(|| format!("log.otlp: {endpoint:?}"))?;
    let resource = Resource::builder().with_service_name("verbatim").build();
    Ok(SdkTracerProvider::builder().with_resource(resource).with_batch_exporter(exporter).build())
}

impl Drop for Telemetry {
    fn drop(&mut self) {
        if let Some(provider) = &self.0
            && let Err(error) = provider.shutdown()
        {
            eprintln!("the last spans were not exported: {error}");
        }
    }
}
