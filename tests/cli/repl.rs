//! `itp repl`: sessions through the library, through a pipe, and on a terminal.

use crate::folder::Folder;
use insta::assert_snapshot;
use itp::cli::repl::{Screen, Session, Then};
use itp::diagnostic::Style;
use std::path::{Path, PathBuf};

fn session() -> Session {
    Session::new(PathBuf::from("."), Screen::plain(), Style::Plain).expect("a session")
}

/// A session as it reads on a page: inputs behind `> `, and what follows them.
fn transcript(session: &mut Session, inputs: &[&str]) -> String {
    let mut text = String::new();
    for input in inputs {
        let reply = session.enter(input);
        let shown: Vec<&str> = input.lines().collect();
        text += &format!("> {}\n{}{}", shown.join("\n. "), reply.out, reply.told);
        if reply.then == Then::Quit {
            text += "(the end)\n";
        }
    }
    text
}

#[test]
fn items_and_expressions_come_in_any_order() {
    let inputs = [
        "1 + 2",
        "7 / 2",
        "sin(0.5)",
        "u8(200) + u8(100)",
        "3 > 2 and not false",
        "sum(i in 0..10) i * i",
        "tensor smooth: f32[y: inf, x: inf] = (height[y, x - 1] + height[y, x + 1]) / gain",
        "smooth[0:1, 0:1]",
        "tensor height: f32[y: inf, x: inf] = 10 * y + x",
        "param gain = 2",
        "smooth",
        "smooth[0:3, -1:4]",
        "height[2, 3] * 2",
        "gain",
        "smooth[0:40, 0:40]",
        "smooth.permute([x, y])[0:2, 5]",
        "smooth[1, 0:50]",
        "fn twice(v) = 2 * v",
        "twice(gain) + 0.5",
        "let weights = [0.25, 0.5, 0.25]",
        "weights[1]",
        "view turned = smooth.flip([x])",
        "turned[0:2, 0:3]",
        "tensor\n  many: u8[c: 6, x: 3] =\n  c * x",
        "many",
        "# only a remark",
        "",
        ":quit",
    ];
    assert_snapshot!(transcript(&mut session(), &inputs));
}

#[test]
fn errors_never_lose_the_session() {
    let inputs = [
        "tensor a: f32[x: inf] = x / 2",
        "tensor a: f32[x: inf] = (x",
        "tensor a: f32[x: inf] = u8(x) + f32(x)",
        "a[0:4]",
        "a[0:",
        "a[0:4, 0:4]",
        "heigth[0]",
        "1 +* 2",
        "tensor b: f32[x: inf] = aa[x]",
        "b[0:2]",
        "tensor b: f32[x: inf] = a[x] + 1",
        "b[0:2]",
        ":shw a[0:4]",
        ":show",
        ":free c",
        ":set gain = 3",
        "param radius = 2",
        ":set radius = x",
        ":set radus = 3",
        ":set",
        "tensor w: f32[y: inf, x: inf] window [8, 8] = i + j",
        ":ir nothing",
        ":load missing.itp",
        ":plot a",
        "a[0:4]",
    ];
    assert_snapshot!(transcript(&mut session(), &inputs));
}

/// Once, with the item that they are about.
#[test]
fn warnings_are_told_with_their_item() {
    let inputs = [
        "tensor bowl: f32[x: inf] = x ^ 2",
        "tensor flat: f32[x: inf] = 3",
        "bowl[0:3]",
        "2 ^ 3",
        "tensor bowl: f32[x: inf] = x ** 2",
        "bowl[0:3]",
    ];
    assert_snapshot!(transcript(&mut session(), &inputs));
}

#[test]
fn commands_and_arrays_of_other_tools_are_told_what_to_write() {
    let inputs = [
        "tensor height: f32[y: inf, x: inf] = y + x / 2",
        "view half = height.stride([2, 2])",
        ":free",
        ":ir asmm height",
        ":ir access height[0:4, 0:4]",
        ":ir access half",
        ":ir access heigth",
        "height[0:4, 0:4] * 2",
        "height * 2",
        "y + 1",
        "\"hello\"",
        "abs height",
    ];
    assert_snapshot!(transcript(&mut session(), &inputs));
}

#[test]
fn a_name_without_let_is_told_how_to_be_one() {
    let mut session = session();
    let told = session.enter("radius = 3").told;
    assert!(told.contains("write `let radius = …` to name a value, or `==` to compare"), "{told}");
    let told = session.enter("1 + 2 = 3").told;
    assert!(told.contains("= help: write `==` to compare"), "{told}");
}

#[test]
fn the_time_of_one_element_comes_with_its_value() {
    let mut session = session();
    session.enter("tensor a: f32[x: inf] = x / 2");
    let out = session.enter(":time a[5]").out;
    assert!(out.starts_with("2.5\nin "), "{out}");
    let out = session.enter(":time a[5:6]").out;
    assert!(out.starts_with("1 element in "), "{out}");
}

#[test]
fn commands_show_what_there_is() {
    let inputs = [
        "use noise",
        "## How high it is.\nparam seed = 7\n## Hills.\ntensor height: f32[y: inf, x: inf] = value(y / 8, x / 8, seed)",
        "tensor edge: f32[y: inf, x: inf] = height[y, x + 1] - height[y, x - 1]",
        "view cut = edge[0:8, :]",
        ":type height",
        ":type height[0, :]",
        ":type edge[0:3, 0:3]",
        ":type 1 / 2",
        ":doc height",
        ":doc clamp",
        ":doc .flip",
        ":graph",
        ":views",
        ":ir access edge",
        ":plan edge[0:64, 0:64]",
        ":tiles",
        ":show height[0:12, 0:24]",
        ":show height[0:12, 0:24] viridis 0..1",
        ":plot height[0, 0:60]",
        ":set seed = 8",
        ":set",
        ":tree height[0:1, 0:2]",
        ":help show",
        ":help",
    ];
    assert_snapshot!(transcript(&mut session(), &inputs));
}

#[test]
fn commands_without_their_colon_are_understood() {
    let mut session = session();
    let told = |session: &mut Session, input: &str| session.enter(input).told;
    assert!(told(&mut session, "quit").contains("= help: write `:quit`"));
    assert!(told(&mut session, "show height[0:4, 0:4]").contains("= help: write `:show height[0:4, 0:4]`"));
    assert!(told(&mut session, "quiet").contains("unknown name `quiet`"));
    assert_eq!(told(&mut session, "param run = 4"), "");
    assert_eq!(session.enter("run + 1").out, "5\n");
    assert!(told(&mut session, "run + nothing").contains("unknown name `nothing`"));
    assert!(told(&mut session, ":views nothing").contains("= help: write `:views` for all of them"));
    assert!(told(&mut session, ":free nothing").contains("= help: write `:tiles` for what is kept"));
}

#[test]
fn a_tensor_is_drawn_as_its_output_says() {
    let mut session = session();
    let inputs =
        ["tensor a: f32[y: 2, x: 8] = x / 8", "output \"a.png\" = a[:, 0:4] range 0..2 colormap heat"];
    inputs.iter().for_each(|input| assert_eq!(session.enter(input).told, ""));
    assert!(session.enter(":show a[:, :]").out.starts_with("f32[y: 2, x: 8]  0 to 2\n"));
    assert!(session.enter(":show a[:, :] 0..1").out.starts_with("f32[y: 2, x: 8]  0 to 1\n"));
}

#[test]
fn what_did_not_change_is_not_computed_again() {
    let mut session = session();
    let inputs = [
        "param gain = 2",
        "tensor height: f32[y: inf, x: inf] = rand(y, x)",
        "tensor smooth: f32[y: inf, x: inf] = gain * height[y, x + 1]",
        "tensor other: f32[y: inf, x: inf] = height[y, x] - 1",
        ":time height[0:100, 0:100]",
        ":time smooth[0:100, 0:100]",
        ":time other[0:100, 0:100]",
        ":tiles",
        "tensor smooth: f32[y: inf, x: inf] = gain * height[y, x + 2]",
        ":set gain = 3",
        ":time height[0:100, 0:100]",
        ":time smooth[0:100, 0:100]",
        ":time other[0:100, 0:100]",
        ":set gain = 2",
        ":time smooth[0:100, 0:100]",
        ":tiles",
        ":free other",
        ":time other[0:100, 0:100]",
    ];
    let text = transcript(&mut session, &inputs);
    // How long it took is another number every time.
    let words: Vec<&str> = text.split(' ').collect();
    let timeless =
        |at: usize| at > 0 && words.get(at + 1).is_some_and(|unit| *unit == "ms," || *unit == "s,");
    let words: Vec<&str> = (0..words.len()).map(|at| if timeless(at) { "…" } else { words[at] }).collect();
    assert_snapshot!(words.join(" "));
}

#[test]
fn scripts_are_loaded_saved_and_run() {
    let folder = Folder::with(
        "hills.itp",
        "param gain = 2\ntensor a: u8[x: inf] = gain * x\noutput \"a.npy\" = a[0:4]\n",
    );
    let path = |name: &str| folder.path(name).display().to_string();
    let mut session = session();
    assert_eq!(
        session.enter(&format!(":load {}", path("hills.itp"))).out,
        format!("3 items from {}\n", path("hills.itp"))
    );
    assert_eq!(session.enter("a[1:3]").out, "u8[x: 1..3]\n  1:  2  4\n");
    session.enter("## More.\nparam gain = 3");
    let saved = path("saved.itp");
    assert_eq!(session.enter(&format!(":save {saved}")).out, format!("wrote {saved}\n"));
    assert_eq!(
        folder.read("saved.itp"),
        "## More.\nparam gain = 3\ntensor a: u8[x: inf] = gain * x\noutput \"a.npy\" = a[0:4]\n"
    );
    assert_eq!(session.enter(&format!(":graph {}", path("g.svg"))).out, format!("wrote {}\n", path("g.svg")));
    assert!(folder.read("g.svg").starts_with("<svg"));
}

#[test]
fn a_pipe_is_read_without_prompts() {
    let folder = Folder::with("hills.itp", "tensor height: f32[y: inf, x: inf] = y - x\n");
    let input = "tensor b: f32[y: inf, x: inf] =\n    height[y, x]\n    + 1\nb[0:2, 0:3]\nb[0:2, 0:\n3]\nnope[0]\n1 + 1\n:quit\n2 + 2\n";
    let ran = folder.itp_fed(&["repl", "hills.itp"], input);
    assert_snapshot!(ran.ends(1).transcript());
    folder.itp_fed(&["repl"], "1 + 1").ends(0).prints("2\n");
    folder.itp_fed(&["repl", "missing.itp"], "1 + 1").ends(1).tells("error[E0001]");
    folder.itp_fed(&["repl"], "").ends(0).silent();
    folder.itp_fed(&["repl"], "\u{0}\u{1b}[A€\n((((\n:\n:::\n").ends(1);
}

/// Lines may come without end: the session ends when nobody reads its answers.
#[cfg(unix)]
#[test]
fn a_session_that_nobody_reads_ends() {
    let command = format!(
        "yes 1+1 | timeout 20 {} repl | head -n 1; echo ${{PIPESTATUS[1]}}",
        env!("CARGO_BIN_EXE_itp")
    );
    let ran = std::process::Command::new("bash").args(["-c", &command]).output().expect("runs");
    assert_eq!(String::from_utf8_lossy(&ran.stdout), "2\n0\n");
}

/// The sessions on the page: ` ```repl ` blocks, one session from the first to the last.
#[test]
fn the_page_shows_what_happens() {
    let page = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/repl.md"))
        .expect("the page");
    let mut session = session();
    let mut blocks = 0;
    for block in page.split("```repl\n").skip(1) {
        let block = block.split("```").next().unwrap_or_default();
        let mut inputs: Vec<String> = Vec::new();
        for line in block.lines() {
            match (line.strip_prefix("> "), line.strip_prefix(". "), inputs.last_mut()) {
                (Some(input), _, _) => inputs.push(input.to_owned()),
                (None, Some(more), Some(last)) => *last += &format!("\n{more}"),
                (None, _, _) => {}
            }
        }
        let inputs: Vec<&str> = inputs.iter().map(String::as_str).collect();
        assert_eq!(transcript(&mut session, &inputs), block, "docs/repl.md tells another story");
        blocks += 1;
    }
    assert!(blocks > 3, "{blocks} sessions on the page");
}
