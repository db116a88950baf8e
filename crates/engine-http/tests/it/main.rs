//! The clients against servers: every conformance vector of the engines' contracts, every fault, and
//! engines that pause, fail and come back.

mod control;
mod pool;
mod replies;
mod support;
mod vectors;
