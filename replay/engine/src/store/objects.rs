//! A prefix of an object store, for machines that share no file system.
//!
//! The addresses are `s3://BUCKET/PREFIX`, with the settings of the usual variables (`AWS_REGION`,
//! `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_ENDPOINT_URL`, …), and `file:///FOLDER`.

use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;

use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt, TryStreamExt};
use object_store::aws::AmazonS3Builder;
use object_store::local::LocalFileSystem;
use object_store::path::Path as ObjectPath;
use object_store::{Error, ObjectStore, ObjectStoreExt, PutMode, PutPayload};
use tokio::runtime::Runtime;

use super::StoreError;
use super::segment::ObjectReceiver;

/// Number of objects that are read at once.
const READS: usize = 16;

/// A prefix of an object store. Names are relative to it.
pub(super) struct ObjectPrefix {
    address: String,
    store: Arc<dyn ObjectStore>,
    prefix: ObjectPath,
    /// The store's connections belong to it. `None` once this is dropped.
    runtime: Option<Runtime>,
}

impl ObjectPrefix {
    /// The prefix at an address. Nothing is asked of the store yet.
    ///
    /// # Errors
    /// The address is invalid, or the environment variables contradict each other.
    pub(super) fn open(address: &str) -> Result<Self, StoreError> {
        let no_address = |reason: String| StoreError::Address {
            address: address.to_owned(),
            reason,
        };
        let refused = |error: Error| no_address(error.to_string());
        let (store, prefix): (Arc<dyn ObjectStore>, _) = match address.strip_prefix("s3://") {
            Some(rest) => {
                let rest = rest.trim_end_matches('/');
                let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
                if bucket.is_empty() {
                    return Err(no_address("it names no bucket".to_owned()));
                }
                // Two providers can't be installed; if there is one already, it is as good.
                let _ = rustls::crypto::ring::default_provider().install_default();
                let builder = AmazonS3Builder::from_env().with_bucket_name(bucket);
                let prefix = ObjectPath::parse(prefix);
                (Arc::new(builder.build().map_err(refused)?), prefix)
            }
            None => {
                let path = address
                    .strip_prefix("file://")
                    .ok_or_else(|| no_address("no such stores are known".to_owned()))?;
                let store = LocalFileSystem::new().with_fsync(true);
                (Arc::new(store), ObjectPath::from_absolute_path(path))
            }
        };
        let prefix = prefix.map_err(|error| no_address(error.to_string()))?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .map_err(|error| no_address(error.to_string()))?;
        Ok(Self {
            address: address.trim_end_matches('/').to_owned(),
            store,
            prefix,
            runtime: Some(runtime),
        })
    }

    /// The address of an object, for people.
    pub(super) fn place(&self, name: &str) -> PathBuf {
        format!("{}/{name}", self.address).into()
    }

    /// The names of all objects in a folder and the folders below it, sorted.
    ///
    /// # Errors
    /// The store does not answer.
    pub(super) fn list(&self, folder: &str) -> Result<Vec<String>, StoreError> {
        let listed = self.store.list(Some(&self.object(folder)));
        let found: Vec<_> = self
            .wait(listed.try_collect())
            .map_err(|error| self.fault(folder, error))?;
        let mut names: Vec<String> = found
            .into_iter()
            .filter_map(|object| {
                // Listed locations have the prefix of the store; names here are relative to it.
                let parts = object.location.prefix_match(&self.prefix)?;
                let parts: Vec<String> = parts.map(|part| part.as_ref().to_owned()).collect();
                Some(parts.join("/"))
            })
            .collect();
        names.sort();
        Ok(names)
    }

    /// Reads objects, and gives each to a function in the order of their names here.
    ///
    /// # Errors
    /// An object can't be read, or the function fails.
    pub(super) fn read(
        &self,
        names: &[String],
        receive: &mut ObjectReceiver<'_>,
    ) -> Result<(), StoreError> {
        let reads: Vec<_> = names.iter().map(|name| self.read_one(name)).collect();
        self.wait(async {
            let mut reads = futures::stream::iter(reads).buffered(READS);
            while let Some((name, contents)) = reads.try_next().await? {
                receive(name, contents)?;
            }
            Ok(())
        })
    }

    /// Reads an object; returns its name as well.
    fn read_one<'a>(
        &'a self,
        name: &'a str,
    ) -> BoxFuture<'a, Result<(&'a str, Vec<u8>), StoreError>> {
        let read = async move {
            let object = self.store.get(&self.object(name)).await?;
            object.bytes().await
        };
        read.map(move |contents| match contents {
            Ok(contents) => Ok((name, contents.to_vec())),
            Err(error) => Err(self.fault(name, error)),
        })
        .boxed()
    }

    /// Creates an object that is named by its contents. One that is there is the same, and stays.
    ///
    /// # Errors
    /// The store refuses.
    pub(super) fn put(&self, name: &str, contents: &[u8]) -> Result<(), StoreError> {
        let payload = PutPayload::from(contents.to_vec());
        let location = self.object(name);
        let created = self.wait(async {
            let mode = PutMode::Create.into();
            match self.store.put_opts(&location, payload, mode).await {
                // Another writer may only have begun to create it.
                Err(Error::AlreadyExists { .. }) => self.store.head(&location).await.map(drop),
                created => created.map(drop),
            }
        });
        created.map_err(|error| self.fault(name, error))
    }

    fn object(&self, name: &str) -> ObjectPath {
        let parts = name.split('/').filter(|part| !part.is_empty());
        parts.fold(self.prefix.clone(), |path, part| path.join(part))
    }

    fn fault(&self, name: &str, source: Error) -> StoreError {
        StoreError::Object {
            place: self.place(name),
            source: Box::new(source),
        }
    }

    /// Waits on a thread of its own, because the caller may be inside another runtime.
    fn wait<T: Send>(&self, work: impl Future<Output = T> + Send) -> T {
        let Some(runtime) = &self.runtime else {
            unreachable!("the runtime is there until this is dropped")
        };
        let done = std::thread::scope(|scope| scope.spawn(|| runtime.block_on(work)).join());
        done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

impl Drop for ObjectPrefix {
    fn drop(&mut self) {
        // Waiting for its threads is refused inside another runtime.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
