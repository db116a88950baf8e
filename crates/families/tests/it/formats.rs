//! Parser bugs that others had, each with the issue where it was reported, and what must happen.

use serde_json::json;
use verbatim_chat::{Setup, StartState, Tool};
use verbatim_families::{FamilyError, Flaw, Options, load_with};

use crate::assets::{Model, family};
use crate::parsing::{added_up, parse, told_message};

/// A tool with a parameter of every type.
fn tools() -> Setup {
    let properties = json!({
        "text": {"type": "string"}, "whole": {"type": "integer"}, "number": {"type": "number"},
        "flag": {"type": "boolean"}, "list": {"type": "array"}, "map": {"type": "object"},
        "maybe": {"type": ["string", "null"]}, "either": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "choice": {"enum": [1, 2]}, "of": {"$ref": "#/$defs/flag"}, "untyped": {"description": "?"},
    });
    let parameters =
        json!({"type": "object", "properties": properties, "$defs": {"flag": {"type": "boolean"}}});
    let declare =
        |name: &str| Tool(json!({"type": "function", "function": {"name": name, "parameters": parameters}}));
    Setup { tools: vec![declare("f"), declare("g")], ..Setup::default() }
}

/// One way to write a call.
struct Format {
    family: &'static str,
    /// Turns a function and its arguments into text.
    call: fn(&str, &[(&str, &str)]) -> String,
    /// Puts calls into what opens and closes them.
    block: fn(&[String]) -> String,
    /// What closes a call, inside a value.
    close: &'static str,
}

fn coder(name: &str, arguments: &[(&str, &str)]) -> String {
    let pairs = arguments.iter().map(|(key, value)| format!("<parameter={key}>\n{value}\n</parameter>\n"));
    format!("<tool_call>\n<function={name}>\n{}</function>\n</tool_call>", pairs.collect::<String>())
}

fn glm(name: &str, arguments: &[(&str, &str)]) -> String {
    let pairs = arguments
        .iter()
        .map(|(key, value)| format!("<arg_key>{key}</arg_key><arg_value>{value}</arg_value>"));
    format!("<tool_call>{name}{}</tool_call>", pairs.collect::<String>())
}

fn minimax(name: &str, arguments: &[(&str, &str)]) -> String {
    let pairs =
        arguments.iter().map(|(key, value)| format!("<parameter name=\"{key}\">{value}</parameter>\n"));
    format!("<invoke name=\"{name}\">\n{}</invoke>\n", pairs.collect::<String>())
}

const FORMATS: &[Format] = &[
    Format { family: "qwen35", call: coder, block: |calls| calls.join("\n"), close: "</tool_call>" },
    Format { family: "nemotron3", call: coder, block: |calls| calls.join("\n"), close: "</tool_call>" },
    Format { family: "glm47", call: glm, block: |calls| calls.concat(), close: "</tool_call>" },
    Format {
        family: "minimax_m25",
        call: minimax,
        block: |calls| format!("<minimax:tool_call>\n{}</minimax:tool_call>", calls.concat()),
        close: "</minimax:tool_call>",
    },
];

impl Format {
    fn model(&self) -> &'static Model {
        family(self.family)
    }

    /// Content, calls as `name arguments`, and flaws of a turn that does not think.
    fn read(&self, text: &str) -> (String, Vec<String>, Vec<Flaw>) {
        let (parts, parsed) =
            parse(self.model(), &tools(), StartState::Content, &self.model().ids(text), &[]);
        assert_eq!(added_up(&parts), told_message(&parsed.message));
        let (_, content, calls) = told_message(&parsed.message);
        let calls = calls.into_iter().map(|(_, name, arguments)| format!("{name} {arguments}"));
        (content, calls.collect(), parsed.flaws)
    }

    /// The arguments of one call.
    fn arguments(&self, arguments: &[(&str, &str)]) -> String {
        let (content, calls, flaws) = self.read(&(self.block)(&[(self.call)("f", arguments)]));
        assert_eq!(
            (content.as_str(), calls.len(), flaws.as_slice()),
            ("", 1, &[] as &[Flaw]),
            "{}",
            self.family
        );
        calls[0].strip_prefix("f ").unwrap().to_owned()
    }
}

/// lightseekorg/smg#1841, #1899: argument types were guessed from their text.
#[test]
fn types_come_from_the_schema_and_strings_stay_as_they_are() {
    for format in FORMATS {
        for text in ["false", "007", "12", "null", "{\"a\": 1}", "[1]", "1e5", "True", "\"quoted\"", ""] {
            let escaped = serde_json::to_string(text).unwrap();
            assert_eq!(format.arguments(&[("text", text)]), format!("{{\"text\": {escaped}}}"));
            assert_eq!(format.arguments(&[("untyped", text)]), format!("{{\"untyped\": {escaped}}}"));
            assert_eq!(format.arguments(&[("undeclared", text)]), format!("{{\"undeclared\": {escaped}}}"));
        }
        let typed = format.arguments(&[
            ("whole", "12"),
            ("number", "1.50"),
            ("flag", "true"),
            ("list", "[1,  2]"),
            ("map", "{\"k\":[ ]}"),
            ("maybe", "null"),
            ("either", "7"),
            ("choice", "2"),
            ("of", "False"),
        ]);
        assert_eq!(
            typed,
            "{\"whole\": 12, \"number\": 1.50, \"flag\": true, \"list\": [1,  2], \"map\": {\"k\":[ ]}, \
             \"maybe\": null, \"either\": 7, \"choice\": 2, \"of\": false}",
            "{}",
            format.family
        );
        // What does not fit its type is the text that it is.
        let misfits =
            format.arguments(&[("whole", "twelve"), ("flag", "yes"), ("map", "{k: 1}"), ("list", "{}")]);
        assert_eq!(
            misfits,
            "{\"whole\": \"twelve\", \"flag\": \"yes\", \"map\": \"{k: 1}\", \"list\": \"{}\"}"
        );
    }
}

/// What the model wrote is what the agent gets: digits, spaces, the order of keys.
#[test]
fn numbers_keep_their_bytes() {
    for format in FORMATS {
        for number in ["1.0", "1e5", "123456789012345678901234567890", "-0", "1E-7"] {
            assert_eq!(format.arguments(&[("number", number)]), format!("{{\"number\": {number}}}"));
        }
    }
}

/// lightseekorg/smg#1636: arguments on several lines were missed. Indentation is kept, too.
#[test]
fn values_of_several_lines_are_read_whole() {
    for format in FORMATS {
        for text in
            ["a\nb", "  indented\n    more", "\n\nfirst", "last\n\n", "\t", "cat <<'E'\n<x>&\"\\\nE\n"]
        {
            let escaped = serde_json::to_string(text).unwrap();
            assert_eq!(
                format.arguments(&[("text", text)]),
                format!("{{\"text\": {escaped}}}"),
                "{}",
                format.family
            );
        }
    }
}

/// lightseekorg/smg#1824: only the first of several calls was read.
#[test]
fn all_calls_are_read_in_order() {
    for format in FORMATS {
        let calls =
            [("f", "1"), ("g", "2"), ("f", "3")].map(|(name, n)| (format.call)(name, &[("whole", n)]));
        let (content, calls, flaws) = format.read(&(format.block)(&calls));
        assert_eq!(calls, ["f {\"whole\": 1}", "g {\"whole\": 2}", "f {\"whole\": 3}"], "{}", format.family);
        assert_eq!((content.as_str(), flaws.as_slice()), ("", &[] as &[Flaw]));
        let none = (format.call)("f", &[]);
        assert_eq!(format.read(&(format.block)(&[none])).1, ["f {}"]);
    }
}

/// lightseekorg/smg#1941: a closing mark inside a value ended the call.
#[test]
fn a_closing_mark_inside_a_value_is_part_of_it() {
    for format in FORMATS {
        let text = format!("echo '{}' && <function=x> <invoke name=\"y\">", format.close);
        let escaped = serde_json::to_string(&text).unwrap();
        assert_eq!(
            format.arguments(&[("text", &text)]),
            format!("{{\"text\": {escaped}}}"),
            "{}",
            format.family
        );
    }
    let nested = "see </parameter> there";
    for format in FORMATS.iter().filter(|format| format.family != "glm47") {
        assert_eq!(format.arguments(&[("text", nested)]), format!("{{\"text\": \"{nested}\"}}"));
    }
}

/// PrimeIntellect-ai/verifiers#1763: what is no call brought the harness down, or vanished.
#[test]
fn what_is_no_call_is_content_and_is_flagged() {
    for format in FORMATS {
        let call = (format.block)(&[(format.call)("f", &[("whole", "1")])]);
        let nameless = call.replace("f>", ">").replace("\"f\"", "\"\"").replace("call>f", "call>");
        let unclosed = call.replace("</function>", "").replace("</invoke>", "").replace("</arg_key>", "");
        for text in [nameless, unclosed] {
            let text = format!("before\n{text} after");
            let (content, calls, flaws) = format.read(&text);
            assert_eq!((content.as_str(), calls.len()), (text.as_str(), 0), "{}", format.family);
            assert!(!flaws.is_empty());
        }
    }
}

/// A call that the length limit cut is no call: nothing is to be executed.
#[test]
fn a_call_that_never_ends_is_content() {
    for format in FORMATS {
        let whole = (format.block)(&[(format.call)("f", &[("text", "ls -la"), ("whole", "1")])]);
        let ids = format.model().ids(&whole);
        for end in 1..ids.len() {
            let (parts, parsed) = parse(format.model(), &tools(), StartState::Content, &ids[..end], &[]);
            assert_eq!(added_up(&parts), told_message(&parsed.message));
            assert!(parsed.message.tool_calls.is_empty(), "{}", format.family);
            assert_eq!(parsed.message.content.text(), format.model().spell(&ids[..end]));
            assert_eq!(parsed.flaws, [Flaw::CallOpen]);
        }
    }
}

/// renderers' README: an open think block at the length limit was read as content, its calls as calls.
#[test]
fn an_open_think_block_is_unfinished_reasoning() {
    for format in FORMATS {
        let call = (format.block)(&[(format.call)("f", &[])]);
        let text = format!("I could say {call}");
        let ids = format.model().ids(&text);
        let (_, parsed) = parse(format.model(), &tools(), StartState::Reasoning, &ids, &[]);
        assert_eq!(parsed.message.reasoning.as_deref(), Some(text.as_str()), "{}", format.family);
        assert_eq!((parsed.message.content.text().as_ref(), parsed.message.tool_calls.len()), ("", 0));
        assert_eq!(parsed.flaws, [Flaw::ReasoningOpen]);
    }
}

/// lightseekorg/smg#1658: whitespace around reasoning was trimmed.
#[test]
fn reasoning_keeps_its_whitespace() {
    for format in FORMATS {
        let (before, after) = match format.family {
            "glm47" => ("", ""),
            "nemotron3" => ("\n", "\n"),
            _ => ("\n", "\n\n"),
        };
        let text = format!("  r \n\t{before}</think>{after}  c \n");
        let (_, parsed) =
            parse(format.model(), &tools(), StartState::Reasoning, &format.model().ids(&text), &[]);
        assert_eq!(parsed.message.reasoning.as_deref(), Some("  r \n\t"), "{}", format.family);
        assert_eq!(parsed.message.content.text(), "  c \n");
    }
}

/// Text around calls is content, in the order in which it came.
#[test]
fn text_around_calls_is_kept() {
    for format in FORMATS {
        let call = (format.block)(&[(format.call)("f", &[])]);
        let (content, calls, flaws) = format.read(&format!("one{call} two {call} three"));
        assert_eq!((content.as_str(), calls.len()), ("one two  three", 2), "{}", format.family);
        assert_eq!(flaws, []);
    }
}

/// awslabs/agentcore-rl-toolkit#97: a parser that fits no format parsed nothing and said nothing.
#[test]
fn a_parser_that_contradicts_the_family_is_refused_by_name() {
    let model = family("glm47");
    let with = |reasoning: Option<&str>, calls: Option<&str>| {
        let options = Options {
            reasoning_parser: reasoning.map(str::to_owned),
            tool_call_parser: calls.map(str::to_owned),
            ..Options::default()
        };
        load_with("glm47", std::sync::Arc::clone(&model.tokenizer), &options).map(drop)
    };
    assert_eq!(with(Some("glm45"), Some("glm47")), Ok(()));
    assert_eq!(with(Some("none"), None), Ok(()));
    let refused = |error: Result<(), FamilyError>| error.unwrap_err().to_string();
    assert_eq!(
        refused(with(None, Some("qwen25"))),
        "tool call parser \"qwen25\": family glm47 has glm47; leave it out"
    );
    assert_eq!(
        refused(with(Some("deepseek-r1"), None)),
        "reasoning parser \"deepseek-r1\": family glm47 has glm45; leave it out"
    );
}

/// DeepSeek's parameters say themselves whether they are text; the schema is not asked.
#[test]
fn dsml_parameters_say_what_they_are() {
    let model = family("deepseekv4");
    let read = |parameters: &str| {
        let text = format!(
            "\n\n<｜DSML｜tool_calls>\n<｜DSML｜invoke name=\"f\">\n{parameters}</｜DSML｜invoke>\n</｜DSML｜tool_calls>"
        );
        let (_, parsed) = parse(model, &tools(), StartState::Content, &model.ids(&text), &[]);
        assert_eq!(parsed.message.content.text(), "");
        parsed.message.tool_calls[0].arguments.text().into_owned()
    };
    let parameter = |key: &str, string: bool, value: &str| {
        format!("<｜DSML｜parameter name=\"{key}\" string=\"{string}\">{value}</｜DSML｜parameter>\n")
    };
    assert_eq!(read(&parameter("whole", true, "12")), "{\"whole\": \"12\"}");
    assert_eq!(read(&parameter("text", false, "[1,  2.50]")), "{\"text\": [1,  2.50]}");
    assert_eq!(read(&parameter("text", false, "no json")), "{\"text\": \"no json\"}");
    assert_eq!(read("\n"), "{}");
    let both = parameter("a", true, " x\n</｜DSML｜tool_calls> ") + &parameter("b", false, "true");
    assert_eq!(read(&both), "{\"a\": \" x\\n</｜DSML｜tool_calls> \", \"b\": true}");
}
