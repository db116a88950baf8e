//! A vocabulary in tiktoken's format, which Kimi's models come with: a file of ranks and, in
//! `tokenizer_config.json`, the added tokens.
//!
//! The invariant: a text is cut and merged as tiktoken cuts and merges it. A rank says both which id
//! an entry has and how early its two halves are merged, whichever halves they are.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use crate::TokenizerError;
use crate::bytes::character_of;

/// How Kimi's tokenizer cuts a text: Chinese by itself, else as GPT-4o's does.
const KIMI: &str = r"[\p{Han}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";

/// How many ids after the ranks are added tokens; those without a name are reserved.
const RESERVED: usize = 256;

/// The same vocabulary as a `tokenizer.json`.
pub(crate) fn converted(ranks: &[u8], config: &[u8]) -> Result<Value, TokenizerError> {
    let entries = read(ranks)?;
    let ids: HashMap<&[u8], usize> = entries.iter().map(|(entry, id)| (entry.as_slice(), *id)).collect();
    let spelled = |entry: &[u8]| entry.iter().copied().map(character_of).collect::<String>();
    let mut vocabulary = Map::new();
    // The rank of the whole and of its halves, then the halves.
    let mut merges: Vec<([usize; 3], [&[u8]; 2])> = Vec::new();
    for (entry, id) in &entries {
        vocabulary.insert(spelled(entry), Value::from(*id));
        let halves = (1..entry.len()).map(|at| entry.split_at(at));
        merges.extend(halves.filter_map(|(first, second)| {
            Some(([*id, *ids.get(first)?, *ids.get(second)?], [first, second]))
        }));
    }
    merges.sort_unstable();
    let merges: Vec<Value> =
        merges.iter().map(|(_, [first, second])| json!([spelled(first), spelled(second)])).collect();
    let split = json!({"type": "Split", "pattern": {"Regex": KIMI}, "behavior": "Isolated", "invert": false});
    let bytes =
        json!({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false});
    Ok(json!({
        "version": "1.0",
        "added_tokens": added(entries.len(), config)?,
        "normalizer": null,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [split, bytes]},
        "post_processor": null,
        "decoder": bytes,
        "model": {"type": "BPE", "vocab": vocabulary, "merges": merges, "ignore_merges": true},
    }))
}

/// The lines of a file of ranks: an entry in base64, then its rank.
fn read(ranks: &[u8]) -> Result<Vec<(Vec<u8>, usize)>, TokenizerError> {
    let lines =
        ranks.split(|byte| *byte == b'\n').enumerate().filter(|(_, line)| !line.trim_ascii().is_empty());
    let entry = |(at, line): (usize, &[u8])| {
        let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        let entry = decoded(words.next()?).filter(|entry| !entry.is_empty())?;
        let rank = std::str::from_utf8(words.next()?).ok()?.parse().ok()?;
        (rank == at && words.next().is_none()).then_some((entry, rank))
    };
    let read = |line: (usize, &[u8])| {
        let broken = || TokenizerError::Vocabulary {
            reason: format!("line {} of the tiktoken file is no entry in base64 with its rank", line.0 + 1),
        };
        entry(line).ok_or_else(broken)
    };
    lines.map(read).collect()
}

/// Base64 with its padding.
fn decoded(text: &[u8]) -> Option<Vec<u8>> {
    let digit = |byte: u8| {
        Some(match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        })
    };
    let digits = text.strip_suffix(b"==").or_else(|| text.strip_suffix(b"=")).unwrap_or(text);
    let mut out = Vec::with_capacity(digits.len() * 3 / 4);
    let (mut held, mut bits) = (0u32, 0);
    for byte in digits {
        held = (held << 6) | u32::from(digit(*byte)?);
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            out.push(u8::try_from((held >> bits) & 0xff).ok()?);
        }
    }
    text.len().is_multiple_of(4).then_some(out)
}

/// The added tokens: those that the configuration names, and the reserved ones between them.
fn added(first: usize, config: &[u8]) -> Result<Vec<Value>, TokenizerError> {
    let broken = |reason: String| TokenizerError::Json { reason: format!("tokenizer_config.json: {reason}") };
    let config: Value = serde_json::from_slice(config).map_err(|e| broken(e.to_string()))?;
    let nothing = Map::new();
    let named = config.get("added_tokens_decoder").and_then(Value::as_object).unwrap_or(&nothing);
    let token = |id: usize| {
        let entry = named.get(&id.to_string());
        let field = |name: &str| entry.and_then(|entry| entry.get(name)).cloned();
        let content = field("content").unwrap_or_else(|| Value::from(format!("<|reserved_token_{id}|>")));
        // What has no name steers nothing that a model says.
        json!({"id": id, "content": content, "special": field("special").unwrap_or(Value::Bool(true))})
    };
    for id in named.keys() {
        let known = id.parse::<usize>().is_ok_and(|id| (first..first + RESERVED).contains(&id));
        if !known {
            let last = first + RESERVED - 1;
            return Err(broken(format!(
                "added_tokens_decoder.{id}: added tokens have ids {first} to {last}"
            )));
        }
    }
    Ok((first..first + RESERVED).map(token).collect())
}
