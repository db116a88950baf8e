//! Training rows and their files
