//! What is drawn.

use std::time::Duration;

use rand::Rng;
use rand_chacha::ChaCha8Rng;

/// A lognormal distribution, cut at `most`: half of the draws are below `median`, and the larger `sigma`,
/// the longer the tail.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tail {
    /// The median.
    pub median: f64,
    /// The standard deviation of the logarithm.
    pub sigma: f64,
    /// No draw is larger.
    pub most: f64,
}

impl Tail {
    /// One draw.
    pub(crate) fn draw(&self, random: &mut ChaCha8Rng) -> f64 {
        // Box and Muller's transform of two uniform draws; 1 - u is never 0.
        let (u, v): (f64, f64) = (1.0 - random.random::<f64>(), random.random());
        let normal = (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos();
        (self.median * (self.sigma * normal).exp()).min(self.most)
    }

    /// One draw of seconds.
    pub(crate) fn seconds(&self, random: &mut ChaCha8Rng) -> Duration {
        Duration::from_secs_f64(self.draw(random))
    }
}
