//! Process groups that end with their owner
