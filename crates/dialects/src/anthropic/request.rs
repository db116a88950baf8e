//! A Messages request, split and checked.

use serde_json::value::RawValue;
use serde_json::{Map, Value};
use verbatim_chat::{Chain, Message, Setup};
use verbatim_events::Cause;

use super::block::unmarked;
use super::split::{Unit, split};
use super::{message, tools};
use crate::body::Body;
use crate::chains::Chains;
use crate::fields::{ignored, is_null, positive, read, refuse};
use crate::sampling::strings;
use crate::{Calls, Invalid, Recall, Sampling, Wire};

/// A request whose fields are checked and whose messages are not parsed yet.
pub struct Request<'a> {
    /// The model's name as sent; it is echoed.
    pub model: Option<String>,
    /// Whether the reply is to be streamed.
    pub stream: bool,
    /// Whether the reply's thinking is told; if not, its seal alone is.
    pub shows_thinking: bool,
    /// What is asked of the sampler.
    pub sampling: Sampling,
    /// What was accepted and will not be acted on.
    pub lost: Vec<Cause>,
    system: Option<&'a RawValue>,
    units: Vec<Unit<'a>>,
    chains: Chains,
    tools: Option<&'a RawValue>,
    tools_hidden: bool,
    template: Map<String, Value>,
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
            shows_thinking: true,
            sampling: Sampling::default(),
            lost: Vec::new(),
            system: None,
            units: Vec::new(),
            chains: Chains::default(),
            tools: None,
            tools_hidden: false,
            template: Map::new(),
        };
        for (name, raw) in fields {
            if name == "stop" || !request.sampling.take(&name, raw)? {
                request.take(&name, raw)?;
            }
        }
        if request.units.is_empty() {
            return Err(Invalid::new("messages", "must hold at least one message"));
        }
        let offers = request.tools.is_some() && !request.tools_hidden;
        let field = "tool_choice.disable_parallel_tool_use";
        request.lost.extend(request.sampling.demand.unheeded(field, offers));
        request.hash();
        Ok(request)
    }

    fn take(&mut self, name: &str, raw: &'a RawValue) -> Result<(), Invalid> {
        match name {
            "messages" => self.units = split(raw)?,
            "model" => self.model = read(name, raw, "a string")?,
            "system" => self.system = Some(raw).filter(|raw| !matches!(raw.get(), "null" | "[]" | "\"\"")),
            "max_tokens" => self.sampling.max_tokens = positive(name, raw)?,
            "stop_sequences" => self.sampling.stop = strings(name, raw)?,
            "stream" => self.stream = read(name, raw, "true or false")?.unwrap_or_default(),
            "tools" => self.tools = Some(raw).filter(|raw| !is_null(raw) && raw.get() != "[]"),
            "tool_choice" => self.tool_choice(raw)?,
            "thinking" => self.thinking(raw)?,
            "output_config" => self.output_config(raw)?,
            "chat_template_kwargs" => {
                let more: Map<String, Value> = read(name, raw, "an object")?.unwrap_or_default();
                self.template.extend(more);
            }
            "mcp_servers" => refuse(name, raw, "connect the servers in the agent and declare their tools")?,
            "container" => refuse(name, raw, "leave it out: nothing is run on the server")?,
            "output_format" => self.sampling.demand.format(name, raw)?,
            _ => self.lost.extend(ignored(name, raw)),
        }
        Ok(())
    }

    fn tool_choice(&mut self, raw: &'a RawValue) -> Result<(), Invalid> {
        if is_null(raw) {
            return Ok(());
        }
        let choice = Body::of_object("tool_choice", raw)?;
        let demand = &mut self.sampling.demand;
        demand.calls = match choice.get("type").map_or("null", RawValue::get) {
            "\"auto\"" | "\"none\"" => Calls::Free,
            "\"any\"" => Calls::Required { field: "tool_choice.type" },
            "\"tool\"" => {
                let field = "tool_choice.name";
                let name = choice.get("name").map(|raw| read(field, raw, "a tool's name")).transpose()?;
                let name = name.flatten().ok_or_else(|| Invalid::new(field, "must be a tool's name"))?;
                Calls::Named { field, name }
            }
            kind => {
                let problem = format!("{kind} is not one of \"auto\", \"none\", \"any\", \"tool\"");
                return Err(Invalid::new("tool_choice.type", problem));
            }
        };
        for (name, raw) in choice.0 {
            match (name.as_str(), raw.get()) {
                ("type", kind) => self.tools_hidden = kind == "\"none\"",
                ("name", _) => {}
                ("disable_parallel_tool_use", flag) => demand.single = flag == "true",
                _ => self.lost.extend(ignored(format!("tool_choice.{name}"), raw)),
            }
        }
        Ok(())
    }

    /// Whether to think; how much is the model's own affair.
    fn thinking(&mut self, raw: &'a RawValue) -> Result<(), Invalid> {
        if is_null(raw) {
            return Ok(());
        }
        for (name, raw) in Body::of_object("thinking", raw)?.0 {
            match (name.as_str(), raw.get()) {
                ("type", kind @ ("\"enabled\"" | "\"adaptive\"" | "\"disabled\"")) => {
                    let thinks = kind != "\"disabled\"";
                    self.template.insert("enable_thinking".to_owned(), thinks.into());
                }
                ("type", kind) => {
                    let problem = format!("{kind} is not one of \"enabled\", \"adaptive\", \"disabled\"");
                    return Err(Invalid::new("thinking.type", problem));
                }
                ("display", "\"omitted\"") => self.shows_thinking = false,
                ("display", "\"summarized\"") => {}
                _ => self.lost.extend(ignored(format!("thinking.{name}"), raw)),
            }
        }
        Ok(())
    }

    fn output_config(&mut self, raw: &'a RawValue) -> Result<(), Invalid> {
        if is_null(raw) {
            return Ok(());
        }
        for (name, raw) in Body::of_object("output_config", raw)?.0 {
            let field = format!("output_config.{name}");
            match name.as_str() {
                "format" => self.sampling.demand.format(&field, raw)?,
                _ => self.lost.extend(ignored(field, raw)),
            }
        }
        Ok(())
    }

    fn hash(&mut self) {
        let raw = |field: Option<&'a RawValue>| field.map_or(&b""[..], |raw| raw.get().as_bytes());
        let hidden = [u8::from(self.tools_hidden)];
        let template = serde_json::to_vec(&self.template).unwrap_or_default();
        let mut chains = Chains::from_root([&b"messages"[..], raw(self.tools), &hidden[..], &template]);
        if let Some(system) = self.system {
            let blocks: Vec<&RawValue> = serde_json::from_str(system.get()).unwrap_or_else(|_| vec![system]);
            let blocks: Vec<_> = blocks.into_iter().map(unmarked).collect();
            let said = blocks.iter().map(|block| block.as_bytes());
            chains.push(std::iter::once(&b"system"[..]).chain(said));
        }
        for unit in &self.units {
            let bytes = unit.bytes();
            chains.push(bytes.iter().map(AsRef::as_ref));
        }
        self.chains = chains;
    }

    fn front(&self) -> usize {
        usize::from(self.system.is_some())
    }
}

impl Wire for Request<'_> {
    fn len(&self) -> usize {
        self.front() + self.units.len()
    }

    fn bytes(&self, count: usize) -> Chain {
        self.chains.after(count)
    }

    fn parses_arguments(&self) -> bool {
        true
    }

    fn setup(&self, lost: &mut Vec<Cause>) -> Result<Setup, Invalid> {
        let tools = match self.tools {
            Some(raw) if !self.tools_hidden => tools::parse(raw, lost)?,
            _ => Vec::new(),
        };
        Ok(Setup { tools, template: self.template.clone() })
    }

    fn message(&self, at: usize, recall: &dyn Recall, lost: &mut Vec<Cause>) -> Result<Message, Invalid> {
        if let (Some(system), 0) = (self.system, at) {
            return message::system(system, lost);
        }
        let unit = self.units.get(at - self.front());
        let unit = unit.ok_or_else(|| Invalid::new(format!("messages[{at}]"), "is not there"))?;
        message::parse(unit, recall, lost)
    }
}
