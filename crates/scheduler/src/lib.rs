//! When a turn may run: a sans-I/O state machine
