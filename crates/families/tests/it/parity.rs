//! Mistakes of ours that comparing with other parsers showed (`tools/extended/parity.py`): what is
//! written is in the call or in the content, and a turn with something wrong in it says so.

use serde_json::json;
use verbatim_chat::{Setup, StartState, Tool};
use verbatim_families::Flaw;

use crate::assets::family;
use crate::parsing::{parse, told_message};

/// Content, calls as `name arguments`, and flaws of a turn.
fn read(name: &'static str, text: &str) -> (String, Vec<String>, Vec<Flaw>) {
    let model = family(name);
    let tool = json!({"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {"a": {"type": "string"}}}}});
    let setup = Setup { tools: vec![Tool(tool)], ..Setup::default() };
    let (_, parsed) = parse(model, &setup, StartState::Content, &model.ids(text), &[]);
    let (_, content, calls) = told_message(&parsed.message);
    let calls = calls.into_iter().map(|(_, name, arguments)| format!("{name} {arguments}"));
    (content, calls.collect(), parsed.flaws)
}

/// A call that is not read is content, every byte of it, and flagged.
fn is_content(name: &'static str, text: &str) {
    let (content, calls, flaws) = read(name, text);
    assert_eq!((content.as_str(), calls.as_slice()), (text, &[] as &[String]), "{name}");
    assert_eq!(flaws, [Flaw::CallMalformed], "{name} {text}");
}

#[test]
fn marks_out_of_order_are_content_and_no_panic() {
    for inside in
        ["<arg_key><arg_key><arg_value>", "<arg_key>é</arg_value><arg_value>x</arg_value>", "</arg_key>"]
    {
        is_content("glm47", &format!("<tool_call>f{inside}</tool_call>"));
    }
}

#[test]
fn a_parameter_that_comes_twice_is_not_lost() {
    let coder = "<parameter=a>\nx\n</parameter>\n";
    is_content("qwen35", &format!("<tool_call>\n<function=f>\n{coder}{coder}</function>\n</tool_call>"));
    let keyed = "<arg_key>a</arg_key><arg_value>x</arg_value>";
    is_content("glm47", &format!("<tool_call>f{keyed}{keyed}</tool_call>"));
    let invoke = "<parameter name=\"a\">x</parameter>\n";
    is_content(
        "minimax_m27",
        &format!("<minimax:tool_call>\n<invoke name=\"f\">\n{invoke}{invoke}</invoke>\n</minimax:tool_call>"),
    );
}

#[test]
fn a_tag_that_is_not_closed_is_no_part_of_a_name() {
    is_content(
        "qwen35",
        "<tool_call>\n<function=f>\n<parameter=b<parameter=a>\nx\n</parameter>\n</function>\n</tool_call>",
    );
    is_content(
        "minimax_m27",
        "<minimax:tool_call>\n<invoke name=\"f\">\n<parameter name=\"a is x</parameter>\n\
         <parameter name=\"b\">y</parameter>\n</invoke>\n</minimax:tool_call>",
    );
    let open = "<｜DSML｜invoke name=\"f\">\n<｜DSML｜parameter name=\"a\" >x</｜DSML｜parameter>\n\
        <｜DSML｜parameter name=\"b\" string=\"true\">y</｜DSML｜parameter>\n</｜DSML｜invoke>\n";
    is_content("deepseekv32", &format!("<｜DSML｜function_calls>\n{open}</｜DSML｜function_calls>"));
}

#[test]
fn arguments_under_a_name_that_is_spelt_wrongly_are_not_lost() {
    is_content("qwen3", "<tool_call>\n{\"name\": \"f\", \"argments\": {\"a\": \"x\"}}\n</tool_call>");
    let alone = read("qwen3", "<tool_call>\n{\"name\": \"f\"}\n</tool_call>");
    assert_eq!(alone, (String::new(), vec!["f {}".to_owned()], vec![]));
}
