//! Files that a script uses: below its folder, and nowhere else.

use crate::folder::Folder;

const USER: &str = "use \"lib/half.itp\"\ntensor a: f32[x: inf] = half(x)\noutput \"a.npy\" = a[0:4]\n";
const HALF: &str = "fn half(x) = x / 2\n";

#[test]
fn files_are_found_beside_the_script_wherever_itp_runs() {
    let folder = Folder::with("deep/user.itp", USER);
    folder.write("deep/lib/half.itp", HALF);
    folder.itp(&["check", "deep/user.itp"]).ends(0).tells("deep/user.itp: ok (1 tensor, 1 output)");
}

#[test]
fn standard_input_uses_files_of_the_folder_itp_runs_in() {
    let folder = Folder::with("lib/half.itp", HALF);
    folder.itp_fed(&["check", "-"], USER).ends(0).tells("<stdin>: ok");
}

#[test]
fn errors_in_used_files_name_them() {
    let folder = Folder::with("user.itp", USER);
    folder.write("lib/half.itp", "fn half(x) = x /\n");
    folder
        .itp(&["check", "user.itp"])
        .ends(1)
        .tells("--> lib/half.itp:1:")
        .tells("error: 1 error in user.itp");
}

#[test]
fn files_that_cannot_be_used_are_refused() {
    let check = |text: &[u8], part: &str| {
        let folder = Folder::with("user.itp", USER);
        folder.write("lib/half.itp", text);
        folder.itp(&["check", "user.itp"]).ends(1).tells("error[E0203]").tells(part);
    };
    check(b"\xff", "cannot use `lib/half.itp`: it is not UTF-8 text");
    check(&vec![b' '; (16 << 20) + 1], "it is larger than 16 MiB");
    let folder = Folder::with("user.itp", USER);
    folder.itp(&["check", "user.itp"]).ends(1).tells("there is no such file or folder");
    folder.write("lib/half.itp/x", "");
    folder.itp(&["check", "user.itp"]).ends(1).tells("it is a folder");
    let folder = Folder::with("in/user.itp", "use \"../half.itp\"\n");
    folder.write("half.itp", HALF);
    folder.itp(&["check", "in/user.itp"]).ends(1).tells("error[E0203]").tells("leaves the script's folder");
}

#[cfg(unix)]
#[test]
fn a_link_that_leaves_the_folder_is_refused_and_one_that_stays_is_not() {
    use std::os::unix::fs::symlink;
    let folder = Folder::with("in/user.itp", USER);
    folder.write("half.itp", HALF);
    folder.write("in/other.itp", HALF);
    std::fs::create_dir(folder.path("in/lib")).expect("the folder is made");
    symlink("../../half.itp", folder.path("in/lib/half.itp")).expect("link is made");
    let ran = folder.itp(&["check", "in/user.itp"]);
    ran.ends(1).tells("cannot use `lib/half.itp`: it is a link that leaves the script's folder");
    std::fs::remove_file(folder.path("in/lib/half.itp")).expect("link is removed");
    symlink("../other.itp", folder.path("in/lib/half.itp")).expect("link is made");
    folder.itp(&["check", "in/user.itp"]).ends(0);
}
