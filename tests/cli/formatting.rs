//! `itp fmt`: in place, to stdout, or only asking.

use crate::folder::Folder;
use std::fs;

const LOOSE: &str = "param   a=1 # one\ntensor t:f32[x:inf]=a*x\n";
const TIGHT: &str = "param a = 1  # one\ntensor t: f32[x: inf] = a * x\n";

#[test]
fn scripts_are_formatted_in_place() {
    let folder = Folder::with("a.itp", LOOSE);
    folder.itp(&["fmt", "a.itp"]).ends(0).silent();
    assert_eq!(folder.read("a.itp"), TIGHT);
    folder.itp(&["fmt", "a.itp"]).ends(0).silent();
    assert_eq!(folder.read("a.itp"), TIGHT);
    assert_eq!(folder.files(), ["a.itp"]);
}

#[test]
fn check_lists_what_would_change_and_changes_nothing() {
    let folder = Folder::with("a.itp", LOOSE);
    folder.write("b.itp", TIGHT);
    let ran = folder.itp(&["fmt", "--check", "a.itp", "b.itp"]);
    assert_eq!(ran.ends(1).stdout, "a.itp\n");
    assert_eq!(ran.stderr, "");
    assert_eq!(folder.read("a.itp"), LOOSE);
    folder.itp(&["fmt", "--check", "b.itp"]).ends(0).silent();
    assert_eq!(folder.itp_fed(&["fmt", "--check", "-"], LOOSE).ends(1).stdout, "<stdin>\n");
}

#[test]
fn stdout_leaves_the_file_alone() {
    let folder = Folder::with("a.itp", LOOSE);
    assert_eq!(folder.itp(&["fmt", "--stdout", "a.itp"]).ends(0).stdout, TIGHT);
    assert_eq!(folder.read("a.itp"), LOOSE);
}

#[test]
fn a_script_with_syntax_errors_stays_and_others_are_formatted() {
    let wrong = "tensor t:f32[x:inf=a*x\n";
    let folder = Folder::with("a.itp", wrong);
    folder.write("b.itp", LOOSE);
    folder.itp(&["fmt", "a.itp", "b.itp"]).ends(1).tells("--> a.itp:1:").tells("error: 1 error in a.itp");
    assert_eq!((folder.read("a.itp").as_str(), folder.read("b.itp")), (wrong, TIGHT.to_owned()));
}

#[test]
fn names_need_not_be_known_to_be_formatted() {
    let folder = Folder::with("a.itp", "tensor t:f32[x:inf]=unknown(x)\n");
    folder.itp(&["fmt", "a.itp"]).ends(0).silent();
    assert_eq!(folder.read("a.itp"), "tensor t: f32[x: inf] = unknown(x)\n");
}

#[cfg(unix)]
#[test]
fn permissions_and_links_stay() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = Folder::with("a.itp", LOOSE);
    fs::set_permissions(folder.path("a.itp"), fs::Permissions::from_mode(0o750)).expect("mode is set");
    symlink("a.itp", folder.path("link.itp")).expect("link is made");
    folder.itp(&["fmt", "link.itp"]).ends(0).silent();
    let kind = fs::symlink_metadata(folder.path("link.itp")).expect("link is there").file_type();
    assert!(kind.is_symlink());
    let mode = fs::metadata(folder.path("a.itp")).expect("file is there").permissions().mode();
    assert_eq!((folder.read("a.itp"), mode & 0o777), (TIGHT.to_owned(), 0o750));
}

#[cfg(unix)]
#[test]
fn a_read_only_script_is_not_replaced() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::with("a.itp", LOOSE);
    fs::set_permissions(folder.path("a.itp"), fs::Permissions::from_mode(0o444)).expect("mode is set");
    folder.itp(&["fmt", "a.itp"]).ends(1).tells("error[E0003]: cannot write `a.itp`: permission denied");
    assert_eq!((folder.read("a.itp").as_str(), folder.files()), (LOOSE, vec!["a.itp".to_owned()]));
}
