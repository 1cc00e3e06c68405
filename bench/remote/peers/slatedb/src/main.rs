//! SlateDB as a peer of the benchmark's suite `remote`: it does what it is told in lines of JSON,
//! and answers each with one. ../../command.go says what they mean.

mod record;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use slatedb::config::ScanOptions;
use slatedb::db_cache::foyer::{FoyerCache, FoyerCacheOptions};
use slatedb::object_store::ObjectStore;
use slatedb::object_store::aws::AmazonS3Builder;
use slatedb::{Db, DbReader, WriteBatch};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

type Failure = Box<dyn std::error::Error + Send + Sync>;

#[derive(Deserialize, Default)]
#[serde(default)]
struct Request {
    #[serde(rename = "do")]
    what: String,
    mode: String,
    address: String,
    bucket: String,
    cache: u64,
    writers: u64,
    milliseconds: u64,
    microseconds: u64,
    from: u64,
    to: u64,
    ids: Vec<u64>,
}

#[derive(Serialize, Default)]
struct Answer {
    #[serde(skip_serializing_if = "String::is_empty")]
    error: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    unsupported: String,
    nanoseconds: f64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    samples: Vec<f64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    at: Vec<f64>,
    bytes: f64,
    records: u64,
}

/// The database, opened one way or the other.
#[derive(Default)]
struct Peer {
    db: Option<Db>,
    reader: Option<DbReader>,
    waits: bool,
}

const PATH: &str = "db";

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    let mut out = tokio::io::stdout();
    let mut peer = Peer::default();
    while let Some(line) = lines.next_line().await? {
        let request: Request = serde_json::from_str(&line)?;
        let answer = match peer.answer(&request).await {
            Ok(answer) => answer,
            Err(err) => Answer { error: format!("{err:?}"), ..Default::default() },
        };
        let mut text = serde_json::to_vec(&answer)?;
        text.push(b'\n');
        out.write_all(&text).await?;
        out.flush().await?;
    }
    Ok(())
}

fn store(r: &Request) -> Result<Arc<dyn ObjectStore>, Failure> {
    Ok(Arc::new(
        AmazonS3Builder::new()
            .with_endpoint(format!("http://{}", r.address))
            .with_allow_http(true)
            .with_region("us-east-1")
            .with_bucket_name(&r.bucket)
            .with_access_key_id("bench")
            .with_secret_access_key("benchbench")
            .build()?,
    ))
}

impl Peer {
    async fn answer(&mut self, r: &Request) -> Result<Answer, Failure> {
        match r.what.as_str() {
            "open" => self.open(r).await,
            "commit" => self.commit(r).await,
            "load" => self.load(r).await,
            "ship" => self.ship().await,
            "get" => self.get(r).await,
            "scan" => self.scan().await,
            "close" => self.close().await,
            other => Ok(Answer { unsupported: other.to_string(), ..Default::default() }),
        }
    }

    async fn open(&mut self, r: &Request) -> Result<Answer, Failure> {
        let start = Instant::now();
        match r.mode.as_str() {
            "wait" | "async" => {
                let mut builder = Db::builder(PATH, store(r)?);
                if r.cache > 0 {
                    let options = FoyerCacheOptions { max_capacity: r.cache, ..Default::default() };
                    builder =
                        builder.with_db_cache(Arc::new(FoyerCache::new_with_opts(options)), 1);
                }
                self.db = Some(builder.build().await?);
                self.waits = r.mode == "wait";
            }
            "read" => self.reader = Some(DbReader::builder(PATH, store(r)?).build().await?),
            other => return Ok(Answer { unsupported: other.to_string(), ..Default::default() }),
        }
        Ok(Answer { nanoseconds: nanoseconds(start), ..Default::default() })
    }

    /// Commits a record in each transaction, with so many writers, for so long, and at least once.
    async fn commit(&self, r: &Request) -> Result<Answer, Failure> {
        let db = self.db.as_ref().ok_or("the database is not open for writing")?;
        let next = Arc::new(AtomicU64::new(r.from));
        let start = Instant::now();
        let end = start + Duration::from_millis(r.milliseconds);
        let pause = Duration::from_micros(r.microseconds);
        let mut writers = Vec::new();
        for _ in 0..r.writers {
            let (db, next, waits) = (db.clone(), next.clone(), self.waits);
            writers.push(tokio::spawn(async move {
                let (mut samples, mut at) = (Vec::new(), Vec::new());
                loop {
                    let id = next.fetch_add(1, Ordering::Relaxed);
                    let (key, value) = (record::key(id), record::value(id));
                    let begun = Instant::now();
                    let handle = db.put(key, value).await?;
                    if waits {
                        handle.await_durable().await?;
                    }
                    samples.push(nanoseconds(begun));
                    at.push(SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs_f64() * 1e6);
                    if !pause.is_zero() {
                        tokio::time::sleep(pause.saturating_sub(begun.elapsed())).await;
                    }
                    if Instant::now() >= end {
                        break;
                    }
                }
                Ok::<_, Failure>((samples, at))
            }));
        }
        let mut answer = Answer::default();
        for writer in writers {
            let (samples, at) = writer.await??;
            answer.samples.extend(samples);
            answer.at.extend(at);
        }
        answer.nanoseconds = nanoseconds(start);
        answer.records = next.load(Ordering::Relaxed) - r.from;
        Ok(answer)
    }

    /// Stores records in transactions of 1,000, and makes tables of them.
    async fn load(&self, r: &Request) -> Result<Answer, Failure> {
        let db = self.db.as_ref().ok_or("the database is not open for writing")?;
        let start = Instant::now();
        for from in (r.from..r.to).step_by(1000) {
            let mut batch = WriteBatch::new();
            for id in from..r.to.min(from + 1000) {
                batch.put(record::key(id), record::value(id));
            }
            db.write(batch).await?;
        }
        db.flush().await?;
        Ok(Answer { nanoseconds: nanoseconds(start), ..Default::default() })
    }

    async fn ship(&self) -> Result<Answer, Failure> {
        self.db.as_ref().ok_or("the database is not open for writing")?.flush().await?;
        Ok(Answer::default())
    }

    /// Gets records one after the other, and compares them.
    async fn get(&self, r: &Request) -> Result<Answer, Failure> {
        let mut answer = Answer::default();
        for &id in &r.ids {
            let begun = Instant::now();
            let value = match (&self.db, &self.reader) {
                (Some(db), _) => db.get(record::key(id)).await?,
                (_, Some(reader)) => reader.get(record::key(id)).await?,
                _ => return Err("the database is not open".into()),
            };
            answer.samples.push(nanoseconds(begun));
            if value.as_deref() != Some(record::value(id).as_slice()) {
                return Err(format!("record {id} is not the one written").into());
            }
        }
        Ok(answer)
    }

    /// Reads all records.
    async fn scan(&self) -> Result<Answer, Failure> {
        let options =
            ScanOptions { read_ahead_bytes: 4 << 20, max_fetch_tasks: 4, ..Default::default() };
        let start = Instant::now();
        let mut records = match (&self.db, &self.reader) {
            (Some(db), _) => db.scan_with_options::<std::ops::RangeFull>(.., &options).await?,
            (_, Some(reader)) => {
                reader.scan_with_options::<std::ops::RangeFull>(.., &options).await?
            }
            _ => return Err("the database is not open".into()),
        };
        let mut answer = Answer::default();
        while let Some(pair) = records.next().await? {
            answer.bytes += (pair.key.len() + pair.value.len()) as f64;
            answer.records += 1;
        }
        answer.nanoseconds = nanoseconds(start);
        Ok(answer)
    }

    async fn close(&mut self) -> Result<Answer, Failure> {
        if let Some(db) = self.db.take() {
            db.close().await?;
        }
        if let Some(reader) = self.reader.take() {
            reader.close().await?;
        }
        Ok(Answer::default())
    }
}

fn nanoseconds(since: Instant) -> f64 {
    since.elapsed().as_nanos() as f64
}
