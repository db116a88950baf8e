//! An image block.

use verbatim_chat::Part;
use verbatim_events::Cause;

use crate::body::Body;
use crate::fields::{excerpt, ignored, read};
use crate::{Invalid, image};

/// An image whose source holds it.
pub(super) fn parse(field: &str, body: Body<'_>, lost: &mut Vec<Cause>) -> Result<Part, Invalid> {
    let mut source = None;
    for (name, raw) in body.0 {
        match name.as_str() {
            "type" => {}
            "source" => source = Some(raw),
            _ => lost.extend(ignored(format!("messages[].content[].{name}"), raw)),
        }
    }
    let field = format!("{field}.source");
    let source = source.ok_or_else(|| Invalid::new(&*field, "must be an object of type base64"))?;
    let source = Body::of_object(&field, source)?;
    let (mut data, mut url) = (None::<String>, None::<String>);
    for (name, raw) in &source.0 {
        let within = format!("{field}.{name}");
        match name.as_str() {
            // What the bytes are is read from them.
            "type" | "media_type" => {}
            "data" => data = read(&within, raw, "a string")?,
            "url" => url = read(&within, raw, "a string")?,
            _ => lost.extend(ignored(format!("messages[].content[].source.{name}"), raw)),
        }
    }
    match (source.get("type").map_or("nothing", |kind| kind.get()), data, url) {
        ("\"base64\"", Some(data), _) => image::of_base64(&format!("{field}.data"), &data),
        ("\"base64\"", None, _) => Err(Invalid::new(format!("{field}.data"), "must be a string")),
        ("\"url\"", _, Some(url)) => image::of_url(&format!("{field}.url"), &url),
        ("\"url\"", _, None) => Err(Invalid::new(format!("{field}.url"), "must be a string")),
        _ => {
            let kind = source.get("type").map_or_else(|| "nothing".to_owned(), excerpt);
            let problem = format!("{kind} is not supported; send the image itself with type \"base64\"");
            Err(Invalid::new(format!("{field}.type"), problem))
        }
    }
}
