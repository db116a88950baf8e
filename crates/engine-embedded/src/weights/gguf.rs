//! Tensors of a GGUF file, dequantised.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use candle_core::Device;
use candle_core::quantized::gguf_file::Content;

use super::{Part, Tensor, Tensors};
use crate::LoadError;

/// An open GGUF file.
pub(crate) struct Gguf {
    path: PathBuf,
    file: BufReader<File>,
    content: Content,
}

impl Gguf {
    /// Opens the file and reads its metadata.
    pub(crate) fn open(path: &Path) -> Result<Self, LoadError> {
        let file = File::open(path).map_err(|source| LoadError::Read { path: path.to_owned(), source })?;
        let mut file = BufReader::with_capacity(1 << 20, file);
        let content =
            Content::read(&mut file).map_err(|source| LoadError::Gguf { path: path.to_owned(), source })?;
        Ok(Self { path: path.to_owned(), file, content })
    }

    pub(crate) fn content(&self) -> &Content {
        &self.content
    }
}

impl Tensors for Gguf {
    fn name(&self, part: Part, layer: Option<usize>, kind: &str) -> String {
        match layer {
            Some(layer) => format!("blk.{layer}.{}.{kind}", part.gguf),
            None => format!("{}.{kind}", part.gguf),
        }
    }

    fn read(&mut self, name: &str) -> Result<Option<Tensor>, LoadError> {
        if !self.content.tensor_infos.contains_key(name) {
            return Ok(None);
        }
        let mut read = || {
            let tensor = self.content.tensor(&mut self.file, name, &Device::Cpu)?.dequantize(&Device::Cpu)?;
            Ok(Tensor { shape: tensor.dims().to_vec(), values: tensor.flatten_all()?.to_vec1()? })
        };
        read().map(Some).map_err(|source| LoadError::Gguf { path: self.path.clone(), source })
    }
}
