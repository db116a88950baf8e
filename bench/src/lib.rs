//! Load generator and mock engine
