//! Random histories of one session: branching, retried, truncated, abandoned and racing turns.

use std::sync::Arc;

use proptest::prelude::*;
use proptest::sample::Index;
use verbatim_chat::{Content, LooseReplay, Matcher, Message, Part, Role, Strict};
use verbatim_events::Finish;
use verbatim_forest::{Choice, Conflict, Lineage, Place, Refusal};

use crate::family::Family;
use crate::oracle;
use crate::world::{Asked, Reply, World, message};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Fate {
    Commit,
    /// The client leaves before the commit.
    Abandon,
    /// The commit comes after the next request's.
    Late,
}

#[derive(Clone, Debug)]
pub(crate) struct Step {
    /// A conversation that the agent had.
    base: Index,
    /// How many of its last messages it takes back.
    back: usize,
    /// What it adds.
    tail: Vec<Arc<Message>>,
    /// Whether it sends assistant texts as lists of parts.
    respell: bool,
    reply: Reply,
    fate: Fate,
}

pub(crate) fn steps() -> impl Strategy<Value = Vec<Step>> {
    let role = prop_oneof![4 => Just(Role::User), 3 => Just(Role::Tool), 1 => Just(Role::Assistant)];
    let said = (role, 0u8..3).prop_map(|(role, word)| message(role, &format!("w{word}")));
    let reply =
        (0u8..3, 0usize..4, 0usize..3, prop::bool::weighted(0.15)).prop_map(|(word, fresh, marks, cut)| {
            let finish = if cut { Finish::Length } else { Finish::Stop };
            Reply { text: format!("w{word}"), fresh: fresh.max(usize::from(marks == 0)), marks, finish }
        });
    let fate = prop_oneof![8 => Just(Fate::Commit), 1 => Just(Fate::Abandon), 2 => Just(Fate::Late)];
    let back = prop_oneof![6 => Just(0usize), 3 => Just(1), 2 => 2usize..6];
    let tail = prop::collection::vec(said, 0..3);
    let step = (any::<Index>(), back, tail, prop::bool::weighted(0.3), reply, fate)
        .prop_map(|(base, back, tail, respell, reply, fate)| Step { base, back, tail, respell, reply, fate });
    prop::collection::vec(step, 1..24)
}

/// The agent: what it believes was said.
pub(crate) struct Agent {
    pub(crate) world: World,
    conversations: Vec<Vec<Arc<Message>>>,
    late: Option<(Vec<Arc<Message>>, Asked, Reply)>,
}

impl Agent {
    pub(crate) fn new(lineage: Lineage, matcher: impl Matcher + 'static, max_trim: usize) -> Self {
        let mut world = World::new(lineage, matcher);
        world.family = Family { max_trim };
        Self { world, conversations: vec![Vec::new()], late: None }
    }

    pub(crate) fn request(&self, step: &Step) -> Vec<Arc<Message>> {
        // Recent conversations go on more often than old ones.
        let recent = &self.conversations[self.conversations.len().saturating_sub(4)..];
        let base = step.base.get(recent);
        let mut request = base[..base.len().saturating_sub(step.back)].to_vec();
        if step.respell {
            request.iter_mut().filter(|message| message.role == Role::Assistant).for_each(respell);
        }
        request.extend(step.tail.iter().cloned());
        if request.is_empty() {
            request.push(message(Role::User, "w0"));
        }
        request
    }

    /// One request, with every promise about it checked.
    pub(crate) fn step(&mut self, step: &Step) {
        let request = self.request(step);
        let before = self.world.fingerprint();
        let asked = self.world.ask(&request);
        assert_eq!(self.world.fingerprint(), before, "asking changes nothing");
        let choice = self.world.find(None, &request);
        assert_eq!(choice, oracle::place(&self.world, &request), "as every node judged one by one");
        let late = self.late.take();
        match asked {
            Err(refusal) => self.refused(&refusal, request.len(), choice),
            Ok(asked) => {
                assert_eq!(asked.prompt, oracle::prompt(&self.world, choice, &request));
                match step.fate {
                    Fate::Commit => self.commit(request, asked, &step.reply),
                    Fate::Abandon => {}
                    Fate::Late => self.late = Some((request, asked, step.reply.clone())),
                }
            }
        }
        if let Some((request, asked, reply)) = late {
            self.commit(request, asked, &reply);
        }
    }

    fn refused(&self, refusal: &Refusal, sent: usize, choice: Option<Choice>) {
        let forest = &self.world.forest;
        match *refusal {
            Refusal::Diverged { discard, stored, sent: told, .. } => {
                assert_eq!(forest.lineage(), Lineage::Linear);
                assert_eq!((stored, told), (forest.messages(forest.head().unwrap()).len(), sent));
                assert!(discard > 1);
                assert_eq!(discard, oracle::discard(&self.world, choice));
            }
            // Its shell's to refuse.
            Refusal::Drifted { .. } => panic!("{refusal}"),
            Refusal::Truncated { node } => {
                assert_eq!(forest.lineage(), Lineage::Tree);
                assert_eq!(forest.node(node).unwrap().generation().unwrap().finish, Finish::Length);
                let parent = choice.and_then(|choice| match choice.place {
                    Place::Again(observation) => forest.node(observation)?.parent,
                    Place::After(generation) => Some(generation),
                    Place::Root => None,
                });
                assert_eq!(parent, Some(node));
            }
        }
    }

    fn commit(&mut self, mut request: Vec<Arc<Message>>, asked: Asked, reply: &Reply) {
        let before = self.world.fingerprint();
        let discard = oracle::discard(&self.world, asked.choice);
        let drops = asked.plan.drops;
        match self.world.answer(asked, reply) {
            Ok(applied) => {
                if self.world.forest.lineage() == Lineage::Linear {
                    assert_eq!(drops, discard, "a linear session drops its last turn at most");
                }
                request.push(Arc::clone(&self.world.forest.node(applied.generation).unwrap().messages()[0]));
                self.conversations.push(request);
            }
            Err(conflict) => {
                assert_eq!((conflict, self.world.forest.lineage()), (Conflict::Raced, Lineage::Linear));
                assert_eq!(self.world.fingerprint(), before, "a late commit changes nothing");
            }
        }
    }

    fn over(&self) {
        let forest = &self.world.forest;
        for heard in &self.world.heard {
            assert_eq!(forest.gather(heard.nodes.observation), heard.prompt);
            let end = heard.nodes.generation;
            assert_eq!(forest.gather(end), [&heard.prompt[..], &heard.sampled[..]].concat());
            let path = forest.path(end);
            assert_eq!(
                path.iter().map(|segment| segment.kept).sum::<usize>(),
                forest.node(end).unwrap().path_tokens()
            );
            assert!(
                path.iter()
                    .enumerate()
                    .all(|(at, segment)| segment.node.generation().is_some() == (at % 2 == 1))
            );
        }
        assert_eq!(forest.stored_tokens(), self.world.brought);
    }
}

fn respell(message: &mut Arc<Message>) {
    let parts = Content::Parts(vec![Part::Text(message.content.text().into_owned())]);
    *message = Arc::new(Message { content: parts, ..message.as_ref().clone() });
}

fn live(lineage: Lineage, loose: bool, max_trim: usize, steps: &[Step]) {
    let mut agent = match loose {
        true => Agent::new(lineage, LooseReplay, max_trim),
        false => Agent::new(lineage, Strict, max_trim),
    };
    steps.iter().for_each(|step| agent.step(step));
    agent.over();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    /// Along every path of a tree the ids are what the engine read and sampled, and stored once.
    #[test]
    fn a_tree_holds_what_the_engine_heard(steps in steps(), loose: bool, max_trim in 0usize..3) {
        live(Lineage::Tree, loose, max_trim, &steps);
    }

    /// The same along every line that a linear session had.
    #[test]
    fn a_line_holds_what_the_engine_heard(steps in steps(), loose: bool, max_trim in 0usize..3) {
        live(Lineage::Linear, loose, max_trim, &steps);
    }
}
