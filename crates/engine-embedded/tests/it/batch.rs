//! Many sequences at once.
