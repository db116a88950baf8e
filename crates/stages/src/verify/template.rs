//! Is a family append-only over one vocabulary?
//!
//! At every cut of every shape of conversation that agents have, with thinking on and off: what was
//! rendered before the cut stays as it was, and what the family says follows it is what a render of
//! the whole has there. A reply that is parsed and said again has the same ids. Nothing is sampled,
//! no engine is needed.

use serde::Serialize;
use serde_json::{Value, json};
use verbatim_chat::{Message, Role, Setup, Tool};
use verbatim_families::{Family, Junction, RenderError, Scene, shapes};
use verbatim_tokens::TokenId;

/// What was found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TemplateReport {
    /// The family.
    pub family: String,
    /// How many cuts were tried.
    pub cuts: usize,
    /// How many turns were parsed and said again.
    pub replies: usize,
    /// What the family says of its template.
    pub warnings: Vec<String>,
    /// What it does not take; a session that gets there is refused before anything is sampled.
    pub refused: Vec<Refused>,
    /// Where it does not hold.
    pub differences: Vec<Difference>,
    /// Whether it holds: something was tried, and nothing differs.
    pub holds: bool,
}

/// A shape that the family refuses.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Refused {
    /// The shape.
    pub shape: String,
    /// Why, in the family's words.
    pub reason: String,
}

/// Where something differs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// The shape of conversation, with its thinking mode.
    pub shape: String,
    /// After which message it was cut.
    pub after: usize,
    /// What differs.
    pub cut: Cut,
    /// The first token that differs, counted from the beginning of what is compared.
    pub token: usize,
    /// What was there, or should be, around it.
    pub expected: String,
    /// What is there.
    pub got: String,
}

/// What a difference says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Cut {
    /// What came before the cut is rendered otherwise when messages follow.
    Before,
    /// What follows is not what the extension says.
    After,
    /// A reply that was parsed is said otherwise.
    Reply,
}

/// Tokens shown on either side of the first that differs.
const AROUND: usize = 12;

/// Tries a family.
pub fn template(family: &dyn Family) -> TemplateReport {
    let mut report = TemplateReport {
        family: family.name().to_owned(),
        cuts: 0,
        replies: 0,
        warnings: family.warnings().to_vec(),
        refused: Vec::new(),
        differences: Vec::new(),
        holds: false,
    };
    for (mode, thinking) in [("default", None), ("on", Some(true)), ("off", Some(false))] {
        for (name, messages) in shapes() {
            let shape = format!("{name}, thinking {mode}");
            let trial = Trial { family, setup: setup(&messages, thinking), shape: &shape };
            if let Err(error) = trial.run(&messages, &mut report) {
                report.refused.push(Refused { shape, reason: error.to_string() });
            }
        }
    }
    report.holds = report.cuts > 0 && report.differences.is_empty();
    report
}

fn setup(messages: &[Message], thinking: Option<bool>) -> Setup {
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer", "description": "n"}}, "required": ["n"]});
    let tool =
        json!({"type": "function", "function": {"name": "f", "description": "d", "parameters": schema}});
    let calls = messages.iter().any(|message| message.role == Role::Tool);
    let template = thinking.map(|value| ("enable_thinking".to_owned(), Value::Bool(value)));
    Setup {
        tools: calls.then_some(Tool(tool)).into_iter().collect(),
        template: template.into_iter().collect(),
    }
}

struct Trial<'t> {
    family: &'t dyn Family,
    setup: Setup,
    shape: &'t str,
}

impl Trial<'_> {
    fn scene(&self) -> Scene<'_> {
        Scene { setup: &self.setup, opened: 0 }
    }

    fn run(&self, messages: &[Message], report: &mut TemplateReport) -> Result<(), RenderError> {
        let open = |messages: &[Message]| Ok::<_, RenderError>(self.family.open(self.scene(), messages)?.ids);
        let whole = open(messages)?;
        let turns = messages.iter().enumerate().filter(|(_, message)| message.role == Role::Assistant);
        for (at, message) in turns {
            self.reply(at, &messages[..at], message, report);
            // What follows a turn is its own end, which the prompt's opener follows.
            let head = open(&messages[..=at])?;
            let sampled = &self.family.stop_ids()[..1];
            let junction = Junction { sampled, message };
            let opener = self.family.extend(self.scene(), junction, &[])?;
            let end = head.len().saturating_sub(opener.ids.len());
            report.cuts += 1;
            if let Some(found) = differ(&head[..end], whole.get(..end).unwrap_or(&whole)) {
                report.differences.push(self.difference(at, Cut::Before, found, &head[..end], &whole));
                continue;
            }
            let extended = self.family.extend(self.scene(), junction, &messages[at + 1..])?;
            // Where turns end with the next opener, the one that was sampled stays if it fits.
            let kept = if self.family.max_trim() > 0 { &sampled[extended.trim..] } else { &[] };
            let after = [kept, &extended.ids].concat();
            if let Some(found) = differ(&whole[end..], &after) {
                report.differences.push(self.difference(at, Cut::After, found, &whole[end..], &after));
            }
        }
        Ok(())
    }

    /// Says a turn, parses it and says it again. A turn that its prompt leaves no way to say is
    /// none that a model can have sampled.
    fn reply(&self, at: usize, before: &[Message], message: &Message, report: &mut TemplateReport) {
        let Ok(prompt) = self.family.open(self.scene(), before) else { return };
        let Ok(said) = self.family.reply(self.scene(), prompt.start, message) else { return };
        let mut parser = self.family.parser(self.scene(), prompt.start, "call_");
        parser.push(&said, &mut Vec::new());
        let parsed = parser.finish(&mut Vec::new());
        report.replies += 1;
        let again = self.family.reply(self.scene(), prompt.start, &parsed.message).unwrap_or_default();
        if let Some(found) = differ(&said, &again) {
            report.differences.push(self.difference(at, Cut::Reply, found, &said, &again));
        }
    }

    fn difference(
        &self,
        after: usize,
        cut: Cut,
        token: usize,
        expected: &[TokenId],
        got: &[TokenId],
    ) -> Difference {
        let around = |ids: &[TokenId]| {
            let from = token.saturating_sub(AROUND).min(ids.len());
            let to = (token + AROUND).min(ids.len());
            self.family.tokenizer().text(&ids[from..to])
        };
        let (expected, got) = (around(expected), around(got));
        Difference { shape: self.shape.to_owned(), after, cut, token, expected, got }
    }
}

/// The first place where two runs of ids differ.
fn differ(expected: &[TokenId], got: &[TokenId]) -> Option<usize> {
    let shared = expected.iter().zip(got).take_while(|(a, b)| a == b).count();
    (shared < expected.len() || shared < got.len()).then_some(shared)
}
