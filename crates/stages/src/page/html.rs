//! Reports as one page that needs nothing else.

use std::fmt::Write as _;

use super::{Page, Part};

const STYLE: &str = "\
body{font:15px/1.5 system-ui,sans-serif;max-width:62rem;margin:2rem auto;padding:0 1rem;color:#1b1f24;background:#fff}\
h1{font-size:1.5rem}h2{font-size:1.1rem;margin-top:2rem}\
table{border-collapse:collapse;width:100%}td{padding:.3rem .6rem;border-top:1px solid #d8dee4;vertical-align:top;overflow-wrap:anywhere}\
td:first-child{width:16rem;color:#57606a;white-space:nowrap}\
pre{background:#f6f8fa;padding:.6rem 1rem;overflow-x:auto;white-space:pre-wrap;margin:.2rem 0 .8rem 2rem}\
.good{color:#1a7f37;font-weight:600}.bad{color:#cf222e;font-weight:600}.open{color:#9a6700;font-weight:600}\
ins{background:#dafbe1;text-decoration:none}del{background:#ffebe9;text-decoration:none}\
@media(prefers-color-scheme:dark){body{background:#0d1117;color:#e6edf3}td{border-color:#30363d}td:first-child{color:#8b949e}\
pre{background:#161b22}ins{background:#12361f}del{background:#4b1a1d}.good{color:#3fb950}.bad{color:#f85149}.open{color:#d29922}}";

impl Page {
    /// As a page.
    pub fn html(&self) -> String {
        let title = escaped(&self.title);
        let mut out = format!(
            "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\
             <title>{title}</title><style>{STYLE}</style><h1>{title}</h1>\n"
        );
        for part in &self.parts {
            match part {
                Part::Heading(heading) => {
                    let _ = writeln!(out, "<h2>{}</h2>", escaped(heading));
                }
                Part::Fields(fields) => {
                    out.push_str("<table>\n");
                    for (name, values) in fields {
                        let values: Vec<_> = values.iter().map(|value| coloured(value, value)).collect();
                        let _ = writeln!(
                            out,
                            "<tr><td>{}</td><td>{}</td></tr>",
                            escaped(name),
                            values.join("<br>")
                        );
                    }
                    out.push_str("</table>\n");
                }
                Part::Lines(lines) => {
                    out.push_str("<table>\n");
                    for (mark, line) in lines {
                        let _ = writeln!(
                            out,
                            "<tr><td>{}</td><td>{}</td></tr>",
                            coloured(mark, mark),
                            escaped(line)
                        );
                    }
                    out.push_str("</table>\n");
                }
                Part::Diff(lines) => {
                    let lines: Vec<_> = lines.iter().map(|line| marked(line)).collect();
                    let _ = writeln!(out, "<pre>{}</pre>", lines.join("\n"));
                }
            }
        }
        out.push_str("</html>\n");
        out
    }
}

fn marked(line: &str) -> String {
    let text = escaped(line);
    match line.as_bytes().first() {
        Some(b'+') => format!("<ins>{text}</ins>"),
        Some(b'-') => format!("<del>{text}</del>"),
        _ => text,
    }
}

/// A verdict in its colour.
fn coloured(verdict: &str, text: &str) -> String {
    let text = escaped(text);
    let class = match verdict {
        "PASS" | "READY" | "linear" | "intentional branches" | "yes" => "good",
        "UNSAFE" | "BLOCKED" | "NEEDS_CHANGES" | "NEEDS_CODE_CHANGE" | "accidental branches" | "FAIL" => {
            "bad"
        }
        "UNVERIFIED" | "unknown" => "open",
        _ => return text,
    };
    format!("<span class=\"{class}\">{text}</span>")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
