//! The commands.

pub mod config;
pub mod inspect;
pub mod pull;
mod rows_files;
pub mod run;
pub mod serve;
pub mod verify;
