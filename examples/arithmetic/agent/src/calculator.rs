//! A calculator: `+ - * /`, parentheses, decimal numbers.

/// The value of an expression.
///
/// # Errors
/// What is wrong with it, for the model to read.
pub(crate) fn evaluate(expression: &str) -> Result<f64, String> {
    let mut reader = Reader { rest: expression.trim() };
    let value = reader.sum(0)?;
    if reader.rest.is_empty() { Ok(value) } else { Err(format!("cannot read {:?}", reader.rest)) }
}

/// More nesting than this is no arithmetic of ours.
const DEEPEST: usize = 50;

struct Reader<'a> {
    rest: &'a str,
}

impl Reader<'_> {
    fn take(&mut self, symbols: &[char]) -> Option<char> {
        self.rest = self.rest.trim_start();
        let first = self.rest.chars().next().filter(|first| symbols.contains(first))?;
        self.rest = &self.rest[first.len_utf8()..];
        Some(first)
    }

    fn sum(&mut self, depth: usize) -> Result<f64, String> {
        let mut value = self.product(depth)?;
        while let Some(sign) = self.take(&['+', '-']) {
            let next = self.product(depth)?;
            value = if sign == '+' { value + next } else { value - next };
        }
        Ok(value)
    }

    fn product(&mut self, depth: usize) -> Result<f64, String> {
        let mut value = self.factor(depth)?;
        while let Some(sign) = self.take(&['*', '/', 'x', '×']) {
            let next = self.factor(depth)?;
            if sign == '/' && next == 0.0 {
                return Err("division by zero".into());
            }
            value = if sign == '/' { value / next } else { value * next };
        }
        Ok(value)
    }

    fn factor(&mut self, depth: usize) -> Result<f64, String> {
        if depth > DEEPEST {
            return Err("too many parentheses".into());
        }
        if self.take(&['-']).is_some() {
            return Ok(-self.factor(depth + 1)?);
        }
        if self.take(&['(']).is_some() {
            let value = self.sum(depth + 1)?;
            return self.take(&[')']).map(|_| value).ok_or_else(|| "a parenthesis is open".into());
        }
        self.rest = self.rest.trim_start();
        let end = self.rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(self.rest.len());
        let (number, rest) = self.rest.split_at(end);
        self.rest = rest;
        number.parse().map_err(|_| format!("expected a number before {rest:?}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_is_arithmetic() {
        for (expression, value) in [
            ("3 + 4", 7.0),
            ("2 + 3 * 4", 14.0),
            ("(2 + 3) * 4", 20.0),
            ("-2 * -3", 6.0),
            ("7/2", 3.5),
            ("2 x 5", 10.0),
        ] {
            assert_eq!(evaluate(expression), Ok(value), "{expression}");
        }
        for wrong in ["", "3 +", "(1", "1 / 0", "three", "2 apples"] {
            assert!(evaluate(wrong).is_err(), "{wrong}");
        }
        assert!(evaluate(&"(".repeat(10_000)).is_err());
    }
}
