//! What the model wants.

/// One step of the model's.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Step {
    /// Compute this.
    Calculate(String),
    /// It is done.
    Answer(f64),
    /// It did not say.
    Neither,
}

/// Reads the first line that says something.
pub(crate) fn read(said: &str) -> Step {
    said.lines()
        .find_map(|line| {
            let line = line.trim();
            if let Some(expression) = line.strip_prefix("CALC:") {
                Some(Step::Calculate(expression.trim().to_owned()))
            } else {
                let number = line.strip_prefix("ANSWER:")?.trim().trim_end_matches('.').replace(',', "");
                Some(number.parse().map_or(Step::Neither, Step::Answer))
            }
        })
        .unwrap_or(Step::Neither)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_that_says_something_counts() {
        assert_eq!(read("Let me see.\n CALC: 3 + 4 \nANSWER: 9"), Step::Calculate("3 + 4".into()));
        assert_eq!(read("ANSWER: 1,200."), Step::Answer(1200.0));
        assert_eq!(read("ANSWER: seven"), Step::Neither);
        assert_eq!(read("The answer is 7"), Step::Neither);
    }
}
