//! What holds for every family: one test a family and promise, so that each loads one vocabulary.

macro_rules! families {
    ($($family:ident)*) => {$(
        mod $family {
            use crate::assets::{Model, family};
            use crate::{append_only, native};

            fn model() -> &'static Model {
                family(stringify!($family))
            }

            #[test]
            fn every_conversation_renders_as_its_golden() {
                native::every_conversation_renders_as_its_golden(model());
            }

            #[test]
            fn sources_name_the_message_that_a_token_came_from() {
                native::sources_name_the_message_that_a_token_came_from(model());
            }

            #[test]
            fn at_every_cut_of_every_shape_the_suffix_is_that_of_the_whole() {
                append_only::every_cut_extends_to_the_whole(model());
            }

            #[test]
            fn turn_by_turn_a_session_is_the_render_of_the_whole() {
                append_only::turn_by_turn_is_the_whole(model());
            }

            #[test]
            fn a_parsed_turn_renders_to_its_own_ids() {
                append_only::a_parsed_turn_renders_to_its_own_ids(model());
            }
        }
    )*};
}

families! { glm47 minimax_m25 minimax_m27 nemotron3 qwen25 qwen3 qwen35 qwen36 qwennext smollm2 }
