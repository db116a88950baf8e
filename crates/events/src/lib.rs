//! The one schema of what happened
