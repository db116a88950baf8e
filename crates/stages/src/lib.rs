//! Stages and their reports
