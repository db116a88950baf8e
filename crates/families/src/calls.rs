//! A call's arguments as the object that templates take.

use verbatim_chat::Arguments;

use crate::python::{Node, loads};

/// The arguments as an object; `None` where they are none.
///
/// Text is parsed, as Miles and SGLang do before they render (Miles §4.1): the template then spells
/// it in its own way, whatever the client's spacing was.
pub(crate) fn object(arguments: &Arguments) -> Option<Vec<(String, Node)>> {
    let node = match arguments {
        Arguments::Text(text) => loads(text)?,
        Arguments::Json(value) => Node::from(value),
    };
    match node {
        Node::Map(map) => Some(map),
        _ => None,
    }
}
