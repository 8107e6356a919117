//! `itp lsp` as an editor meets it: a scripted client over stdin and stdout.

use super::folder::Folder;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// How long an answer may take; debug builds on busy machines are slow.
const PATIENCE: Duration = Duration::from_secs(60);

const HILLS: &str = "\
use noise
param seed = 7
## Rolling ground.
tensor height: f32[y: inf, x: inf] = fbm(y / 64, x / 64, seed, 4)
tensor smooth: f32[y: inf, x: inf] = mean(dy in -2..=2, dx in -1..=1) height[y + dy, x + dx]
view turned = smooth.permute([x, y])
output \"hills.png\" = turned[0:64, 0:32] colormap heat
";

struct Editor {
    folder: Folder,
    child: Child,
    stdin: Option<ChildStdin>,
    messages: Receiver<Value>,
    next: i64,
    /// The state of each open text, by address.
    versions: BTreeMap<String, i64>,
}

impl Editor {
    /// Starts the server in a folder with one script, and introduces itself.
    fn start() -> Editor {
        let folder = Folder::with("hills.itp", HILLS);
        let mut command = folder.command(&["lsp", "--stdio"]);
        command.env("XDG_CACHE_HOME", folder.path("cache"));
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let (sender, messages) = channel();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || {
            while let Some(message) = read_message(&mut stdout) {
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        let stdin = child.stdin.take();
        let mut editor = Editor { folder, child, stdin, messages, next: 0, versions: BTreeMap::new() };
        let hello = editor.ask("initialize", json!({ "capabilities": {} }));
        assert_eq!(hello["capabilities"]["positionEncoding"], "utf-16");
        editor.tell("initialized", json!({}));
        editor
    }

    fn send(&mut self, message: Value) {
        let text = message.to_string();
        let stdin = self.stdin.as_mut().unwrap();
        write!(stdin, "Content-Length: {}\r\n\r\n{text}", text.len()).unwrap();
        stdin.flush().unwrap();
    }

    fn tell(&mut self, method: &str, params: Value) {
        self.send(json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    fn request(&mut self, method: &str, params: Value) -> i64 {
        self.next += 1;
        self.send(json!({ "jsonrpc": "2.0", "id": self.next, "method": method, "params": params }));
        self.next
    }

    /// The response with that id; what is told in between is skipped.
    fn response(&mut self, id: i64) -> Value {
        loop {
            let message = self.messages.recv_timeout(PATIENCE).expect("an answer in time");
            if message["id"] == id {
                return message;
            }
        }
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.request(method, params);
        self.response(id)["result"].clone()
    }

    fn uri(&self, name: &str) -> String {
        let folder = self.folder.path("").canonicalize().unwrap();
        format!("file://{}", folder.join(name).display())
    }

    fn open(&mut self, name: &str, text: &str) {
        let uri = self.uri(name);
        self.versions.insert(uri.clone(), 1);
        let document = json!({ "uri": uri, "languageId": "itp", "version": 1, "text": text });
        self.tell("textDocument/didOpen", json!({ "textDocument": document }));
    }

    fn change(&mut self, name: &str, changes: Value) {
        let uri = self.uri(name);
        let version = self.versions.get_mut(&uri).expect("only open texts are changed");
        *version += 1;
        let document = json!({ "uri": uri, "version": *version });
        self.tell("textDocument/didChange", json!({ "textDocument": document, "contentChanges": changes }));
    }

    /// The next marks of a file as it is now: a state in between may be told or not, as time allows.
    fn marks(&mut self, name: &str) -> Value {
        let uri = self.uri(name);
        loop {
            let message = self.messages.recv_timeout(PATIENCE).expect("marks in time");
            let params = &message["params"];
            let current = self.versions.get(&uri).is_none_or(|version| params["version"] == *version);
            if message["method"] == "textDocument/publishDiagnostics"
                && params["uri"] == uri.as_str()
                && current
            {
                return params["diagnostics"].clone();
            }
        }
    }

    /// What `method` says about the place of the first `word` in a text, with more parameters.
    fn at(&mut self, method: &str, name: &str, text: &str, word: &str, more: Value) -> Value {
        let byte = text.find(word).unwrap();
        let line = text[..byte].matches('\n').count();
        let start = text[..byte].rfind('\n').map_or(0, |at| at + 1);
        let character = text[start..byte].encode_utf16().count();
        let mut params = json!({
            "textDocument": { "uri": self.uri(name) },
            "position": { "line": line, "character": character },
        });
        for (key, value) in more.as_object().unwrap() {
            params[key] = value.clone();
        }
        let id = self.request(method, params);
        let message = self.response(id);
        if message["error"].is_null() { message["result"].clone() } else { message["error"].clone() }
    }
}

impl Drop for Editor {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn read_message(from: &mut impl BufRead) -> Option<Value> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if from.read_line(&mut line).ok()? == 0 {
            return None;
        }
        match line.trim() {
            "" => break,
            header => length = header.strip_prefix("Content-Length: ").map_or(length, |n| n.parse().unwrap()),
        }
    }
    let mut body = vec![0; length];
    from.read_exact(&mut body).ok()?;
    serde_json::from_slice(&body).ok()
}

/// The text with the edits of a list, the last first.
fn edited(text: &str, edits: &Value) -> String {
    let mut lines: Vec<String> = text.split('\n').map(str::to_owned).collect();
    for edit in edits.as_array().unwrap().iter().rev() {
        let at = |end: &str, part: &str| edit["range"][end][part].as_u64().unwrap() as usize;
        let (line, from, to) = (at("start", "line"), at("start", "character"), at("end", "character"));
        assert_eq!(line, at("end", "line"), "edits of these tests stay on a line");
        lines[line].replace_range(from..to, edit["newText"].as_str().unwrap());
    }
    lines.join("\n")
}

#[test]
fn names_are_found_explained_and_renamed() {
    let mut editor = Editor::start();
    editor.open("hills.itp", HILLS);
    assert_eq!(editor.marks("hills.itp"), json!([]));

    let hover = editor.at("textDocument/hover", "hills.itp", HILLS, "smooth", json!({}));
    let text = hover["contents"]["value"].as_str().unwrap();
    for part in [
        "tensor smooth: f32[y: inf, x: inf]",
        "reads `height`: window 5×3, halo y 2 before and 2 after, x 1 before and 1 after",
        "tile 128×4096, 2.1 MB",
    ] {
        assert!(text.contains(part), "{text}");
    }
    let hover = editor.at("textDocument/hover", "hills.itp", HILLS, "fbm", json!({}));
    assert!(hover["contents"]["value"].as_str().unwrap().contains("fn fbm(y, x, seed, octaves"), "{hover}");

    for (word, meaning) in [
        ("mean", "mean(i in a..b) e\n```\n\ntheir sum"),
        ("permute", ".permute([x, y])\n```\n\nanother order"),
        ("colormap", "colormap NAME\n```\n\nimages of (y, x)"),
    ] {
        let hover = editor.at("textDocument/hover", "hills.itp", HILLS, word, json!({}));
        assert!(hover["contents"]["value"].as_str().unwrap().contains(meaning), "{hover}");
    }

    let place = editor.at("textDocument/definition", "hills.itp", HILLS, "height[y", json!({}));
    assert_eq!(place["range"]["start"], json!({ "line": 3, "character": 7 }));

    // What the binary holds is put into a file that can be looked at.
    let place = editor.at("textDocument/definition", "hills.itp", HILLS, "fbm", json!({}));
    let file = place["uri"].as_str().unwrap().strip_prefix("file://").unwrap();
    assert!(file.ends_with("cache/itp/std/noise.itp"), "{place}");
    let line = place["range"]["start"]["line"].as_u64().unwrap() as usize;
    let text = std::fs::read_to_string(file).unwrap();
    assert!(text.lines().nth(line).unwrap().starts_with("fn fbm("), "{place}");

    let context = json!({ "context": { "includeDeclaration": true } });
    let places = editor.at("textDocument/references", "hills.itp", HILLS, "seed = 7", context);
    assert_eq!(places.as_array().unwrap().len(), 2, "{places}");

    let uri = editor.uri("hills.itp");
    let new = json!({ "newName": "ground" });
    let edit = editor.at("textDocument/rename", "hills.itp", HILLS, "height:", new);
    assert_eq!(edited(HILLS, &edit["changes"][&uri]), HILLS.replace("height", "ground"));
    // A label moves with the views that name it.
    let edit =
        editor.at("textDocument/rename", "hills.itp", HILLS, "x: inf] = mean", json!({ "newName": "u" }));
    assert!(
        edited(HILLS, &edit["changes"][&uri])
            .contains("height[y + dy, u + dx]\nview turned = smooth.permute([u, y])")
    );
    for (word, new, why) in [
        ("height:", "smooth", "`smooth` is already a name in hills.itp"),
        ("height:", "tensor", "`tensor` is a keyword"),
        ("height:", "1st", "`1st` is not a name: write letters, digits and `_`, a letter first"),
        ("fbm", "fractal", "this is declared in std/noise.itp"),
        ("f32", "f33", "this is a word of the language"),
    ] {
        let refused = editor.at("textDocument/rename", "hills.itp", HILLS, word, json!({ "newName": new }));
        assert_eq!(refused["message"], why);
    }
}

#[test]
fn marks_come_with_fixes_and_go_with_mistakes() {
    let mut editor = Editor::start();
    editor.open("hills.itp", HILLS);
    editor.marks("hills.itp");
    // One unit of UTF-16 after the other: the comment holds a character that is two of them.
    let broken = format!("# 𝒜 map\n{HILLS}");
    editor.change("hills.itp", json!([{ "range": { "start": { "line": 0, "character": 0 }, "end": { "line": 0, "character": 0 } }, "text": "# 𝒜 map\n" }]));
    editor.change(
        "hills.itp",
        json!([{
            "range": { "start": { "line": 5, "character": 70 }, "end": { "line": 5, "character": 76 } },
            "text": "heigth",
        }]),
    );
    let marks = editor.marks("hills.itp");
    let mark = &marks[0];
    assert_eq!(mark["code"], "E0201", "{marks}");
    assert_eq!(mark["range"]["start"], json!({ "line": 5, "character": 70 }));
    assert!(mark["message"].as_str().unwrap().contains("help: write `height`, if that was meant"));

    let uri = editor.uri("hills.itp");
    let params =
        json!({ "textDocument": { "uri": uri }, "range": mark["range"], "context": { "diagnostics": [] } });
    let actions = editor.ask("textDocument/codeAction", params);
    assert_eq!(actions[0]["title"], "replace `heigth` with `height`", "{actions}");
    let fixed = edited(
        &broken.replacen(
            "= mean(dy in -2..=2, dx in -1..=1) height",
            "= mean(dy in -2..=2, dx in -1..=1) heigth",
            1,
        ),
        &actions[0]["edit"]["changes"][&uri],
    );
    assert_eq!(fixed, broken);

    // What compiled before still answers: types of the last good state.
    let hover = editor.at("textDocument/hover", "hills.itp", &broken, "smooth", json!({}));
    assert!(hover["contents"]["value"].as_str().unwrap().contains("window 5×3"), "{hover}");

    editor.change("hills.itp", json!([{ "text": HILLS }]));
    assert_eq!(editor.marks("hills.itp"), json!([]));
}

#[test]
fn a_cast_that_a_message_names_can_be_taken() {
    let mut text = "input a: u8[x: 8]\ntensor b: f32[x: 8] = a[x] * 0.5\ntensor c: f32[x: 8] = a[x]\noutput \"b.npy\" = b[:]\noutput \"c.npy\" = c[:]\n".to_owned();
    let mut editor = Editor::start();
    editor.open("cast.itp", &text);
    let uri = editor.uri("cast.itp");
    for _ in 0..2 {
        let marks = editor.marks("cast.itp");
        let params = json!({ "textDocument": { "uri": uri }, "range": marks[0]["range"], "context": { "diagnostics": [] } });
        let actions = editor.ask("textDocument/codeAction", params);
        assert_eq!(actions[0]["title"], "replace `a[x]` with `f32(a[x])`", "{actions}");
        text = edited(&text, &actions[0]["edit"]["changes"][&uri]);
        editor.change("cast.itp", json!([{ "text": text }]));
    }
    assert_eq!(editor.marks("cast.itp"), json!([]));
    // So can the power that somebody meant.
    editor.change(
        "cast.itp",
        json!([{ "text": "tensor b: f32[x: 8] = (x - 3) ^ 2\noutput \"b.npy\" = b[:]\n" }]),
    );
    let marks = editor.marks("cast.itp");
    assert_eq!(marks[0]["code"], "W0004", "{marks}");
    let params = json!({ "textDocument": { "uri": uri }, "range": marks[0]["range"], "context": { "diagnostics": [] } });
    let actions = editor.ask("textDocument/codeAction", params);
    assert_eq!(actions[0]["title"], "replace `^` with `**`", "{actions}");
}

#[test]
fn a_read_outside_can_be_given_a_boundary() {
    let text = "input photo: f32[x: 8]\ntensor edge: f32[x: 8] = photo[x] - photo[x - 1]\noutput \"e.npy\" = edge[:]\n";
    let mut editor = Editor::start();
    editor.open("edge.itp", text);
    let marks = editor.marks("edge.itp");
    let uri = editor.uri("edge.itp");
    let params = json!({ "textDocument": { "uri": uri }, "range": marks[0]["range"], "context": { "diagnostics": [] } });
    let actions = editor.ask("textDocument/codeAction", params);
    assert_eq!(actions[0]["title"], "add `.clamp()`", "{actions}");
    let fixed = edited(text, &actions[0]["edit"]["changes"][&uri]);
    editor.change("edge.itp", json!([{ "text": fixed }]));
    assert_eq!(editor.marks("edge.itp"), json!([]));
    // Without a module that it needs.
    editor.change("edge.itp", json!([{ "text": "tensor a: f32[y: inf, x: inf] = fbm(y, x, 1, 2)\n" }]));
    let marks = editor.marks("edge.itp");
    let params = json!({ "textDocument": { "uri": uri }, "range": marks[0]["range"], "context": { "diagnostics": [] } });
    let actions = editor.ask("textDocument/codeAction", params);
    assert_eq!(actions[0]["title"], "add `use noise`", "{actions}");
}

#[test]
fn files_that_are_used_are_read_as_they_are_in_the_editor() {
    let mut editor = Editor::start();
    editor.folder.write("lib/tools.itp", "fn twice(a) = 2 * a\n");
    let script = "use \"lib/tools.itp\"\ntensor a: f32[x: inf] = twice(x)\noutput \"a.npy\" = a[0:4]\n";
    editor.open("main.itp", script);
    assert_eq!(editor.marks("main.itp"), json!([]));
    let place = editor.at("textDocument/definition", "main.itp", script, "twice", json!({}));
    assert_eq!(place["uri"], editor.uri("lib/tools.itp").as_str());
    // Not saved, and `main.itp` sees it all the same.
    editor.open("lib/tools.itp", "fn thrice(a) = 3 * a\n");
    assert_eq!(editor.marks("main.itp")[0]["code"], "E0201");
    editor.change("lib/tools.itp", json!([{ "text": "fn twice(a) = 3 * a\n" }]));
    assert_eq!(editor.marks("main.itp"), json!([]));
    let edit = editor.at(
        "textDocument/rename",
        "lib/tools.itp",
        "fn twice(a)",
        "twice",
        json!({ "newName": "triple" }),
    );
    let (main, tools) = (editor.uri("main.itp"), editor.uri("lib/tools.itp"));
    assert_eq!(edited(script, &edit["changes"][&main]), script.replace("twice", "triple"));
    assert_eq!(edit["changes"][&tools].as_array().unwrap().len(), 1);
}

#[test]
fn the_rest_of_the_protocol() {
    let mut editor = Editor::start();
    editor.open("hills.itp", HILLS);
    let document = json!({ "textDocument": { "uri": editor.uri("hills.itp") } });

    let symbols = editor.ask("textDocument/documentSymbol", document.clone());
    let names: Vec<&str> =
        symbols.as_array().unwrap().iter().map(|symbol| symbol["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["seed", "height", "smooth", "turned", "hills.png"]);

    let mut params = document.clone();
    params["range"] =
        json!({ "start": { "line": 0, "character": 0 }, "end": { "line": 99, "character": 0 } });
    let hints = editor.ask("textDocument/inlayHint", params);
    let labels: Vec<&str> =
        hints.as_array().unwrap().iter().map(|hint| hint["label"].as_str().unwrap()).collect();
    assert_eq!(labels, [": f32[x: inf, y: inf]", ": 64×32 f32"]);

    let found = editor.at("textDocument/completion", "hills.itp", HILLS, "permute", json!({}));
    let found: Vec<&str> =
        found.as_array().unwrap().iter().map(|entry| entry["label"].as_str().unwrap()).collect();
    assert!(found.contains(&"flip") && !found.contains(&"height"), "{found:?}");

    let tokens = editor.ask("textDocument/semanticTokens/full", document.clone());
    let data: Vec<u64> = tokens["data"].as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).collect();
    // `use` is a keyword; `param` on the next line too; `seed` is a variable.
    assert_eq!(data[..15], [0, 0, 3, 0, 0, 1, 0, 5, 0, 0, 0, 6, 4, 4, 0]);

    editor.change("hills.itp", json!([{ "text": "param   a=1" }]));
    let mut params = document.clone();
    params["options"] = json!({ "tabSize": 4, "insertSpaces": true });
    let edits = editor.ask("textDocument/formatting", params.clone());
    assert_eq!(edits[0]["newText"], "param a = 1\n");
    // A broken text is left alone.
    editor.change("hills.itp", json!([{ "text": "param   a=" }]));
    assert_eq!(editor.ask("textDocument/formatting", params), json!([]));

    let id = editor.request("textDocument/unheard", json!({}));
    assert_eq!(editor.response(id)["error"]["code"], -32601);
    let id = editor.request("textDocument/hover", json!({ "nonsense": true }));
    assert_eq!(editor.response(id)["error"]["code"], -32602);
}

#[test]
fn a_cancelled_request_is_answered_once_and_the_others_too() {
    let mut editor = Editor::start();
    editor.open("hills.itp", HILLS);
    let params = json!({ "textDocument": { "uri": editor.uri("hills.itp") } });
    let asked: Vec<i64> =
        (0..4).map(|_| editor.request("textDocument/documentSymbol", params.clone())).collect();
    editor.tell("$/cancelRequest", json!({ "id": asked[2] }));
    editor.tell("$/cancelRequest", json!({ "id": 999 }));
    let last = editor.request("textDocument/documentSymbol", params);
    let mut answers = std::collections::BTreeMap::new();
    while !answers.contains_key(&last) {
        let message = editor.messages.recv_timeout(PATIENCE).expect("an answer in time");
        if let Some(id) = message["id"].as_i64() {
            assert_eq!(answers.insert(id, message["error"]["code"].clone()), None, "{id} is answered twice");
        }
    }
    for id in &asked {
        let error = &answers[id];
        assert!(error.is_null() || (*id == asked[2] && *error == -32800), "{id}: {error}");
    }
}

#[test]
fn it_ends_when_the_editor_says_so_or_goes_away() {
    let mut editor = Editor::start();
    assert_eq!(editor.ask("shutdown", Value::Null), Value::Null);
    editor.tell("exit", Value::Null);
    assert_eq!(editor.child.wait().unwrap().code(), Some(0));
    let mut editor = Editor::start();
    drop(editor.stdin.take());
    assert_eq!(editor.child.wait().unwrap().code(), Some(1));
}

/// What an editor says of a message is not believed: nothing is allocated for it before it comes.
#[test]
fn messages_that_are_too_long_end_the_session() {
    let folder = Folder::new();
    let long = "X".repeat(1 << 20);
    let many = "{},".repeat(5 << 20);
    let many = format!("Content-Length: {}\r\n\r\n[{many}0]", many.len() + 3);
    let cases = [
        ("Content-Length: 9000000000\r\n\r\n{}", "a message of 9000000000 bytes, more than 67108864"),
        ("Content-Length: 18446744073709551615\r\n\r\n{}", "more than 67108864"),
        ("Content-Length: 67108864\r\n\r\n{}", "ends after 2 of 67108864 bytes"),
        (&*long, "no field and value"),
        (&*many, "a message has 10485761 brackets, commas and colons, more than 500000"),
    ];
    for (said, told) in cases {
        let mut command = folder.command(&["lsp"]);
        let pipes = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = pipes.spawn().unwrap();
        // It may be gone before all of it is written.
        let _ = child.stdin.take().unwrap().write_all(said.as_bytes());
        let ended = child.wait_with_output().unwrap();
        let stderr = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.code(), Some(1), "{stderr}");
        assert!(
            stderr.contains("error[E0001]: cannot talk to the editor") && stderr.contains(told),
            "{stderr}"
        );
    }
}
