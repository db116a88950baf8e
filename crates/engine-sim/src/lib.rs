//! A seeded engine with a latency model
