//! Every setting, in one place, with one precedence: flag, file, default.

mod layers;
mod schema;

pub(crate) use layers::{Layered, Origin};
pub(crate) use schema::{
    AgentConfig, Config, DatasetConfig, EngineConfig, EngineKind, FamilyConfig, LogConfig, ParseKind,
    PluginsConfig, RolloutConfig,
};
