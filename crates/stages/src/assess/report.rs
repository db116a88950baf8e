//! Stage A's report.

use super::ending::log;
use super::{Assessment, Need, Readiness};
use crate::lineage::{Step, Transition};
use crate::page::{Page, Part, count, listed};

impl Assessment {
    /// Stage A's fields with their values (reference: Relax §13).
    pub fn block(&self) -> Vec<(String, Vec<String>)> {
        let one = |value: &str| vec![value.to_owned()];
        [
            ("Current stage", one("A")),
            ("Stage name", one("Assess")),
            ("Integration readiness", one(self.readiness.name())),
            ("Context topology", one(self.topology.name())),
            ("Execution shape", one(self.execution.name())),
            ("Required adaptations", listed(&self.needing(&[Need::Blocks, Need::Required]))),
            ("Blocking unknowns", listed(&self.needing(&[Need::Unknown]))),
            ("Next allowed stage", one(self.next)),
        ]
        .map(|(name, values)| (name.to_owned(), values))
        .to_vec()
    }

    fn todo(&self) -> Vec<&'static str> {
        let any = |need: Need| self.adaptations.iter().any(|found| found.need == need);
        let mut todo = Vec::new();
        if any(Need::Blocks) || any(Need::Required) {
            todo.push("change what stands under Required adaptations: each says how");
        }
        if any(Need::Unknown) {
            todo.push("settle what stands under Blocking unknowns: declare it, or record what is missing");
        }
        todo.push(match (self.readiness, self.next) {
            (Readiness::Ready, "C") => {
                "stage C: `verbatim check ROLLOUT.TOML` says whether the rollout is safe to start"
            }
            (Readiness::Ready, _) => {
                "stage B: `verbatim bridge --output FOLDER -- COMMAND` writes its rollout file and launch script"
            }
            (Readiness::NeedsChanges, _) => {
                "assess again; what a setting can mend, `verbatim bridge --output FOLDER -- COMMAND` writes (stage B)"
            }
            (Readiness::Blocked, _) => "assess again",
        });
        todo
    }

    /// The whole report.
    pub fn page(&self) -> Page {
        let mut page = Page::new("Stage A: Assess").with(Part::Fields(self.block())).todo(&self.todo());
        page = page.with(Part::Heading("Client".into())).with(Part::Fields(self.client_fields()));
        let noted = self.needing(&[Need::Noted]).into_iter().map(|line| ("note".to_owned(), line)).collect();
        page = page.listing("Noted", noted);
        for run in &self.runs {
            let (requests, contexts) = (run.lineage.steps.len(), run.lineage.contexts);
            let seen = format!(
                "{} in {}",
                count(requests, "request", "requests"),
                count(contexts, "context", "contexts")
            );
            page = page.with(Part::Heading(format!("{}: {}, {seen}", run.name, run.lineage.topology.name())));
            let end = run.failed.as_deref().map(log).unwrap_or_default();
            if !end.is_empty() {
                page = page.with(Part::Diff(end));
            }
            for step in &run.lineage.steps {
                page = page
                    .with(Part::Lines(vec![(format!("#{} in {}", step.request, step.context), told(step))]));
                if let Some(difference) = step.difference.as_ref().filter(|found| !found.lines.is_empty()) {
                    page = page.with(Part::Diff(difference.lines.clone()));
                }
            }
        }
        page
    }

    fn client_fields(&self) -> Vec<(String, Vec<String>)> {
        let client = &self.client;
        let seconds =
            |value: Option<f64>| value.map_or("unknown".to_owned(), |value| format!("{value:.1} s"));
        let dialects: Vec<_> =
            client.dialects.iter().map(|(name, count)| format!("{name} ({count})")).collect();
        let (streamed, all) = client.streamed;
        let joined =
            |values: &mut dyn Iterator<Item = String>| listed(&values.collect::<Vec<_>>()).join(", ");
        [
            ("Dialect", joined(&mut dialects.into_iter())),
            ("Streams", format!("{streamed} of {all} requests")),
            ("Authentication", joined(&mut client.authentication.iter().cloned())),
            ("Client", joined(&mut client.agents.iter().cloned())),
            ("Declared read timeout", seconds(client.declared_timeout)),
            (
                "Left a request after",
                client.left_after.map_or("never seen".into(), |left| format!("{left:.1} s")),
            ),
            ("Waited at most", seconds(client.waited)),
            ("Retries", format!("{} after a failure, {} after a reply", client.retried, client.resent)),
            ("Matcher", self.matcher.clone()),
        ]
        .map(|(name, value)| (name.to_owned(), vec![value]))
        .to_vec()
    }
}

/// A request's line.
fn told(step: &Step) -> String {
    let mut parts = vec![step.transition.name().to_owned()];
    parts.extend(step.parent.map(|parent| format!("goes on from #{parent}")));
    parts.extend(step.cause.map(|cause| format!("cause {}", cause.name())));
    if !matches!(step.transition, Transition::Start | Transition::Append) {
        let yes = |is: bool| if is { "yes" } else { "no" };
        parts.push(format!("prefix preserved {}", yes(step.prefix_preserved)));
        parts.push(format!("tools stable {}", yes(step.tools_stable)));
        parts.push(format!("template stable {}", yes(step.template_stable)));
        parts.push(format!("intentional {}", step.intent.name()));
        parts.push(step.action.name().to_owned());
    }
    if !step.respelt.is_empty() {
        let respelt: Vec<_> = step.respelt.iter().map(|cause| cause.name()).collect();
        parts.push(format!("respelt ({})", respelt.join(", ")));
    }
    if step.foreign > 0 {
        let turns = count(step.foreign, "assistant turn", "assistant turns");
        parts.push(format!("{turns} that nobody sampled"));
    }
    parts.extend(step.problem.clone());
    parts.extend(
        step.difference.as_ref().map(|difference| format!("first differs at message {}", difference.at)),
    );
    parts.join("; ")
}
