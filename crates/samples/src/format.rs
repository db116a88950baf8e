//! The three file formats.

use crate::{Row, RowError, jsonl, parquet, read_safetensors, safetensors, write_safetensors};

/// A file format for rows. Each holds everything a [`Row`] holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// Miles' samples layout, which its driver decodes; our own data under `metadata.verbatim`.
    Safetensors,
    /// One Arrow record a row.
    #[default]
    Parquet,
    /// One JSON object a line.
    Jsonl,
}

impl Format {
    /// The format that a file name ends in.
    ///
    /// # Errors
    /// [`RowError::Format`].
    pub fn of(name: &str) -> Result<Self, RowError> {
        match name.rsplit_once('.').map(|(_, extension)| extension) {
            Some("safetensors") => Ok(Self::Safetensors),
            Some("parquet") => Ok(Self::Parquet),
            Some("jsonl") => Ok(Self::Jsonl),
            _ => Err(RowError::Format { name: name.to_owned() }),
        }
    }

    /// The file name's ending.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Safetensors => "safetensors",
            Self::Parquet => "parquet",
            Self::Jsonl => "jsonl",
        }
    }

    /// Rows as a file's bytes.
    ///
    /// # Errors
    /// [`RowError`].
    pub fn write(self, rows: &[Row]) -> Result<Vec<u8>, RowError> {
        match self {
            Self::Safetensors => {
                write_safetensors(rows, &safetensors::Envelope::default(), |_| String::new())
            }
            Self::Parquet => parquet::write(rows),
            Self::Jsonl => jsonl::write(rows),
        }
    }

    /// Rows from a file's bytes.
    ///
    /// # Errors
    /// [`RowError`], naming the row and what is wrong.
    pub fn read(self, bytes: &[u8]) -> Result<Vec<Row>, RowError> {
        match self {
            Self::Safetensors => read_safetensors(bytes),
            Self::Parquet => parquet::read(bytes),
            Self::Jsonl => jsonl::read(bytes),
        }
    }
}
