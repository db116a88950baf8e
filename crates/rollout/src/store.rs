//! Rows in an object store, an object a group.
//!
//! The invariant: an object has its name only once it is complete, and a group counts as taken once the store said so.

use std::sync::Arc;

use futures::future::BoxFuture;
use object_store::buffered::BufWriter;
use object_store::path::{Path, PathPart};
use object_store::{ObjectStore, ObjectStoreExt};
use tokio::io::AsyncWriteExt;
use url::Url;
use verbatim_samples::Format;

use crate::{Batch, RolloutError, Sink, SinkError};

/// What is larger goes up in parts.
const PART: usize = 16 << 20;
/// The object that says what lies beside it.
const MARK: &str = "_verbatim.json";

/// Puts each group as one object below a URL, named as the group: `s3://bucket/run/train-17.parquet`.
///
/// Requests that fail in passing are sent again by the library, for three minutes.
#[derive(Clone, Debug)]
pub struct Store {
    objects: Arc<dyn ObjectStore>,
    prefix: Path,
    format: Format,
}

impl Store {
    /// Opens the store at `url` (`s3://`, `gs://`, `az://`, and the other forms that `object_store` reads), with
    /// what the environment says of it: `AWS_ACCESS_KEY_ID`, `AWS_ENDPOINT`, `GOOGLE_SERVICE_ACCOUNT`,
    /// `AZURE_STORAGE_ACCOUNT_NAME` and so on. Puts an object there that names the format, so that a store which takes
    /// nothing is known before anything runs.
    ///
    /// # Errors
    /// [`RolloutError::Store`].
    pub async fn open(
        url: &str,
        environment: impl IntoIterator<Item = (String, String)>,
        format: Format,
    ) -> Result<Self, RolloutError> {
        let bad = |problem: String| RolloutError::Store { url: url.to_owned(), problem };
        let parsed = Url::parse(url).map_err(|error| bad(error.to_string()))?;
        let (objects, prefix) =
            object_store::parse_url_opts(&parsed, environment).map_err(|error| bad(error.to_string()))?;
        let store = Self { objects: objects.into(), prefix, format };
        let mark = serde_json::json!({"verbatim": env!("CARGO_PKG_VERSION"), "format": format.extension()});
        let put = store.objects.put(&store.at(MARK), mark.to_string().into()).await;
        put.map_err(|error| bad(format!("it takes no object: {error}")))?;
        Ok(store)
    }

    fn at(&self, name: &str) -> Path {
        self.prefix.clone().join(PathPart::from(name))
    }

    async fn write(self, batch: Arc<Batch>) -> Result<(), SinkError> {
        let name = batch.group.as_str().replace(':', "-");
        let path = self.at(&format!("{name}.{}", self.format.extension()));
        let refused =
            |problem: String| SinkError::Refused { sink: "store", problem: format!("{path}: {problem}") };
        let format = self.format;
        // Linear in tokens: off the threads that serve requests.
        let bytes = tokio::task::spawn_blocking(move || format.write(&batch.rows)).await;
        let bytes = bytes.map_err(|error| refused(error.to_string()))??;
        let mut upload = BufWriter::with_capacity(Arc::clone(&self.objects), path.clone(), PART);
        if let Err(error) = upload.put(bytes.into()).await {
            // Its parts would be kept, and paid for. What is wrong with the store is said already.
            let _ = upload.abort().await;
            return Err(refused(error.to_string()));
        }
        upload.shutdown().await.map_err(|error| refused(error.to_string()))
    }
}

impl Sink for Store {
    fn put(&self, batch: Arc<Batch>) -> BoxFuture<'static, Result<(), SinkError>> {
        Box::pin(self.clone().write(batch))
    }
}

#[cfg(test)]
mod tests {
    use verbatim_events::GroupId;

    use super::*;

    fn batch() -> Arc<Batch> {
        Arc::new(Batch {
            number: 0,
            step: 1,
            group: GroupId::new("train:3"),
            rows: Vec::new(),
            is_last: true,
        })
    }

    #[tokio::test]
    async fn a_group_is_an_object_below_the_url() {
        let store = Store::open("memory:///runs/one", [], Format::Jsonl).await.unwrap();
        store.put(batch()).await.unwrap();
        let mark = store.objects.get(&Path::from("runs/one/_verbatim.json")).await.unwrap();
        let mark: serde_json::Value = serde_json::from_slice(&mark.bytes().await.unwrap()).unwrap();
        assert_eq!(mark["format"], "jsonl");
        assert!(store.objects.head(&Path::from("runs/one/train-3.jsonl")).await.is_ok());
    }

    #[tokio::test]
    async fn a_url_that_is_no_store_is_refused_with_its_name() {
        for url in ["runs", "ftp://host/runs", "s3://"] {
            let error = Store::open(url, [], Format::Jsonl).await.unwrap_err().to_string();
            assert!(error.starts_with(&format!("{url}: ")), "{error}");
        }
    }
}
