//! A server in a process of its own, and a client that is a plain connection.

use crate::folder::Folder;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStderr, Stdio};
use std::time::Duration;

/// `itp serve` on a port of its own; killed when the test is over.
pub(super) struct Serving {
    pub(super) child: Child,
    pub(super) port: u16,
    /// Kept open, so that the server can go on telling.
    _stderr: BufReader<ChildStderr>,
}

/// What came back.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) head: String,
    pub(super) body: Vec<u8>,
}

impl Serving {
    pub(super) fn start(folder: &Folder, args: &[&str]) -> Serving {
        let args = [&["serve"], args, &["--port", "0"]].concat();
        let mut child = folder.command(&args).stdout(Stdio::null()).spawn().expect("the binary runs");
        let mut stderr = BufReader::new(child.stderr.take().expect("stderr is a pipe"));
        let mut line = String::new();
        let port = loop {
            line.clear();
            assert_ne!(stderr.read_line(&mut line).expect("the server tells where it is"), 0, "it ended");
            let port = line.split("http://127.0.0.1:").nth(1).and_then(|rest| rest.split('/').next());
            if let Some(port) = port {
                break port.parse().expect("a port is a number");
            }
        };
        Serving { child, port, _stderr: stderr }
    }

    pub(super) fn get(&self, path: &str) -> Reply {
        get(self.port, path, "")
    }

    /// With more lines in the head, each ended by CR LF.
    pub(super) fn get_with(&self, path: &str, more: &str) -> Reply {
        get(self.port, path, more)
    }

    pub(super) fn json(&self, path: &str) -> serde_json::Value {
        let reply = self.get(path);
        assert_eq!(reply.status, 200, "{path}: {}", reply.text());
        serde_json::from_slice(&reply.body).expect("the answer is JSON")
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Reply {
    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The value of a header.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().skip(1).filter_map(|line| line.split_once(": "));
        let mut found = lines.filter(|(known, _)| known.eq_ignore_ascii_case(name));
        found.next().map(|(_, value)| value)
    }

    /// The elements of an npy file.
    pub(super) fn elements<T>(&self, parse: impl Fn([u8; 4]) -> T) -> Vec<T> {
        let start = 10 + usize::from(u16::from_le_bytes([self.body[8], self.body[9]]));
        self.body[start..]
            .chunks_exact(4)
            .map(|bytes| parse([bytes[0], bytes[1], bytes[2], bytes[3]]))
            .collect()
    }

    /// `(2, 3)` of an npy file.
    pub(super) fn shape(&self) -> String {
        let text = String::from_utf8_lossy(&self.body);
        let shape = text.split("'shape': ").nth(1).and_then(|rest| rest.split(", }").next());
        shape.expect("an npy file has a shape").to_owned()
    }
}

pub(super) fn get(port: u16, path: &str, more: &str) -> Reply {
    let path: String =
        path.chars().map(|c| if c == ' ' { "%20".to_owned() } else { c.to_string() }).collect();
    send(port, &format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n{more}\r\n"))
}

/// Sends these very bytes, and reads until the server closes.
pub(super) fn send(port: u16, request: &str) -> Reply {
    send_and_wait(port, request, Duration::from_secs(60))
}

/// The same, waiting so long for every part of the answer.
pub(super) fn send_and_wait(port: u16, request: &str, wait: Duration) -> Reply {
    let mut stream = connect(port);
    stream.set_read_timeout(Some(wait)).expect("sockets have timeouts");
    let mut bytes = Vec::new();
    // A server that refuses early may close or reset; what came before counts.
    let _ = stream.write_all(request.as_bytes());
    let _ = stream.read_to_end(&mut bytes);
    parse(&bytes)
}

pub(super) fn connect(port: u16) -> TcpStream {
    let stream = TcpStream::connect(("127.0.0.1", port)).expect("the server is there");
    stream.set_read_timeout(Some(Duration::from_secs(60))).expect("sockets have timeouts");
    stream
}

/// A connection that asks again and again, as browsers do; made anew when the server has closed it.
pub(super) struct Kept {
    port: u16,
    stream: TcpStream,
}

impl Kept {
    pub(super) fn connect(port: u16) -> Kept {
        Kept { port, stream: connect(port) }
    }

    /// With more lines in the head, each ended by CR LF.
    pub(super) fn get(&mut self, path: &str, more: &str) -> Reply {
        let request = format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n{more}\r\n", self.port);
        let _ = self.stream.write_all(request.as_bytes());
        let mut reply = self.reply();
        if reply.status == 0 {
            // It may have been closed since the last answer.
            self.stream = connect(self.port);
            let _ = self.stream.write_all(request.as_bytes());
            reply = self.reply();
        }
        if reply.header("connection") == Some("close") {
            self.stream = connect(self.port);
        }
        reply
    }

    /// The head, and as many bytes as it says.
    fn reply(&mut self) -> Reply {
        let (mut bytes, mut part) = (Vec::new(), [0; 1 << 14]);
        loop {
            let read = self.stream.read(&mut part).unwrap_or(0);
            bytes.extend_from_slice(&part[..read]);
            let reply = parse(&bytes);
            let wanted = reply.header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
            let headed = bytes.windows(4).any(|four| four == b"\r\n\r\n");
            if read == 0 || headed && (reply.status == 304 || reply.body.len() >= wanted) {
                return reply;
            }
        }
    }
}

fn parse(bytes: &[u8]) -> Reply {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").unwrap_or(bytes.len());
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let status = head.split(' ').nth(1).and_then(|word| word.parse().ok()).unwrap_or(0);
    Reply { status, head, body: bytes.get(end + 4..).unwrap_or_default().to_vec() }
}
