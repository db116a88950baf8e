//! Every setting, in one place, with one precedence: flag, file, default.

mod agent;
mod eval;
mod journal;
mod layers;
mod reward;
mod schema;
mod sessions;

pub(crate) use agent::{AgentConfig, InheritConfig};
pub(crate) use eval::EvalConfig;
pub(crate) use journal::{JournalConfig, JournalLevel};
#[cfg(test)]
pub(crate) use layers::PATHS;
pub(crate) use layers::{Layered, Origin, is_url};
pub(crate) use reward::{RewardConfig, SourceConfig};
pub(crate) use schema::{
    Config, DatasetConfig, EngineConfig, EngineKind, FamilyConfig, LogConfig, ParseKind, PluginsConfig,
    RolloutConfig, SamplingConfig,
};
pub(crate) use sessions::SessionsConfig;
