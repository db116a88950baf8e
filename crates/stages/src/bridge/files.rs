//! The files of an adapter.
//!
//! The invariant: what is written is a function of the agent and the choices, and a word of the agent's command reaches it
//! as it was given.

use std::fmt::Write as _;

use super::Choice;

/// What an adapter is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Adapter {
    /// The agent's command, word by word; a single word is a shell's line.
    pub command: Vec<String>,
    /// Where it runs.
    pub cwd: String,
    /// Its own variables, and which of ours they take their value from.
    pub mapped: Vec<(String, String)>,
    /// The dataset, as the rollout file names it.
    pub tasks: String,
    /// Its columns: of the prompt, and of the metadata.
    pub columns: (String, Option<String>),
    /// Who gives the reward, where the agent does not: a dotted path or a URL.
    pub reward: Option<String>,
    /// Who shares the credit, where there are several contexts.
    pub advantage: Option<String>,
    /// Settings that were given beside: each its dotted name, and its value as TOML.
    pub settings: Vec<(String, String)>,
}

/// The launch script.
pub fn launch(adapter: &Adapter) -> String {
    let mut out = String::from(
        "#!/usr/bin/env bash\n# Written by `verbatim bridge`: one session of the agent. The model, the task and the place of the result\n# come in variables (docs/src/rollouts.md); those that the agent knows by another name are set here.\nset -euo pipefail\n",
    );
    for (name, variable) in &adapter.mapped {
        let _ = writeln!(out, "export {name}=\"${{{variable}}}\"");
    }
    let _ = writeln!(out, "cd {}", word(&adapter.cwd));
    match adapter.command.as_slice() {
        // A shell's line is read by a shell.
        [line] => {
            let _ = writeln!(out, "exec /bin/bash -c {}", word(line));
        }
        words => {
            let words: Vec<_> = words.iter().map(|text| word(text)).collect();
            let _ = writeln!(out, "exec {}", words.join(" "));
        }
    }
    out
}

fn word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:@%+,".contains(c);
    match !text.is_empty() && text.chars().all(plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', "'\\''")),
    }
}

/// The rollout file.
pub fn rollout(adapter: &Adapter, choices: &[Choice]) -> String {
    let mut out =
        String::from("# Written by `verbatim bridge`. choices.md says why each setting is what it is.\n");
    let chosen = |section: &str| -> Vec<String> {
        let line = |(setting, value): (&str, &str)| {
            Some(format!("{} = {value}", setting.strip_prefix(section)?.strip_prefix('.')?))
        };
        // What was given wins over what was found.
        let given = adapter.settings.iter().map(|(setting, value)| (setting.as_str(), value.as_str()));
        let found =
            choices.iter().filter(|choice| !adapter.settings.iter().any(|(of, _)| of == choice.setting));
        given.chain(found.map(|choice| (choice.setting, choice.value.as_str()))).filter_map(line).collect()
    };
    let (input, metadata) = &adapter.columns;
    let mut dataset = vec![format!("path = {:?}", adapter.tasks), format!("input_key = {input:?}")];
    dataset.extend(chosen("dataset"));
    dataset.extend(metadata.iter().map(|metadata| format!("metadata_key = {metadata:?}")));
    let mut reward = chosen("reward");
    reward.extend(adapter.reward.iter().map(|path| format!("session = {path:?}")));
    reward.extend(adapter.advantage.iter().map(|path| format!("advantage = {path:?}")));
    let mut family = chosen("family");
    // A parser of one's own choice is for a family that has none of its own.
    if family.iter().any(|line| line.contains("_parser"))
        && !family.iter().any(|line| line.starts_with("name"))
    {
        family.insert(0, "name = \"default\"".to_owned());
    }
    let with = |lines: &[&str], section: &str| -> Vec<String> {
        lines.iter().map(|line| (*line).to_owned()).chain(chosen(section)).collect()
    };
    let sections = [
        ("engine", chosen("engine")),
        ("family", family),
        ("sampling", chosen("sampling")),
        ("sessions", chosen("sessions")),
        ("dataset", dataset),
        ("agent", with(&["command = \"./launch.sh\"", "cwd = \".\""], "agent")),
        ("plugins", chosen("plugins")),
        ("reward", reward),
        ("rollout", with(&["output = \"rows\""], "rollout")),
        ("log", with(&["events = \"events.jsonl\""], "log")),
    ];
    for (name, lines) in sections.into_iter().filter(|(_, lines)| !lines.is_empty()) {
        let _ = write!(out, "\n[{name}]\n{}\n", lines.join("\n"));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn adapter(command: &[&str]) -> Adapter {
        Adapter {
            command: command.iter().map(|word| (*word).to_owned()).collect(),
            cwd: "/a place".into(),
            mapped: vec![("MY_URL".into(), "OPENAI_BASE_URL".into())],
            tasks: "tasks.jsonl".into(),
            columns: ("input".into(), None),
            reward: Some("mine:score".into()),
            advantage: None,
            settings: vec![("engine.kind".into(), "\"sim\"".into())],
        }
    }

    #[test]
    fn a_word_of_the_command_reaches_the_agent_as_it_was() {
        let script = launch(&adapter(&["python3", "it's.py", "--a b"]));
        assert!(script.ends_with("cd '/a place'\nexec python3 'it'\\''s.py' '--a b'\n"), "{script}");
        assert!(script.contains("export MY_URL=\"${OPENAI_BASE_URL}\"\n"), "{script}");
        assert!(launch(&adapter(&["a | b"])).ends_with("exec /bin/bash -c 'a | b'\n"));
    }

    #[test]
    fn a_choice_stands_in_its_section() {
        let choice =
            |setting, value: &str| Choice { setting, value: value.into(), why: String::new(), changes: None };
        let text = rollout(
            &adapter(&["x"]),
            &[choice("sessions.hold_seconds", "27"), choice("family.tool_call_parser", "\"hermes\"")],
        );
        assert!(text.contains("[sessions]\nhold_seconds = 27\n"), "{text}");
        assert!(text.contains("[family]\nname = \"default\"\ntool_call_parser = \"hermes\"\n"), "{text}");
        assert!(text.contains("[reward]\nsession = \"mine:score\"\n"), "{text}");
    }
}
