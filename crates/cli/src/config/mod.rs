//! Every setting, in one place, with one precedence: flag, file, default.

mod layers;
mod schema;

pub use layers::{Layered, Origin};
pub use schema::{AgentConfig, Config, DatasetConfig, EngineConfig, EngineKind, FamilyConfig, LogConfig};
