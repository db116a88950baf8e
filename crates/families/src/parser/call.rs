//! The JSON of a Hermes call.

use serde::Deserialize;
use serde_json::value::RawValue;

/// A call as the model wrote it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Call {
    /// The function.
    pub(super) name: String,
    /// The bytes of its arguments.
    pub(super) arguments: String,
}

/// `parameters` is what SGLang takes for `arguments`, too.
#[derive(Deserialize)]
struct Shape<'a> {
    name: String,
    #[serde(borrow, default, alias = "parameters")]
    arguments: Option<&'a RawValue>,
}

/// Reads what stands between the marks of a call: one JSON object with a name and with arguments
/// that are an object. Arguments that are not there are `{}`, as in SGLang. Whether the function
/// was declared is not looked at: that is the agent's affair.
pub(super) fn read(text: &str) -> Option<Call> {
    let shape: Shape<'_> = serde_json::from_str(text).ok()?;
    let arguments = shape.arguments.map_or("{}", RawValue::get);
    let valid = !shape.name.is_empty() && arguments.starts_with('{');
    valid.then(|| Call { name: shape.name, arguments: arguments.to_owned() })
}
