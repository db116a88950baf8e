//! The commands.

pub(crate) mod config;
pub(crate) mod engine;
pub(crate) mod eval;
pub(crate) mod inspect;
pub(crate) mod journal;
pub(crate) mod pull;
mod report;
pub(crate) mod rows_files;
pub(crate) mod run;
pub(crate) mod serve;
pub(crate) mod verify;
pub(crate) mod verify_parser;
pub(crate) mod verify_session;
pub(crate) mod verify_template;
