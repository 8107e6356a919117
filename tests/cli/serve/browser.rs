//! The page in a real browser, where there is one: tests/browser/view.mjs drives Chromium.

use super::{Folder, SCRIPT, Serving};
use std::process::Command;

#[test]
fn the_viewer_works_in_a_browser() {
    let there =
        |program: &str| Command::new(program).arg("--version").output().is_ok_and(|ran| ran.status.success());
    if let Some(missing) = ["node", "chromium"].into_iter().find(|program| !there(program)) {
        eprintln!("\n*** NOT TESTED: the viewer in a browser, because there is no `{missing}` here ***\n");
        return;
    }
    let folder = Folder::with("a.itp", SCRIPT);
    let serving = Serving::start(&folder, &["a.itp"]);
    let scenario = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/browser/view.mjs");
    let url = format!("http://127.0.0.1:{}/", serving.port);
    let ran = Command::new("node").arg(scenario).arg(&url).arg(folder.path("a.itp")).output();
    let ran = ran.expect("node runs");
    let told = [ran.stdout, ran.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    assert!(ran.status.success(), "{told}");
}
