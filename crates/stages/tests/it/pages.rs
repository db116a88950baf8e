//! Reports as a terminal and a browser show them.

use verbatim_chat::{LooseReplay, Matcher, Strict};
use verbatim_stages::assess::{Assessment, Evidence, Execution, assess};
use verbatim_stages::check::{Hashes, Line, Verdict};
use verbatim_stages::demonstrate::Demonstration;
use verbatim_stages::lineage::Declared;
use verbatim_stages::page::Page;

use crate::recorded::recordings;

fn assessed(matcher: &dyn Matcher) -> Vec<Assessment> {
    let all = recordings();
    let failed = "the agent ended with exit code 1; the end of its log:\nTraceback\nKeyError: 'page'";
    let one = |(name, recording): &(String, _)| {
        let evidence = Evidence {
            runs: vec![(name.clone(), recording, Some(failed.to_owned()))],
            matcher,
            declared: Declared::Nothing,
            execution: Execution::Local,
            integrated: false,
        };
        assess(&evidence)
    };
    all.iter().map(one).collect()
}

fn demonstrated() -> Page {
    let long = format!("{} in a/{}", "words ".repeat(30), "path/".repeat(30));
    let verdicts =
        [Verdict::Pass, Verdict::NotApplicable, Verdict::Unverified, Verdict::NeedsChanges, Verdict::Unsafe];
    let points =
        verdicts.map(|verdict| Line::new(verdict, "a point", &long, "`verbatim stage ROLLOUT.TOML`"));
    let hashes = Hashes::from([("engine".to_owned(), "0123456789abcdef".repeat(2))]);
    Demonstration::new(points.to_vec(), Some("it was never checked".into()), Err("it failed".into()), hashes)
        .page()
}

fn pages() -> Vec<Page> {
    let assessed = [&LooseReplay as &dyn Matcher, &Strict].into_iter().flat_map(assessed);
    assessed.map(|assessment| assessment.page()).chain([demonstrated()]).collect()
}

#[test]
fn no_report_is_wider_than_a_terminal_and_none_loses_a_word() {
    for page in pages() {
        let text = page.text();
        let wide: Vec<_> = text.lines().filter(|line| line.chars().count() > 80).collect();
        assert!(wide.is_empty(), "{wide:#?}");
        // Long words are broken: letters are compared.
        let letters = |text: &str| text.chars().filter(|c| c.is_alphanumeric()).count();
        let html = page.html();
        let body = html.split_once("</style>").unwrap().1;
        let mut shown = String::new();
        for part in body.split('<') {
            shown.push_str(part.split_once('>').map_or(part, |(_, text)| text));
        }
        for (sign, spelt) in [("<", "&lt;"), (">", "&gt;"), ("\"", "&quot;"), ("&", "&amp;")] {
            shown = shown.replace(spelt, sign);
        }
        assert_eq!(letters(&shown), letters(&text), "{}", page.title);
    }
}

#[test]
fn every_report_says_what_to_do_next() {
    for page in pages() {
        let text = page.text();
        assert!(text.contains("\nWhat to do next\n  1."), "{text}");
    }
}
