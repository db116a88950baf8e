//! A request, checked.

use serde_json::value::RawValue;
use serde_json::{Map, Value};
use verbatim_events::Cause;

use crate::body::Body;
use crate::fields::{excerpt, is_null, positive, read, refuse};
use crate::{Invalid, Sampling};

/// What the model is to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Prompt {
    /// Text that is not tokenised yet.
    Text(String),
    /// Token ids.
    Ids(Vec<u32>),
}

/// A request whose fields are checked.
pub struct Request {
    /// The model's name as sent; it is echoed.
    pub model: Option<String>,
    /// What the model is to read.
    pub prompt: Prompt,
    /// Whether the reply is to be streamed.
    pub stream: bool,
    /// Whether a stream ends with a usage chunk.
    pub include_usage: bool,
    /// Whether the reply carries its token ids.
    pub token_ids: bool,
    /// What is asked of the sampler.
    pub sampling: Sampling,
    /// What was accepted and will not be acted on.
    pub lost: Vec<Cause>,
}

/// What is sampled at most where nothing is said, as OpenAI's documentation has it.
const MAX_TOKENS: u32 = 16;

impl Request {
    /// Reads a body.
    ///
    /// # Errors
    /// [`Invalid`] if it is no JSON object, has no prompt, or asks for what cannot be given.
    pub fn parse(body: &[u8]) -> Result<Self, Invalid> {
        let Body(fields) = Body::of_request(body)?;
        let mut prompt = None;
        let mut request = Self {
            model: None,
            prompt: Prompt::Ids(Vec::new()),
            stream: false,
            include_usage: false,
            token_ids: false,
            sampling: Sampling { max_tokens: Some(MAX_TOKENS), ..Sampling::default() },
            lost: Vec::new(),
        };
        for (name, raw) in fields {
            match name.as_str() {
                "prompt" => prompt = one_prompt(raw)?,
                _ if request.sampling.take(&name, raw)? => {}
                _ => request.take(&name, raw)?,
            }
        }
        request.prompt =
            prompt.ok_or_else(|| Invalid::new("prompt", "must be a string or a list of token ids"))?;
        Ok(request)
    }

    fn take(&mut self, name: &str, raw: &RawValue) -> Result<(), Invalid> {
        let (flag, sampling) = ("true or false", &mut self.sampling);
        match name {
            "model" => self.model = read(name, raw, "a string")?,
            "stream" => self.stream = read(name, raw, flag)?.unwrap_or_default(),
            "stream_options" => {
                let options: Map<String, Value> = read(name, raw, "an object")?.unwrap_or_default();
                self.include_usage = options.get("include_usage") == Some(&Value::Bool(true));
            }
            "max_tokens" => sampling.max_tokens = positive(name, raw)?.or(sampling.max_tokens),
            "logprobs" => match read::<u8>(name, raw, "a whole number from 0 to 20")? {
                Some(count) if count > 20 => {
                    return Err(Invalid::new(name, format!("{count} is not a whole number from 0 to 20")));
                }
                Some(count) => (sampling.logprobs, sampling.top_logprobs) = (true, count),
                None => {}
            },
            "return_token_ids" => self.token_ids = read(name, raw, flag)?.unwrap_or_default(),
            "response_format" => sampling.demand.format(name, raw)?,
            "echo" => refuse(name, raw, "the prompt is not scored; put it before the text yourself")?,
            "suffix" if matches!(raw.get(), "\"\"" | "null") => {}
            "suffix" => refuse(name, raw, "leave it out")?,
            "n" | "best_of" => {
                if read::<u64>(name, raw, "a whole number")?.is_some_and(|n| n != 1) {
                    let problem = format!("{} is not supported; send the request once a sample", raw.get());
                    return Err(Invalid::new(name, problem));
                }
            }
            "logit_bias" => refuse(name, raw, "leave it out: the engine's own distribution is what trains")?,
            _ if is_null(raw) => {}
            _ => self.lost.push(Cause::FieldIgnored { field: name.to_owned() }),
        }
        Ok(())
    }
}

/// The prompt; a list of one is that one.
fn one_prompt(raw: &RawValue) -> Result<Option<Prompt>, Invalid> {
    const EXPECTED: &str = "a string or a list of token ids";
    let wrong = || Invalid::new("prompt", format!("{} is not {EXPECTED}", excerpt(raw)));
    let text = raw.get();
    if text.starts_with('"') {
        return Ok(read::<String>("prompt", raw, EXPECTED)?.map(Prompt::Text));
    }
    if is_null(raw) {
        return Ok(None);
    }
    if let Ok(ids) = serde_json::from_str::<Vec<u32>>(text) {
        return Ok(Some(Prompt::Ids(ids)));
    }
    let list: Vec<&RawValue> = serde_json::from_str(text).map_err(|_| wrong())?;
    match list.as_slice() {
        [one] => one_prompt(one),
        _ if list.iter().all(|one| one.get().starts_with(['"', '['])) => {
            let problem = format!("{} prompts are not supported; send a request for each", list.len());
            Err(Invalid::new("prompt", problem))
        }
        _ => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(fields: &str) -> Result<Request, Invalid> {
        Request::parse(format!("{{{fields}}}").as_bytes())
    }

    #[test]
    fn a_prompt_is_text_or_ids_alone_or_in_a_list_of_one() {
        let prompt = |value: &str| parse(&format!(r#""prompt": {value}"#)).map(|request| request.prompt);
        assert_eq!(prompt(r#""a""#), Ok(Prompt::Text("a".into())));
        assert_eq!(prompt(r#"["a"]"#), Ok(Prompt::Text("a".into())));
        assert_eq!(prompt("[1, 2]"), Ok(Prompt::Ids(vec![1, 2])));
        assert_eq!(prompt("[[1, 2]]"), Ok(Prompt::Ids(vec![1, 2])));
        let refused = prompt(r#"["a", "b"]"#).unwrap_err();
        assert_eq!(refused.to_string(), "prompt: 2 prompts are not supported; send a request for each");
        for wrong in ["3", "[1, -2]", "{}", "[1, \"a\"]", "null"] {
            assert_eq!(prompt(wrong).unwrap_err().field, "prompt", "{wrong}");
        }
    }

    #[test]
    fn what_cannot_be_honoured_is_refused_by_name() {
        let table = [
            "\"echo\": true",
            "\"suffix\": \"x\"",
            "\"n\": 2",
            "\"best_of\": 3",
            "\"logit_bias\": {\"1\": 1}",
        ];
        for field in table {
            let refused = parse(&format!(r#""prompt": "a", {field}"#)).err().unwrap();
            assert!(field.contains(&format!("\"{}\"", refused.field)), "{refused}");
        }
        let idle = r#""prompt": "a", "echo": false, "suffix": null, "n": 1, "best_of": 1, "user": "u""#;
        let request = parse(idle).unwrap();
        assert_eq!(request.lost, [Cause::FieldIgnored { field: "user".into() }]);
        assert_eq!(request.sampling.max_tokens, Some(16), "OpenAI's own");
    }
}
