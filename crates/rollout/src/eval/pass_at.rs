//! Pass at k.

/// How likely one of `k` sessions passes that are drawn from `all`, of which `passed` passed: the share of draws that
/// hold one.
pub(super) fn pass_at(k: usize, all: usize, passed: usize) -> f64 {
    let failed = all - passed.min(all);
    // Draws of k failed ones among all draws of k, factor by factor: no large binomial is computed.
    let none = (0..k).map(|at| (failed.saturating_sub(at)) as f64 / (all - at) as f64).product::<f64>();
    1.0 - none
}

/// The k that are told for `all` sessions a task: the powers of two below it, and it.
pub(super) fn told(all: usize) -> Vec<usize> {
    let mut told: Vec<usize> =
        std::iter::successors(Some(1), |k| Some(k * 2)).take_while(|k| *k < all).collect();
    told.push(all);
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_share_of_draws_that_hold_one_that_passed() {
        assert_eq!(pass_at(1, 4, 1), 0.25);
        assert_eq!(pass_at(2, 4, 1), 0.5, "3 of the 6 pairs");
        assert_eq!((pass_at(4, 4, 1), pass_at(4, 4, 0), pass_at(2, 4, 3)), (1.0, 0.0, 1.0));
        // Against counting all draws.
        for (all, passed, k) in [(6, 2, 3), (7, 1, 2), (5, 4, 2)] {
            let draws = (0u32..1 << all).filter(|draw| draw.count_ones() == k as u32);
            let (hits, count) = draws.fold((0, 0), |(hits, count), draw| {
                (hits + usize::from(draw & ((1 << passed) - 1) != 0), count + 1)
            });
            assert!((pass_at(k, all, passed) - hits as f64 / count as f64).abs() < 1e-12);
        }
    }

    #[test]
    fn powers_of_two_and_all_are_told() {
        assert_eq!((told(1), told(4), told(6)), (vec![1], vec![1, 2, 4], vec![1, 2, 4, 6]));
    }
}
