//! Rows as Arrow records in a Parquet file.

use std::sync::Arc;

use ::parquet::arrow::ArrowWriter;
use ::parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use ::parquet::basic::{Compression, ZstdLevel};
use ::parquet::file::properties::WriterProperties;
use arrow::array::{
    Array, ArrayRef, AsArray, Float32Builder, Float64Array, Float64Builder, LargeBinaryArray, ListBuilder,
    RecordBatch, StringArray, StringBuilder, UInt8Builder, UInt32Array, UInt32Builder, UInt64Array,
};
use arrow::datatypes::{Float32Type, Float64Type, UInt32Type};
use verbatim_tokens::{Replay, TokenId};

use crate::stored::{Arrays, Stored};
use crate::{Row, RowError};

/// The columns that may have no value.
const NULLABLE: [&str; 9] = [
    "group",
    "group_index",
    "sample_index",
    "name",
    "reward",
    "turn_rewards",
    "advantages",
    "routed_experts",
    "indexer_topk",
];

/// Columns: `session`, `group`, `group_index` u64?, `sample_index` u64?, `name` string?, `tokens` list<u32>, `loss_mask` list<u8>, `mask_cause` list<string?>,
/// `logprobs` list<f32?>, `versions` list<string?>, `prompt_length` u32, `status`, `reward` f64?,
/// `turn_rewards` list<f64?>? (one a turn), `advantages` list<f64>? (one a token), `weight` f64, `routed_experts` binary? (`n − 1` rows × layers × top-k, little-endian; the shape is in
/// `verbatim.experts`), `indexer_topk` binary? (likewise), `metadata` and `verbatim` as JSON text. `verbatim` holds what reading back needs.
pub(crate) fn write(rows: &[Row]) -> Result<Vec<u8>, RowError> {
    let batch = batch(rows)?;
    let level = ZstdLevel::try_new(1)?;
    let properties = WriterProperties::builder().set_compression(Compression::ZSTD(level)).build();
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties))?;
    writer.write(&batch)?;
    Ok(writer.into_inner()?)
}

fn batch(rows: &[Row]) -> Result<RecordBatch, RowError> {
    let mut tokens = ListBuilder::new(UInt32Builder::new());
    let mut loss_mask = ListBuilder::new(UInt8Builder::new());
    let mut causes = ListBuilder::new(StringBuilder::new());
    let mut logprobs = ListBuilder::new(Float32Builder::new());
    let mut versions = ListBuilder::new(StringBuilder::new());
    let mut advantages = ListBuilder::new(Float64Builder::new());
    let mut turn_rewards = ListBuilder::new(Float64Builder::new());
    let (mut metadata, mut stored) = (Vec::new(), Vec::new());
    for row in rows {
        tokens.values().append_slice(TokenId::raw(&row.tokens));
        tokens.append(true);
        loss_mask.values().append_slice(&row.loss_mask());
        loss_mask.append(true);
        for (cause, count) in row.mask.iter() {
            (0..count).for_each(|_| causes.values().append_option(cause.map(|cause| cause.as_str())));
        }
        causes.append(true);
        row.logprobs.iter().for_each(|value| logprobs.values().append_option(*value));
        logprobs.append(true);
        for (version, count) in row.versions.iter() {
            let name = version.as_ref().map(|version| version.as_str());
            (0..count).for_each(|_| versions.values().append_option(name));
        }
        versions.append(true);
        let own = row.token_advantages();
        advantages.values().append_slice(own.as_deref().unwrap_or_default());
        advantages.append(own.is_some());
        let own = row.turn_rewards();
        own.iter().flatten().for_each(|reward| turn_rewards.values().append_option(*reward));
        turn_rewards.append(own.is_some());
        metadata.push(serde_json::to_string(&row.metadata)?);
        stored.push(serde_json::to_string(&Stored::of(row))?);
    }
    let text =
        |of: fn(&Row) -> Option<&str>| -> ArrayRef { Arc::new(rows.iter().map(of).collect::<StringArray>()) };
    let numbers =
        |of: fn(&Row) -> Option<f64>| -> ArrayRef { Arc::new(rows.iter().map(of).collect::<Float64Array>()) };
    let indices =
        |of: fn(&Row) -> Option<u64>| -> ArrayRef { Arc::new(rows.iter().map(of).collect::<UInt64Array>()) };
    let lengths: UInt32Array = rows.iter().map(|row| Some(row.prompt_length as u32)).collect();
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("session", text(|row| Some(row.session.as_str()))),
        ("group", text(|row| row.group.as_ref().map(|group| group.as_str()))),
        ("group_index", indices(|row| row.group_index)),
        ("sample_index", indices(|row| row.sample_index)),
        ("name", text(|row| row.name.as_deref())),
        ("tokens", Arc::new(tokens.finish())),
        ("loss_mask", Arc::new(loss_mask.finish())),
        ("mask_cause", Arc::new(causes.finish())),
        ("logprobs", Arc::new(logprobs.finish())),
        ("versions", Arc::new(versions.finish())),
        ("prompt_length", Arc::new(lengths)),
        (
            "status",
            text(|row| {
                Some(match row.status {
                    crate::Status::Completed => "completed",
                    crate::Status::Truncated => "truncated",
                })
            }),
        ),
        ("reward", numbers(|row| row.reward)),
        ("turn_rewards", Arc::new(turn_rewards.finish())),
        ("advantages", Arc::new(advantages.finish())),
        ("weight", numbers(|row| Some(row.weight))),
        ("routed_experts", payloads(rows, |row| row.experts.as_ref())),
        ("indexer_topk", payloads(rows, |row| row.indexer.as_ref())),
        ("metadata", Arc::new(StringArray::from(metadata))),
        ("verbatim", Arc::new(StringArray::from(stored))),
    ];
    Ok(RecordBatch::try_from_iter_with_nullable(
        columns.into_iter().map(|(name, column)| (name, column, NULLABLE.contains(&name))),
    )?)
}

pub(crate) fn read(bytes: &[u8]) -> Result<Vec<Row>, RowError> {
    let reader = ParquetRecordBatchReaderBuilder::try_new(bytes_of(bytes))?.build()?;
    let mut rows = Vec::new();
    for batch in reader {
        let batch = batch?;
        let column = |name: &str| {
            batch.column_by_name(name).ok_or_else(|| RowError::Malformed {
                row: 0,
                problem: format!("column {name} is missing: this file was not written by verbatim"),
            })
        };
        let (tokens, logprobs) = (column("tokens")?, column("logprobs")?);
        let (reward, metadata, stored) = (column("reward")?, column("metadata")?, column("verbatim")?);
        for at in 0..batch.num_rows() {
            let number = rows.len();
            let malformed = |problem: &str| RowError::Malformed { row: number, problem: problem.to_owned() };
            let ids = list(tokens, at).ok_or_else(|| malformed("tokens is no list"))?;
            let ids = ids.as_primitive_opt::<UInt32Type>().ok_or_else(|| malformed("tokens are no u32"))?;
            let values = list(logprobs, at).ok_or_else(|| malformed("logprobs is no list"))?;
            let values =
                values.as_primitive_opt::<Float32Type>().ok_or_else(|| malformed("logprobs are no f32"))?;
            let text =
                |column: &ArrayRef| column.as_string_opt::<i32>().map(|column| column.value(at).to_owned());
            let metadata = text(metadata).ok_or_else(|| malformed("metadata is no text"))?;
            let stored = text(stored).ok_or_else(|| malformed("verbatim is no text"))?;
            let stored: Stored = serde_json::from_str(&stored)?;
            let reward =
                reward.as_primitive_opt::<Float64Type>().filter(|r| r.is_valid(at)).map(|r| r.value(at));
            // Files written before there were payloads have no such columns.
            let payload = |name: &str| {
                let column = batch.column_by_name(name).and_then(|column| column.as_binary_opt::<i64>());
                column.filter(|column| column.is_valid(at)).map(|column| column.value(at).to_vec())
            };
            let arrays = Arrays {
                tokens: ids.values().iter().copied().map(TokenId).collect(),
                logprobs: values.iter().collect(),
                experts: payload("routed_experts"),
                indexer: payload("indexer_topk"),
            };
            rows.push(stored.row(number, arrays, reward, serde_json::from_str(&metadata)?)?);
        }
    }
    Ok(rows)
}

fn payloads(rows: &[Row], of: impl Fn(&Row) -> Option<&Replay>) -> ArrayRef {
    Arc::new(rows.iter().map(|row| of(row).map(Replay::bytes)).collect::<LargeBinaryArray>())
}

fn list(column: &ArrayRef, at: usize) -> Option<ArrayRef> {
    column.as_list_opt::<i32>().map(|list| list.value(at))
}

fn bytes_of(bytes: &[u8]) -> bytes::Bytes {
    bytes::Bytes::copy_from_slice(bytes)
}
