//! Native families render what the official templates render under their rules.

use verbatim_families::Source;

use crate::assets::Model;
use crate::evidence::record;
use crate::goldens::{self, scene};

/// Every conversation renders as its golden, or is refused where its golden is.
pub(crate) fn every_conversation_renders_as_its_golden(model: &Model) {
    let all = goldens::of(model.name);
    assert!(all.len() >= 200, "{}: {}", model.name, all.len());
    let (mut equal, mut refused, mut differing) = (0, 0, 0);
    for golden in all {
        let setup = golden.setup();
        let rendered = model.family.open(scene(&setup), &golden.messages());
        if let Some(why) = &golden.refused {
            assert!(rendered.is_err(), "{} {}: refused by {why}", model.name, golden.name);
            refused += 1;
            continue;
        }
        let rendered = rendered.unwrap_or_else(|error| panic!("{} {}: {error}", model.name, golden.name));
        assert!(
            rendered.ids == golden.ids,
            "{} {}\nours   {:?}\ngolden {:?}",
            model.name,
            golden.name,
            model.spell(&rendered.ids),
            model.spell(&golden.ids)
        );
        assert_eq!(rendered.sources.len(), rendered.ids.len(), "{}", golden.name);
        equal += 1;
        differing += usize::from(golden.native.is_some());
    }
    record(model, "goldens", equal);
    record(model, "refused", refused);
    record(model, "differing", differing);
}

/// Each message's tokens spell its text and, at most, what the template puts around it.
pub(crate) fn sources_name_the_message_that_a_token_came_from(model: &Model) {
    for golden in goldens::rendered(model.name) {
        let setup = golden.setup();
        let messages = golden.messages();
        let rendered = model.family.open(scene(&setup), &messages).unwrap();
        for (at, message) in messages.iter().enumerate() {
            let ids = rendered.ids.iter().enumerate();
            let is_own = |id: usize| rendered.sources.get(id) == Some(&Source::Message(at));
            // Where texts of two messages touch, a token may span both: it is the first one's.
            let own: Vec<_> =
                ids.filter(|(id, _)| is_own(*id) || is_own(id + 1)).map(|(_, id)| *id).collect();
            let (spelled, said) = (model.spell(&own), message.content.text());
            let composed = !said.is_ascii() || said.contains("think>");
            let expected = said.trim();
            // Llama's template quotes results.
            let quoted = serde_json::to_string(&*said).unwrap();
            let shown = spelled.contains(expected) || spelled.contains(&quoted);
            assert!(composed || shown, "{} {at}: {spelled:?} {said:?}", golden.name);
        }
    }
}
