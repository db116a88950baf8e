//! Tensors of a Hugging Face folder, in one safetensors file or in several with an index.

use std::collections::HashMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use safetensors::tensor::{Dtype, Metadata};
use serde::Deserialize;

use super::{Part, Tensor, Tensors};
use crate::LoadError;

#[derive(Deserialize)]
struct Index {
    weight_map: HashMap<String, String>,
}

struct Shard {
    path: PathBuf,
    file: File,
    /// Where the tensors' bytes begin.
    start: u64,
    metadata: Metadata,
}

/// An open folder of safetensors files; only what is asked for is read.
pub(crate) struct Folder {
    shards: Vec<Shard>,
}

impl Folder {
    /// Opens the folder's files and reads their headers.
    pub(crate) fn open(folder: &Path) -> Result<Self, LoadError> {
        let single = folder.join("model.safetensors");
        let index = folder.join("model.safetensors.index.json");
        let files = if single.is_file() {
            vec![single]
        } else if index.is_file() {
            let text = std::fs::read_to_string(&index)
                .map_err(|source| LoadError::Read { path: index.clone(), source })?;
            let read: Index =
                serde_json::from_str(&text).map_err(|source| LoadError::Json { path: index, source })?;
            let mut files: Vec<_> = read.weight_map.into_values().map(|name| folder.join(name)).collect();
            files.sort();
            files.dedup();
            files
        } else {
            return Err(LoadError::NoModel { path: folder.to_owned() });
        };
        Ok(Self { shards: files.into_iter().map(Shard::open).collect::<Result<_, _>>()? })
    }
}

impl Shard {
    fn open(path: PathBuf) -> Result<Self, LoadError> {
        let unreadable = |source| LoadError::Read { path: path.clone(), source };
        let mut file = File::open(&path).map_err(unreadable)?;
        let size = file.metadata().map_err(unreadable)?.len();
        let mut header = vec![0; 8];
        file.read_exact(&mut header).map_err(unreadable)?;
        let length = header.iter().rev().fold(0u64, |length, byte| length << 8 | u64::from(*byte));
        // A header that is longer than the file is left to the parser to refuse.
        header.resize(8 + length.min(size.saturating_sub(8)) as usize, 0);
        file.read_exact(&mut header[8..]).map_err(unreadable)?;
        let metadata = serde_json::from_slice(&header[8..])
            .map_err(|source| LoadError::Json { path: path.clone(), source })?;
        Ok(Self { path, file, start: header.len() as u64, metadata })
    }

    fn bytes(&mut self, from: usize, to: usize) -> Result<Vec<u8>, LoadError> {
        let mut bytes = vec![0; to.saturating_sub(from)];
        let read = self.file.seek(SeekFrom::Start(self.start + from as u64));
        read.and_then(|_| self.file.read_exact(&mut bytes))
            .map_err(|source| LoadError::Read { path: self.path.clone(), source })?;
        Ok(bytes)
    }
}

impl Tensors for Folder {
    fn name(&self, part: Part, layer: Option<usize>, kind: &str) -> String {
        match layer {
            Some(layer) => format!("model.layers.{layer}.{}.{kind}", part.folder),
            None => format!("{}.{kind}", part.folder),
        }
    }

    fn read(&mut self, name: &str) -> Result<Option<Tensor>, LoadError> {
        for shard in &mut self.shards {
            let Some(info) = shard.metadata.info(name) else { continue };
            let (shape, dtype, (from, to)) = (info.shape.clone(), info.dtype, info.data_offsets);
            let bytes = shard.bytes(from, to)?;
            let values = match dtype {
                Dtype::F32 => bytes.as_chunks().0.iter().map(|b| f32::from_le_bytes(*b)).collect(),
                // The upper half of an f32.
                Dtype::BF16 => {
                    let halves = bytes.as_chunks().0.iter();
                    halves.map(|b| f32::from_bits(u32::from(u16::from_le_bytes(*b)) << 16)).collect()
                }
                Dtype::F16 => bytes.as_chunks().0.iter().map(|b| half(u16::from_le_bytes(*b))).collect(),
                other => return Err(LoadError::Type { name: name.to_owned(), found: format!("{other:?}") }),
            };
            return Ok(Some(Tensor { shape, values }));
        }
        Ok(None)
    }
}

/// An IEEE half as f32, exactly.
fn half(bits: u16) -> f32 {
    let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f32::from(bits & 1023));
    sign * match exponent {
        0 => fraction * 2f32.powi(-24),
        31 if fraction == 0.0 => f32::INFINITY,
        31 => f32::NAN,
        _ => (1.0 + fraction / 1024.0) * 2f32.powi(exponent - 15),
    }
}

#[cfg(test)]
mod tests {
    use super::half;

    #[test]
    fn halves_are_read_exactly() {
        assert_eq!(half(0x3c00), 1.0);
        assert_eq!(half(0xc000), -2.0);
        assert_eq!(half(0x7bff), 65504.0);
        assert_eq!(half(0x0001), 2f32.powi(-24));
        assert_eq!(half(0x3555), 0.333_251_95);
        assert!(half(0x7e00).is_nan());
    }
}
