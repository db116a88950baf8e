//! A language model on the CPU, in process
