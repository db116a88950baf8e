//! A group's rows on disk.
//!
//! The form: a length as four little-endian bytes, so many bytes of JSON that say what it is, and the rows as Parquet.

use bytes::{Buf, Bytes};
use serde::{Deserialize, Serialize};
use verbatim_events::GroupId;
use verbatim_samples::Format;

use crate::Batch;

const PREFIX: &str = "rollout/group/";

/// What a group is besides its rows.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Head {
    /// When its task was taken: so many were before.
    pub(super) at: u64,
    step: u64,
    group: GroupId,
    is_last: bool,
}

/// The name of a group's note.
pub(super) fn name(number: u64) -> String {
    format!("{PREFIX}{number}")
}

/// Freezes a group.
pub(super) fn write(batch: &Batch, at: u64) -> Result<Vec<u8>, String> {
    let head = Head { at, step: batch.step, group: batch.group.clone(), is_last: batch.is_last };
    let head = serde_json::to_vec(&head).map_err(|error| error.to_string())?;
    let rows = Format::Parquet.write(&batch.rows).map_err(|error| error.to_string())?;
    let length = u32::try_from(head.len()).map_err(|error| error.to_string())?;
    Ok([&length.to_le_bytes()[..], &head, &rows].concat())
}

/// Thaws one, if the note is a group's.
pub(super) fn read(name: &str, body: &Bytes) -> Option<Result<(Head, Batch), String>> {
    let number = name.strip_prefix(PREFIX)?;
    let thaw = || {
        let number = number.parse().map_err(|_| "it has no number".to_owned())?;
        let mut body = body.clone();
        let length = body.try_get_u32_le().map_err(|error| error.to_string())? as usize;
        if body.len() < length {
            return Err("it is cut short".to_owned());
        }
        let head: Head = serde_json::from_slice(&body.split_to(length)).map_err(|error| error.to_string())?;
        let rows = Format::Parquet.read(&body).map_err(|error| error.to_string())?;
        let Head { step, is_last, .. } = head;
        let batch = Batch { number, step, group: head.group.clone(), rows, is_last };
        Ok((head, batch))
    };
    Some(thaw().map_err(|problem| format!("{name}: {problem}")))
}
