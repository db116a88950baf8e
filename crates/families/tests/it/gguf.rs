//! The vocabulary and the template inside a GGUF file, as a `tokenizer.json`.

use serde_json::{Value, json};

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> &'a [u8] {
        let (head, rest) = self.0.split_at(count);
        self.0 = rest;
        head
    }

    fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.take(4).try_into().unwrap())
    }

    fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.take(8).try_into().unwrap())
    }

    fn text(&mut self) -> String {
        let length = usize::try_from(self.u64()).unwrap();
        String::from_utf8(self.take(length).to_vec()).unwrap()
    }

    /// Strings, 32-bit integers and lists of them; other numbers come as null.
    fn value(&mut self, kind: u32) -> Value {
        match kind {
            8 => json!(self.text()),
            9 => {
                let (kind, count) = (self.u32(), self.u64());
                (0..count).map(|_| self.value(kind)).collect()
            }
            4 | 5 => json!(self.u32()),
            _ => {
                self.take([1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8][kind as usize]);
                Value::Null
            }
        }
    }
}

/// SmolLM2's `tokenizer.json` and chat template; `tools/goldens/gguf.py` says how they are put
/// together.
pub(crate) fn smollm2(file: &[u8]) -> (String, String) {
    let mut reader = Reader(&file[16..]);
    let pairs = reader.u64();
    let mut found = serde_json::Map::new();
    for _ in 0..pairs {
        let key = reader.text();
        let kind = reader.u32();
        found.insert(key, reader.value(kind));
    }
    let tokens = found["tokenizer.ggml.tokens"].as_array().unwrap();
    let kinds = found["tokenizer.ggml.token_type"].as_array().unwrap();
    let added = tokens.iter().enumerate().filter(|(at, _)| kinds[*at] == 3);
    let added: Vec<Value> =
        added.map(|(at, token)| json!({"id": at, "content": token, "special": true})).collect();
    let vocabulary: serde_json::Map<String, Value> = tokens
        .iter()
        .enumerate()
        .map(|(at, token)| (token.as_str().unwrap().to_owned(), json!(at)))
        .collect();
    let byte_level =
        json!({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true});
    let digits = json!({"type": "Digits", "individual_digits": true});
    let json = json!({
        "version": "1.0",
        "added_tokens": added,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [digits, byte_level.clone()]},
        "decoder": byte_level,
        "model": {"type": "BPE", "vocab": vocabulary, "merges": found["tokenizer.ggml.merges"]},
    });
    (json.to_string(), found["tokenizer.chat_template"].as_str().unwrap().to_owned())
}
