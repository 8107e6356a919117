//! `itp tree`: a slice -> the levels it is stored as.
//!
//! ```text
//! 2×3-Tensor
//! └─ Dense [0:2,:]
//!    ├─ [0, :]: SparseList (0) [0:3]
//!    │  └─ [1]: 7
//!    └─ …
//! ```

use super::Outcome;
use super::args::TreeArgs;
use super::report::Report;
use super::session::{self, Session};
use crate::engine::Error;
use crate::run::stats::Stats;
use serde_json::json;

/// Prints the tree of every slice.
pub(super) fn tree(args: &TreeArgs, report: &mut Report) -> Outcome {
    printed(args, report).unwrap_or_else(|outcome| outcome)
}

fn printed(args: &TreeArgs, report: &mut Report) -> Result<Outcome, Outcome> {
    let session = session::open(&args.file, &args.read, &args.script, &args.options, report)?;
    let (mut text, mut all) = (String::new(), Stats::default());
    for slice in &args.read {
        let (tree, stats) =
            one(&session, slice).map_err(|error| session::failed(&session.name, error, report))?;
        text.push_str(&tree);
        all.add(&stats);
    }
    let outcome = report.print(&text);
    session.account(all, json!({}), &args.options, report)?;
    Ok(outcome)
}

fn one(session: &Session, slice: &str) -> Result<(String, Stats), Error> {
    let prepared = session.engine.prepare(slice)?;
    let (array, stats) = prepared.read_array()?;
    Ok((session.engine.tree_of(prepared.view(), &array)?, stats))
}
