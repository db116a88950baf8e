//! Reports as one page that needs nothing else.

use std::fmt::Write as _;

use super::{Page, Part};

const STYLE: &str = "\
:root{color-scheme:light dark}body{font:15px/1.5 system-ui,sans-serif;max-width:62rem;margin:2rem auto;padding:0 1rem;color:#1b1f24;background:#fff}\
h1{font-size:1.5rem}h2{font-size:1.1rem;margin-top:2rem}\
table{border-collapse:collapse;width:100%}td{padding:.3rem .6rem;border-top:1px solid #d8dee4;vertical-align:top;overflow-wrap:anywhere}\
td:first-child{width:16rem;color:#57606a}.lines td:first-child{width:9rem;white-space:nowrap}p{margin:0}p+p{margin-top:.4rem}\
pre{background:#f6f8fa;padding:.6rem 1rem;white-space:pre-wrap;overflow-wrap:anywhere;margin:.2rem 0 .8rem}.lines+pre{margin-left:9.6rem}\
code{background:#eff1f3;border-radius:3px;padding:0 .2em}.good{color:#1a7f37;font-weight:600}.bad{color:#cf222e;font-weight:600}.open{color:#9a6700;font-weight:600}\
ins{background:#dafbe1;text-decoration:none}del{background:#ffebe9;text-decoration:none}\
@media(prefers-color-scheme:dark){body{background:#0d1117;color:#e6edf3}td{border-color:#30363d}td:first-child{color:#8b949e}\
pre{background:#161b22}code{background:#21262d}ins{background:#12361f}del{background:#4b1a1d}.good{color:#3fb950}.bad{color:#f85149}.open{color:#d29922}}\
@media(max-width:40rem){body{margin:1rem auto}tr{display:block;padding:.4rem 0;border-top:1px solid #d8dee466}td,.lines td:first-child,td:first-child{display:block;width:auto;border:0;padding:0 .2rem}\
.lines+pre{margin-left:0}}";

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
                        let values = values.iter().map(|value| format!("<p>{}</p>", coloured(value)));
                        let _ = writeln!(
                            out,
                            "<tr><td>{}</td><td>{}</td></tr>",
                            escaped(name),
                            values.collect::<String>()
                        );
                    }
                    out.push_str("</table>\n");
                }
                Part::Lines(lines) => {
                    out.push_str("<table class=\"lines\">\n");
                    for (mark, line) in lines {
                        let _ = writeln!(out, "<tr><td>{}</td><td>{}</td></tr>", coloured(mark), coded(line));
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

/// A verdict in its colour; any other text as it is.
fn coloured(text: &str) -> String {
    let class = match text {
        "PASS" | "READY" | "linear" | "intentional branches" | "yes" => "good",
        "UNSAFE" | "BLOCKED" | "NEEDS_CHANGES" | "NEEDS_CODE_CHANGE" | "accidental branches" | "FAIL" => {
            "bad"
        }
        "UNVERIFIED" | "unknown" => "open",
        _ => return coded(text),
    };
    format!("<span class=\"{class}\">{}</span>", escaped(text))
}

/// A text whose commands, between backticks, stand out; a backtick without another is one.
fn coded(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, opened)) = rest.split_once('`') {
        let Some((code, after)) = opened.split_once('`') else { break };
        let _ = write!(out, "{}<code>{}</code>", escaped(before), escaped(code));
        rest = after;
    }
    out.push_str(&escaped(rest));
    out
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_stands_out_and_nothing_is_markup_that_was_text() {
        assert_eq!(coded("run `a <b>` & see"), "run <code>a &lt;b&gt;</code> &amp; see");
        assert_eq!(coded("one ` alone"), "one ` alone");
        assert_eq!(coloured("PASS"), "<span class=\"good\">PASS</span>");
        assert_eq!(coloured("<PASS>"), "&lt;PASS&gt;");
    }
}
