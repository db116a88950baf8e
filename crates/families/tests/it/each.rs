//! What holds for every family: one test a family and promise, so that each loads one vocabulary.

macro_rules! families {
    ($($family:ident)*) => {$(
        mod $family {
            use crate::assets::{Model, family, quick};
            use crate::{append_only, native, promises};

            fn model() -> &'static Model {
                family(stringify!($family))
            }

            fn drawn() -> &'static Model {
                quick(stringify!($family))
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

            #[test]
            fn any_split_of_the_ids_gives_the_same_parts() {
                promises::any_split_of_the_ids_gives_the_same_parts(drawn());
            }

            #[test]
            fn broken_characters_and_unknown_ids_do_no_harm() {
                promises::broken_characters_and_unknown_ids_do_no_harm(drawn());
            }

            #[test]
            fn no_letter_is_lost() {
                promises::no_letter_is_lost(drawn());
            }

            #[test]
            fn what_is_said_is_read_again() {
                promises::what_is_said_is_read_again(drawn());
            }

            #[test]
            fn no_text_of_a_person_or_a_tool_becomes_a_control_token() {
                promises::no_text_of_a_person_or_a_tool_becomes_a_control_token(drawn());
            }

            #[test]
            fn no_conversation_does_harm() {
                promises::no_conversation_does_harm(drawn());
            }

            #[test]
            fn a_turn_that_did_not_end_is_ended() {
                promises::a_turn_that_did_not_end_is_ended(drawn());
            }

            #[test]
            fn absent_content_is_empty_and_parts_are_their_text() {
                promises::absent_content_is_empty_and_parts_are_their_text(drawn());
            }
        }
    )*};
}

families! { deepseekv32 deepseekv4 gemma3 glm47 gptoss inkling kimi25 kimi26 llama3 minimax_m25 minimax_m27 mistral nemotron3 qwen25 qwen25vl qwen3 qwen35 qwen36 qwennext smollm2 }
