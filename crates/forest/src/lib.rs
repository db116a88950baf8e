//! Append-only token lineages
