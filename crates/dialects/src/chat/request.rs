//! A chat request, split and checked.

use serde_json::value::RawValue;
use serde_json::{Map, Value};
use verbatim_chat::{Chain, Message, Setup, Tool};
use verbatim_events::Cause;

use super::message;
use crate::body::Body;
use crate::chains::Chains;
use crate::fields::{excerpt, is_null, positive, read, refuse};
use crate::{Invalid, Recall, Sampling, Wire};

/// A request whose fields are checked and whose messages are not parsed yet.
pub struct Request<'a> {
    /// The model's name as sent; it is echoed.
    pub model: Option<String>,
    /// Whether the reply is to be streamed.
    pub stream: bool,
    /// Whether a stream ends with a usage chunk.
    pub include_usage: bool,
    /// Whether a stream is one chunk that holds the whole reply (`stream_options.one_chunk`), as Miles' is.
    pub one_chunk: bool,
    /// Whether the reply shows what an engine of SGLang's kind tells of it (`return_meta_info`).
    pub meta_info: bool,
    /// What is asked of the sampler.
    pub sampling: Sampling,
    /// What was accepted and will not be acted on.
    pub lost: Vec<Cause>,
    messages: Vec<&'a RawValue>,
    chains: Chains,
    tools: Option<&'a RawValue>,
    tools_hidden: bool,
    template: Option<&'a RawValue>,
}

impl<'a> Request<'a> {
    /// Splits a body.
    ///
    /// # Errors
    /// [`Invalid`] if it is no JSON object, has no messages, or asks for what cannot be given.
    pub fn parse(body: &'a [u8]) -> Result<Self, Invalid> {
        let Body(fields) = Body::of_request(body)?;
        let mut request = Self {
            model: None,
            stream: false,
            include_usage: false,
            one_chunk: false,
            meta_info: false,
            sampling: Sampling::default(),
            lost: Vec::new(),
            messages: Vec::new(),
            chains: Chains::default(),
            tools: None,
            tools_hidden: false,
            template: None,
        };
        let mut limit = None;
        for (name, raw) in fields {
            if name == "max_tokens" {
                limit = positive(&name, raw)?;
            } else {
                request.take(&name, raw)?;
            }
        }
        request.sampling.max_tokens = request.sampling.max_tokens.or(limit);
        if request.sampling.top_logprobs > 0 && !request.sampling.logprobs {
            return Err(Invalid::new("top_logprobs", "needs logprobs: true"));
        }
        if request.messages.is_empty() {
            return Err(Invalid::new("messages", "must hold at least one message"));
        }
        let offers = request.tools.is_some() && !request.tools_hidden;
        request.lost.extend(request.sampling.demand.unheeded("parallel_tool_calls", offers));
        request.hash();
        Ok(request)
    }

    fn take(&mut self, name: &str, raw: &'a RawValue) -> Result<(), Invalid> {
        if self.sampling.take(name, raw)? {
            return Ok(());
        }
        let sampling = &mut self.sampling;
        match name {
            "messages" => self.messages = read(name, raw, "a list of messages")?.unwrap_or_default(),
            "model" => self.model = read(name, raw, "a string")?,
            "stream" => self.stream = read(name, raw, "true or false")?.unwrap_or_default(),
            "stream_options" => {
                let options: Option<Map<String, Value>> = read(name, raw, "an object")?;
                let on =
                    |name| options.as_ref().and_then(|options| options.get(name)) == Some(&Value::Bool(true));
                (self.include_usage, self.one_chunk) = (on("include_usage"), on("one_chunk"));
            }
            "return_meta_info" => {
                self.meta_info = read(name, raw, "true or false")?.unwrap_or_default();
            }
            "tools" => self.tools = Some(raw).filter(|raw| !is_null(raw) && raw.get() != "[]"),
            "tool_choice" => self.tools_hidden = sampling.demand.choose(raw)?,
            "chat_template_kwargs" => self.template = Some(raw).filter(|raw| !is_null(raw)),
            "max_completion_tokens" => sampling.max_tokens = positive(name, raw)?,
            "logprobs" => sampling.logprobs = read(name, raw, "true or false")?.unwrap_or_default(),
            "top_logprobs" => match read::<u8>(name, raw, "a whole number from 0 to 20")? {
                Some(count) if count > 20 => {
                    return Err(Invalid::new(name, format!("{count} is not a whole number from 0 to 20")));
                }
                count => sampling.top_logprobs = count.unwrap_or_default(),
            },
            "n" => {
                if read::<u64>(name, raw, "a whole number")?.is_some_and(|n| n != 1) {
                    let problem =
                        format!("{} is not supported; send n=1 and open one session a sample", raw.get());
                    return Err(Invalid::new(name, problem));
                }
            }
            "modalities" => {
                if !is_null(raw)
                    && read::<Vec<String>>(name, raw, "a list of strings")? != Some(vec!["text".into()])
                {
                    let problem = format!("{} is not supported; only [\"text\"] is", excerpt(raw));
                    return Err(Invalid::new(name, problem));
                }
            }
            "response_format" => sampling.demand.format(name, raw)?,
            "audio" | "web_search_options" | "prediction" => refuse(name, raw, "leave it out")?,
            "functions" | "function_call" => refuse(name, raw, "use tools and tool_choice")?,
            "logit_bias" => refuse(name, raw, "leave it out: the engine's own distribution is what trains")?,
            "input_ids" => refuse(name, raw, "send messages: the server holds the session's ids")?,
            "parallel_tool_calls" => {
                sampling.demand.single = !read(name, raw, "true or false")?.unwrap_or(true);
            }
            _ if is_null(raw) => {}
            _ => self.lost.push(Cause::FieldIgnored { field: name.to_owned() }),
        }
        Ok(())
    }

    fn hash(&mut self) {
        let raw = |field: Option<&'a RawValue>| field.map_or(&b""[..], |raw| raw.get().as_bytes());
        let hidden = [u8::from(self.tools_hidden)];
        let mut chains = Chains::from_root([raw(self.tools), &hidden[..], raw(self.template)]);
        self.messages.iter().for_each(|message| chains.push([message.get().as_bytes()]));
        self.chains = chains;
    }
}

impl Wire for Request<'_> {
    fn len(&self) -> usize {
        self.messages.len()
    }

    fn bytes(&self, count: usize) -> Chain {
        self.chains.after(count)
    }

    fn setup(&self, _: &mut Vec<Cause>) -> Result<Setup, Invalid> {
        let template = match self.template {
            Some(raw) => read("chat_template_kwargs", raw, "an object")?.unwrap_or_default(),
            None => Map::new(),
        };
        let tools = match self.tools {
            Some(raw) if !self.tools_hidden => tools(raw)?,
            _ => Vec::new(),
        };
        Ok(Setup { tools, template })
    }

    fn message(&self, at: usize, _: &dyn Recall, lost: &mut Vec<Cause>) -> Result<Message, Invalid> {
        message::parse(at, self.messages[at], lost)
    }
}

fn tools(raw: &RawValue) -> Result<Vec<Tool>, Invalid> {
    let list: Vec<Tool> = read("tools", raw, "a list of tools")?.unwrap_or_default();
    for (at, tool) in list.iter().enumerate() {
        let kind = tool.0.get("type").and_then(Value::as_str);
        if kind != Some("function") {
            return Err(Invalid::new(
                format!("tools[{at}].type"),
                "must be \"function\"; other tools are not supported",
            ));
        }
        if tool.name().is_none_or(str::is_empty) {
            return Err(Invalid::new(format!("tools[{at}].function.name"), "must be a non-empty string"));
        }
    }
    Ok(list)
}
