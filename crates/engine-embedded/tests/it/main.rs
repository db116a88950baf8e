//! The engine on a real model (SmolLM2 135M) and on tiny random ones.

mod batch;
mod cache;
mod model;
mod naive;
mod reply;
mod sampling;
mod scoring;
mod tiny;
mod tokenizer;
