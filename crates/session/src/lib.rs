//! Sessions and their turns
