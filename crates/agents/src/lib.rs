//! Agents as managed processes
