//! Wire bodies to and from the canonical conversation
