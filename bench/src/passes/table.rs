//! Lengths as rows, passes as columns; below them what each pass costs a token.

use super::measure::Row;
use crate::stats::fit;

type Column = (&'static str, fn(&Row) -> f64);

const COLUMNS: [Column; 7] = [
    ("receive", |row| row.receive),
    ("split+hash", |row| row.split),
    ("gather", |row| row.gather),
    ("write", |row| row.write),
    ("turn", |row| row.turn),
    ("to prompt", |row| row.prepare),
    ("new only", Row::new_only),
];

/// The table, the slopes between successive lengths, and the fit over all of them.
pub(super) fn table(rows: &[Row]) -> String {
    let mut lines = vec![line("tokens", "messages", "KiB", COLUMNS.map(|(name, _)| name.to_owned()))];
    for row in rows {
        let kib = format!("{:.0}", row.bytes as f64 / 1024.0);
        let values = COLUMNS.map(|(_, value)| format!("{:.4}", value(row)));
        lines.push(line(&row.tokens.to_string(), &row.messages.to_string(), &kib, values));
    }
    lines.push(String::new());
    for pair in rows.windows(2) {
        let [from, to] = pair else { continue };
        let tokens = (to.tokens - from.tokens).max(1) as f64;
        let slopes = COLUMNS.map(|(_, value)| format!("{:.2}", (value(to) - value(from)) / tokens * 1e6));
        lines.push(line(&format!("to {}", to.tokens), "", "ns/tok", slopes));
    }
    let fits = COLUMNS
        .map(|(_, value)| fit(&rows.iter().map(|row| (row.tokens as f64, value(row))).collect::<Vec<_>>()));
    lines.push(line("fit", "", "ns/tok", fits.map(|fit| format!("{:.2}", fit.slope * 1e6))));
    lines.push(line("", "", "+ us", fits.map(|fit| format!("{:.1}", fit.intercept * 1e3))));
    lines.push(line("", "", "R2", fits.map(|fit| format!("{:.4}", fit.r2))));
    lines.join("\n")
}

fn line(tokens: &str, messages: &str, size: &str, values: [String; COLUMNS.len()]) -> String {
    let values = values.map(|value| format!("{value:>12}")).concat();
    format!("{tokens:>10}{messages:>10}{size:>8}{values}")
}
