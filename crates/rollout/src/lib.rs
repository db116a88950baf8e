//! Groups of rollouts
