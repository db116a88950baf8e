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
    /// The engine's model.
    pub model: String,
    /// The engine's kind.
    pub engine: String,
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
    let mut out = String::from("# Written by `verbatim bridge`. choices.md says why each setting is what it is.\n");
    let chosen = |section: &str| -> Vec<String> {
        let of = choices.iter().filter_map(|choice| {
            let name = choice.setting.strip_prefix(section)?.strip_prefix('.')?;
            Some(format!("{name} = {}", choice.value))
        });
        of.collect()
    };
    let (input, metadata) = &adapter.columns;
    let mut dataset = vec![format!("path = {:?}", adapter.tasks), format!("input_key = {input:?}")];
    dataset.extend(metadata.iter().map(|metadata| format!("metadata_key = {metadata:?}")));
    let mut reward = chosen("reward");
    reward.extend(adapter.reward.iter().map(|path| format!("session = {path:?}")));
    reward.extend(adapter.advantage.iter().map(|path| format!("advantage = {path:?}")));
    let family = chosen("family");
    // A parser of one's own choice is for a family that has none of its own.
    let named = (!family.is_empty()).then(|| "name = \"default\"".to_owned());
    let sections = [
        ("engine", vec![format!("kind = {:?}", adapter.engine), format!("model = {:?}", adapter.model)]),
        ("family", named.into_iter().chain(family).collect()),
        ("sessions", chosen("sessions")),
        ("dataset", dataset),
        ("agent", vec!["command = \"./launch.sh\"".to_owned(), "cwd = \".\"".to_owned()]),
        ("reward", reward),
        ("rollout", vec!["group_size = 4".to_owned(), "output = \"rows\"".to_owned()]),
        ("log", vec!["events = \"events.jsonl\"".to_owned()]),
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
            model: "m".into(),
            engine: "sim".into(),
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
        let choice = |setting, value: &str| Choice {
            setting,
            value: value.into(),
            why: String::new(),
            changes: None,
        };
        let text = rollout(
            &adapter(&["x"]),
            &[choice("sessions.hold_seconds", "27"), choice("family.tool_call_parser", "\"hermes\"")],
        );
        assert!(text.contains("[sessions]\nhold_seconds = 27\n"), "{text}");
        assert!(text.contains("[family]\nname = \"default\"\ntool_call_parser = \"hermes\"\n"), "{text}");
        assert!(text.contains("[reward]\nsession = \"mine:score\"\n"), "{text}");
    }
}
