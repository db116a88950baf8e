//! The arithmetic that takes time.
//!
//! The invariant: every output is a chain of additions in one fixed order (along the row for
//! [`Matrix::times`], along positions for [`attend`]), whatever else is computed in the same call.
//! Which instructions run is decided once, at run time.

mod attend;
mod matrix;
mod pack;
mod tile;

pub(crate) use attend::{Attend, attend};
pub(crate) use matrix::Matrix;

/// The instruction set that was found, and how wide packed panels are for it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Isa {
    arch: pulp::Arch,
    width: usize,
}

impl Isa {
    /// Asks the processor.
    pub(crate) fn detect() -> Self {
        struct Lanes;
        impl pulp::WithSimd for Lanes {
            type Output = usize;
            fn with_simd<S: pulp::Simd>(self, _: S) -> usize {
                S::F32_LANES
            }
        }
        let arch = pulp::Arch::new();
        Self { arch, width: 2 * arch.dispatch(Lanes) }
    }
}
