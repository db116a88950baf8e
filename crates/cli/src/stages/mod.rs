//! The stages as commands: evidence is gathered here, and judged by `verbatim-stages`.

pub(crate) mod assess;
pub(crate) mod bridge;
mod bundle;
pub(crate) mod check;
pub(crate) mod demonstrate;
pub(crate) mod diagnose;
mod evidence;
mod hashes;
#[cfg(test)]
mod known;
mod machine;
mod refused;
mod resolved;
mod run;
pub(crate) mod stage;
mod state;
mod tell;
