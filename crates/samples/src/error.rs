//! Rows that cannot be made, written or read.

use verbatim_tokens::LogprobKind;

/// A failure of assembly or of a codec.
#[derive(Debug, thiserror::Error)]
pub enum RowError {
    /// One row would mix logprobs of two kinds.
    #[error("a row cannot mix {first:?} and {second:?} logprobs; serve one engine a session")]
    MixedLogprobs {
        /// The kind of the first sampled token.
        first: LogprobKind,
        /// The other kind.
        second: LogprobKind,
    },
    /// The file's name tells no format.
    #[error("{name}: unknown row format; use .safetensors, .parquet or .jsonl")]
    Format {
        /// The name.
        name: String,
    },
    /// The file does not hold rows of ours.
    #[error("row {row}: {problem}")]
    Malformed {
        /// Position of the row.
        row: usize,
        /// What is wrong.
        problem: String,
    },
    /// JSON.
    #[error("rows are not valid JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// Safetensors.
    #[error("rows are not valid safetensors: {0}")]
    Safetensors(#[from] ::safetensors::SafeTensorError),
    /// Parquet.
    #[error("rows are not valid Parquet: {0}")]
    Parquet(#[from] ::parquet::errors::ParquetError),
    /// Arrow.
    #[error("rows do not fit Arrow: {0}")]
    Arrow(#[from] arrow::error::ArrowError),
}
