//! A Responses request, split and checked.

use serde_json::value::RawValue;
use serde_json::{Map, Value};
use verbatim_chat::{Chain, Message, Role, Setup};
use verbatim_events::Cause;

use super::Echo;
use super::echo::{Declared, TextFormat};
use super::input::Input;
use super::tools;
use crate::body::Body;
use crate::chains::Chains;
use crate::fields::{ignored, is_null, positive, read, refuse};
use crate::{Continued, Invalid, Recall, Sampling, Wire};

/// A request whose fields are checked and whose items are not parsed yet.
pub struct Request<'a> {
    /// The model's name as sent.
    pub model: Option<String>,
    /// Whether the reply is to be streamed.
    pub stream: bool,
    /// What is asked of the sampler.
    pub sampling: Sampling,
    /// What was accepted and will not be acted on.
    pub lost: Vec<Cause>,
    /// What the reply repeats.
    pub echo: Echo,
    input: Input<'a>,
    chains: Chains,
    tools: Option<&'a RawValue>,
    tools_hidden: bool,
    template: Map<String, Value>,
}

impl<'a> Request<'a> {
    /// Splits a body. A request without a model's name is one for `model`.
    ///
    /// # Errors
    /// [`Invalid`] if it is no JSON object, has no input, or asks for what cannot be given.
    pub fn parse(body: &'a [u8], model: &str) -> Result<Self, Invalid> {
        let Body(fields) = Body::of_request(body)?;
        let mut request = Self {
            model: None,
            stream: false,
            sampling: Sampling::default(),
            lost: Vec::new(),
            echo: Echo::new(model.to_owned()),
            input: Input::default(),
            chains: Chains::default(),
            tools: None,
            tools_hidden: false,
            template: Map::new(),
        };
        for (name, raw) in fields {
            if !request.sampling.take(&name, raw)? {
                request.take(&name, raw)?;
            }
        }
        let Self { echo, sampling, .. } = &mut request;
        (echo.temperature, echo.top_p) = (sampling.temperature, sampling.top_p);
        echo.max_output_tokens = sampling.max_tokens;
        if let Some(model) = &request.model {
            request.echo.model.clone_from(model);
        }
        if let Some(tools) = request.tools {
            request.echo.tools = Declared::Sent(tools.to_owned());
        }
        let offers = request.tools.is_some() && !request.tools_hidden;
        request.lost.extend(request.sampling.demand.unheeded("parallel_tool_calls", offers));
        if request.input.len() == 0 {
            return Err(Invalid::new("input", "must be a string or a list of at least one item"));
        }
        request.hash();
        Ok(request)
    }

    fn take(&mut self, name: &str, raw: &'a RawValue) -> Result<(), Invalid> {
        let (echo, flag) = (&mut self.echo, "true or false");
        match name {
            "input" => self.input = Input::split(raw)?,
            "model" => self.model = read(name, raw, "a string")?,
            "stream" => self.stream = read(name, raw, flag)?.unwrap_or_default(),
            "instructions" => {
                let text: Option<String> = read(name, raw, "a string")?;
                echo.instructions = text.filter(|text| !text.is_empty());
            }
            "previous_response_id" => echo.previous_response_id = read(name, raw, "a string")?,
            "max_output_tokens" => self.sampling.max_tokens = positive(name, raw)?,
            "tools" => self.tools = Some(raw).filter(|raw| !is_null(raw) && raw.get() != "[]"),
            "tool_choice" => {
                self.tools_hidden = self.sampling.demand.choose(raw)?;
                if !is_null(raw) {
                    echo.tool_choice = raw.to_owned();
                }
            }
            "parallel_tool_calls" => {
                echo.parallel_tool_calls = read(name, raw, flag)?.unwrap_or(true);
                self.sampling.demand.single = !echo.parallel_tool_calls;
            }
            "reasoning" => self.reasoning(raw)?,
            "text" => self.text(raw)?,
            "chat_template_kwargs" => {
                let more: Map<String, Value> = read(name, raw, "an object")?.unwrap_or_default();
                self.template.extend(more);
            }
            "store" => echo.store = read(name, raw, flag)?.unwrap_or(true),
            "metadata" => echo.metadata = read(name, raw, "an object")?.unwrap_or_default(),
            "include" => {
                for wanted in read::<Vec<String>>(name, raw, "a list of strings")?.unwrap_or_default() {
                    match wanted.as_str() {
                        "reasoning.encrypted_content" => echo.sealed = true,
                        _ => self.lost.push(Cause::FieldIgnored { field: format!("include={wanted}") }),
                    }
                }
            }
            "truncation" if raw.get() == "\"disabled\"" => {}
            "background" => refuse(name, raw, "ask for a stream, or wait for the reply")?,
            "conversation" => refuse(name, raw, "send the items, or previous_response_id")?,
            "prompt" => refuse(name, raw, "send instructions and input")?,
            "top_logprobs" if raw.get() == "0" => {}
            "top_logprobs" => refuse(name, raw, "use chat completions, which carry logprobs")?,
            _ => self.lost.extend(ignored(name, raw)),
        }
        Ok(())
    }

    /// How hard to think: not at all, or as the model does.
    fn reasoning(&mut self, raw: &'a RawValue) -> Result<(), Invalid> {
        if is_null(raw) {
            return Ok(());
        }
        for (name, raw) in Body::of_object("reasoning", raw)?.0 {
            let field = format!("reasoning.{name}");
            match name.as_str() {
                "effort" => {
                    let effort: Option<String> = read(&field, raw, "a string")?;
                    let thinks = effort.as_deref().map(|effort| effort != "none");
                    self.template.extend(thinks.map(|thinks| ("enable_thinking".to_owned(), thinks.into())));
                    // More than on and off is not to be had.
                    let graded = !matches!(effort.as_deref(), None | Some("none"));
                    self.lost.extend(graded.then_some(Cause::FieldIgnored { field }));
                    self.echo.reasoning.effort = effort;
                }
                "summary" | "generate_summary" => {
                    let summary: Option<String> = read(&field, raw, "a string")?;
                    self.echo.reasoning.summary = summary.or_else(|| self.echo.reasoning.summary.take());
                }
                _ => self.lost.extend(ignored(field, raw)),
            }
        }
        Ok(())
    }

    fn text(&mut self, raw: &'a RawValue) -> Result<(), Invalid> {
        if is_null(raw) {
            return Ok(());
        }
        for (name, raw) in Body::of_object("text", raw)?.0 {
            match name.as_str() {
                "format" if is_null(raw) => {}
                "format" => {
                    self.sampling.demand.format("text.format", raw)?;
                    self.echo.text = TextFormat { format: raw.to_owned() };
                }
                _ => self.lost.extend(ignored(format!("text.{name}"), raw)),
            }
        }
        Ok(())
    }

    fn hash(&mut self) {
        let raw = |field: Option<&'a RawValue>| field.map_or(&b""[..], |raw| raw.get().as_bytes());
        let hidden = [u8::from(self.tools_hidden)];
        let template = serde_json::to_vec(&self.template).unwrap_or_default();
        let after = self.echo.previous_response_id.as_deref().unwrap_or_default().as_bytes();
        let mut chains =
            Chains::from_root([&b"responses"[..], raw(self.tools), &hidden[..], &template, after]);
        if let Some(instructions) = &self.echo.instructions {
            chains.push([&b"instructions"[..], instructions.as_bytes()]);
        }
        (0..self.input.len()).for_each(|at| chains.push(self.input.bytes(at)));
        self.chains = chains;
    }

    fn front(&self) -> usize {
        usize::from(self.echo.instructions.is_some())
    }
}

impl Wire for Request<'_> {
    fn len(&self) -> usize {
        self.front() + self.input.len()
    }

    fn bytes(&self, count: usize) -> Chain {
        self.chains.after(count)
    }

    fn continues(&self) -> Option<Continued<'_>> {
        let response = self.echo.previous_response_id.as_deref()?;
        Some(Continued { field: "previous_response_id", response, front: self.front() })
    }

    fn setup(&self, lost: &mut Vec<Cause>) -> Result<Setup, Invalid> {
        let tools = match self.tools {
            Some(raw) if !self.tools_hidden => tools::parse(raw, lost)?,
            _ => Vec::new(),
        };
        Ok(Setup { tools, template: self.template.clone() })
    }

    fn message(&self, at: usize, recall: &dyn Recall, lost: &mut Vec<Cause>) -> Result<Message, Invalid> {
        match (&self.echo.instructions, at) {
            (Some(instructions), 0) => Ok(Message::new(Role::System, instructions.as_str())),
            _ => self.input.message(at - self.front(), recall, lost),
        }
    }
}
