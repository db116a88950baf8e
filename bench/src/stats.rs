//! Percentiles, ranges and straight lines.

use std::time::{Duration, Instant};

/// The value below which a share `p` of the sorted values lies (nearest rank); 0 if there is none.
pub(crate) fn percentile(sorted: &[f64], p: f64) -> f64 {
    let rank = (p * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.clamp(1, sorted.len().max(1)) - 1).copied().unwrap_or_default()
}

/// The values in order.
pub(crate) fn sorted(values: impl IntoIterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_unstable_by(f64::total_cmp);
    values
}

/// The middle value.
pub(crate) fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    percentile(&sorted(values), 0.5)
}

/// Milliseconds.
pub(crate) fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

/// Runs `step` that often; the time of each run in milliseconds, in order of size. What `step`
/// returns is dropped outside the measured time.
pub(crate) fn times<T>(runs: u32, mut step: impl FnMut() -> T) -> Vec<f64> {
    sorted((0..runs).map(|_| {
        let began = Instant::now();
        let made = step();
        let took = began.elapsed();
        drop(std::hint::black_box(made));
        ms(took)
    }))
}

/// A straight line through points.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line {
    /// Growth of y for each x.
    pub(crate) slope: f64,
    /// y at 0.
    pub(crate) intercept: f64,
    /// The share of y's variance that it explains.
    pub(crate) r2: f64,
}

/// The line of least squares.
pub(crate) fn fit(points: &[(f64, f64)]) -> Line {
    let n = points.len().max(1) as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / n;
    let (mx, my) = (mean(|p| p.0), mean(|p| p.1));
    let sxx: f64 = points.iter().map(|p| (p.0 - mx).powi(2)).sum();
    let sxy: f64 = points.iter().map(|p| (p.0 - mx) * (p.1 - my)).sum();
    let syy: f64 = points.iter().map(|p| (p.1 - my).powi(2)).sum();
    let slope = if sxx > 0.0 { sxy / sxx } else { 0.0 };
    let r2 = if sxx > 0.0 && syy > 0.0 { sxy * sxy / (sxx * syy) } else { 0.0 };
    Line { slope, intercept: my - slope * mx, r2 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_nearest_ranks() {
        let values = sorted([4.0, 1.0, 3.0, 2.0]);
        assert_eq!([0.0, 0.5, 0.75, 1.0].map(|p| percentile(&values, p)), [1.0, 2.0, 3.0, 4.0]);
        assert_eq!(percentile(&[], 0.5), 0.0);
    }

    #[test]
    fn a_line_fits_itself() {
        let line = fit(&[(0.0, 1.0), (1.0, 3.0), (4.0, 9.0)]);
        assert!((line.slope - 2.0).abs() < 1e-9 && (line.intercept - 1.0).abs() < 1e-9);
        assert!((line.r2 - 1.0).abs() < 1e-9);
    }
}
