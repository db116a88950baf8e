//! `verify`: does a claim hold?

mod parser;
mod rows;
mod session;
mod template;

pub use parser::{Asking, Differs, Disagreement, ParserError, ParserReport, parser};
pub use rows::{Bound, Gap, RowsReport, VerifyError, Worst, rows};
pub use session::{AgentError, Plan, Roles, SessionReport, SessionRun, Step, TurnRun, session};
pub use template::{Cut, Difference, Refused, TemplateReport, template};
