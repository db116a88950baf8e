//! Whether requests may go on.

/// What a server does while it is paused, if it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Gate {
    /// Not paused.
    #[default]
    Open,
    /// What ran was aborted, or was let run out; nothing new starts.
    Drained,
    /// What runs went back to the queue and is read again afterwards.
    Retracted,
    /// What runs stands still.
    Frozen,
}

impl Gate {
    /// Whether the server is paused.
    pub(crate) fn is_closed(self) -> bool {
        self != Self::Open
    }

    /// Whether what runs must wait.
    pub(crate) fn holds_running(self) -> bool {
        matches!(self, Self::Retracted | Self::Frozen)
    }
}
