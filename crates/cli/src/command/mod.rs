//! The commands.

pub(crate) mod config;
pub(crate) mod engine;
pub(crate) mod inspect;
pub(crate) mod pull;
mod rows_files;
pub(crate) mod run;
pub(crate) mod serve;
pub(crate) mod verify;
pub(crate) mod verify_template;
