//! An agent with a tool loop
