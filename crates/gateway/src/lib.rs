//! The HTTP face
