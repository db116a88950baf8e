//! The verbatim binary.
fn main() {}
