//! Messages of an editor on stdin, answers on stdout: the bytes around them.
//!
//! ```text
//! Content-Length: 52\r\n\r\n{"jsonrpc": "2.0", "method": "exit", "params": null}
//! ```
//!
//! What an editor says of a message is not believed before it has come: no more is allocated than that.

use lsp_server::{Connection, Message};
use std::io::{self, BufRead, Read};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;

/// Bytes of a message, at the most.
const LONGEST_MESSAGE: u64 = 64 << 20;
/// Bytes of what stands before a message, at the most.
const LONGEST_HEAD: u64 = 1 << 16;
/// Brackets, commas and colons of a message, at the most. Each begins a value or a name, and as part of a tree one may take
/// hundreds of bytes, whatever its text; an edit at one place has 16.
const MOST_PARTS: usize = 500_000;

/// The threads that read and write.
pub(super) struct Threads {
    writer: JoinHandle<io::Result<()>>,
    /// Why no more is read.
    fault: Arc<OnceLock<String>>,
}

impl Threads {
    /// Waits until all answers are written; an error if the editor said what it must not.
    pub(super) fn join(self) -> Result<(), String> {
        let written = self.writer.join().unwrap_or_else(|_| Err(io::Error::other("a thread failed")));
        match self.fault.get() {
            Some(fault) => Err(fault.clone()),
            None => written.map_err(|error| error.to_string()),
        }
    }
}

/// A connection to who started the process.
pub(super) fn connect() -> io::Result<(Connection, Threads)> {
    let (here, editor) = Connection::memory();
    let Connection { sender, receiver } = editor;
    let fault = Arc::new(OnceLock::new());
    let told = fault.clone();
    // It ends with the process if the editor says nothing any more: nobody waits for it.
    std::thread::Builder::new().name("lsp-reader".to_owned()).spawn(move || {
        let mut stdin = io::stdin().lock();
        loop {
            match read(&mut stdin) {
                Ok(Some(message)) => {
                    let exit = matches!(&message, Message::Notification(told) if told.method == "exit");
                    if sender.send(message).is_err() || exit {
                        return;
                    }
                }
                Ok(None) => return,
                Err(why) => {
                    let _ = told.set(why);
                    return;
                }
            }
        }
    })?;
    let writer = std::thread::Builder::new().name("lsp-writer".to_owned());
    let writer = writer.spawn(move || {
        let mut stdout = io::stdout().lock();
        receiver.into_iter().try_for_each(|message| message.write(&mut stdout))
    })?;
    Ok((here, Threads { writer, fault }))
}

/// The next message; none at the end.
fn read(from: &mut impl BufRead) -> Result<Option<Message>, String> {
    let Some(size) = size(&mut from.by_ref().take(LONGEST_HEAD))? else { return Ok(None) };
    if size > LONGEST_MESSAGE {
        return Err(format!("it announces a message of {size} bytes, more than {LONGEST_MESSAGE}"));
    }
    let mut bytes = Vec::new();
    from.by_ref().take(size).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if (bytes.len() as u64) < size {
        return Err(format!("a message ends after {} of {size} bytes", bytes.len()));
    }
    let parts = parts(&bytes);
    if parts > MOST_PARTS {
        return Err(format!("a message has {parts} brackets, commas and colons, more than {MOST_PARTS}"));
    }
    serde_json::from_slice(&bytes).map(Some).map_err(|error| format!("a message makes no sense: {error}"))
}

/// The brackets, commas and colons outside of texts.
fn parts(message: &[u8]) -> usize {
    let (mut parts, mut inside, mut at) = (0, false, 0);
    while let Some(byte) = message.get(at) {
        match byte {
            b'\\' if inside => at += 1,
            b'"' => inside = !inside,
            b'{' | b'[' | b',' | b':' if !inside => parts += 1,
            _ => {}
        }
        at += 1;
    }
    parts
}

/// The length that stands before a message; none at the end.
fn size(head: &mut impl BufRead) -> Result<Option<u64>, String> {
    let (mut size, mut line, mut begun) = (None, String::new(), false);
    loop {
        line.clear();
        head.read_line(&mut line).map_err(|error| error.to_string())?;
        match line.trim_end_matches(['\r', '\n']) {
            "" if line.is_empty() && !begun => return Ok(None),
            "" if line.is_empty() => return Err("what stands before a message does not end".to_owned()),
            "" => return size.map(Some).ok_or_else(|| "a message does not say how long it is".to_owned()),
            field => size = length(field)?.or(size),
        }
        begun = true;
    }
}

/// The number in `Content-Length: 52`; none in other fields.
fn length(field: &str) -> Result<Option<u64>, String> {
    let (name, value) = field.split_once(": ").ok_or("what stands before a message is no field and value")?;
    if !name.eq_ignore_ascii_case("content-length") {
        return Ok(None);
    }
    value.parse().map(Some).map_err(|_| format!("the length of a message is no number: `{}`", shown(value)))
}

/// The beginning of a text that may be long.
fn shown(text: &str) -> String {
    text.chars().take(40).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(bytes: &str, expect: Result<&[&str], &str>) {
        let (mut from, mut methods) = (bytes.as_bytes(), Vec::new());
        let ended = loop {
            match read(&mut from) {
                Ok(Some(Message::Notification(told))) => methods.push(told.method),
                Ok(Some(other)) => panic!("{other:?}"),
                Ok(None) => break Ok(()),
                Err(why) => break Err(why),
            }
        };
        match (ended, expect) {
            (Ok(()), Ok(expect)) => assert_eq!(methods, expect),
            (Err(why), Err(part)) => assert!(why.contains(part), "{why}"),
            (ended, expect) => panic!("{ended:?} instead of {expect:?}"),
        }
    }

    #[test]
    fn messages_come_one_after_the_other() {
        check("", Ok(&[]));
        let one = "Content-Length: 14\r\n\r\n{\"method\":\"a\"}";
        let other = "Content-Type: x\r\ncontent-length: 14\r\n\r\n{\"method\":\"b\"}";
        check(&format!("{one}{other}{one}"), Ok(&["a", "b", "a"]));
    }

    #[test]
    fn parts_are_counted_outside_of_texts() {
        for (message, expect) in [
            ("", 0),
            (r#"{"a": [1, {}], "b": null}"#, 7),
            (r#""{[,:""#, 0),
            (r#"["\"[", "\\", [["#, 5),
            (r#"["\"#, 1),
        ] {
            assert_eq!(parts(message.as_bytes()), expect, "{message}");
        }
    }

    #[test]
    fn what_makes_no_sense_ends_the_session() {
        check("Content-Length: 9000000000\r\n\r\n{}", Err("message of 9000000000 bytes, more than 67108864"));
        check("Content-Length: 99999999999999999999\r\n\r\n{}", Err("is no number"));
        check("Content-Length: -1\r\n\r\n{}", Err("is no number"));
        check("Content-Length: 30\r\n\r\n{}", Err("ends after 2 of 30 bytes"));
        check("Content-Length: 2\r\n\r\n{}", Err("makes no sense"));
        check("Content-Length: 2", Err("does not end"));
        check("\r\n\r\n{}", Err("how long"));
        check("hello\r\n\r\n", Err("no field"));
        check(&"X".repeat(1 << 20), Err("no field"));
        check(&"X: 1\r\n".repeat(1 << 20), Err(""));
    }
}
