//! The language server: messages of an editor on stdin -> answers on stdout.
//!
//! ```text
//! -> textDocument/hover at `smooth`
//! <- tensor smooth: f32[y: inf, x: inf] · reads `height`: window 5×5 · tile 128×4096, 2.1 MB
//! ```
//!
//! - [`documents`] holds the open texts, [`analysis`] what is known about each, [`occurrences`] what every name means;
//! - [`hover`], [`completion`], [`fixes`], [`rename`] and [`symbols`] make answers of that;
//! - [`server`] says which answer belongs to which request, [`places`] counts as the protocol does, [`wire`] reads and writes.
//!
//! One thread does the work. All that has arrived is looked at before the next answer is made, so that a request
//! which was cancelled meanwhile is not worked on, and a text that is being typed is compiled once, not per key.

mod analysis;
mod completion;
mod documents;
mod fixes;
mod hover;
mod occurrences;
mod places;
mod rename;
mod server;
mod symbols;
mod wire;

use lsp_server::{Connection, ErrorCode, Message, Notification, Request, RequestId, Response};
use serde_json::Value;
use server::Server;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

/// How a session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The editor said goodbye.
    Properly,
    /// The editor went away.
    Abruptly,
}

/// A module of the standard library and its text -> a file that an editor can show: its texts are in the binary.
pub type Library = fn(&str, &str) -> Option<PathBuf>;

/// Serves an editor on stdin and stdout until it goes.
pub fn serve(library: Library) -> Result<Ended, String> {
    let talk = |error: String| format!("cannot talk to the editor: {error}");
    let (connection, threads) = wire::connect().map_err(|error| talk(error.to_string()))?;
    let begun = connection.initialize(server::capabilities());
    let ended = begun.map(|_| listen(&connection, Server::new(library)));
    drop(connection);
    threads.join().map_err(talk)?;
    ended.map_err(|error| format!("the editor did not introduce itself: {error}"))
}

/// Answers messages until the editor says `exit` or goes away.
fn listen(connection: &Connection, mut server: Server) -> Ended {
    let (mut queue, mut goodbye) = (VecDeque::new(), false);
    // Messages pile up there while an answer is made.
    let messages = &connection.receiver;
    loop {
        if queue.is_empty() {
            server.tell_all().into_iter().for_each(|told| send(connection, Message::Notification(told)));
            match messages.recv() {
                Ok(message) => arrive(connection, &mut queue, message),
                Err(_) => return Ended::Abruptly,
            }
        }
        while let Ok(message) = messages.try_recv() {
            arrive(connection, &mut queue, message);
        }
        match queue.pop_front() {
            Some(Message::Request(request)) if request.method == "shutdown" => {
                goodbye = true;
                send(connection, Message::Response(Response::new_ok(request.id, Value::Null)));
            }
            Some(Message::Request(request)) => {
                send(connection, Message::Response(answer(&mut server, request)));
            }
            Some(Message::Notification(told)) if told.method == "exit" => {
                return if goodbye { Ended::Properly } else { Ended::Abruptly };
            }
            Some(Message::Notification(told)) => note(&mut server, told),
            Some(Message::Response(_)) | None => {}
        }
    }
}

fn send(connection: &Connection, message: Message) {
    // An editor that has gone away is noticed when the next message is waited for.
    let _ = connection.sender.send(message);
}

/// Puts a message into the queue; a cancellation takes one out.
fn arrive(connection: &Connection, queue: &mut VecDeque<Message>, message: Message) {
    let cancelled = match &message {
        Message::Notification(told) if told.method == "$/cancelRequest" => cancelled_id(&told.params),
        _ => {
            queue.push_back(message);
            return;
        }
    };
    let waits = |waiting: &Message| matches!(waiting, Message::Request(request) if Some(&request.id) == cancelled.as_ref());
    if let (Some(at), Some(id)) = (queue.iter().position(waits), cancelled.clone()) {
        queue.remove(at);
        let response = Response::new_err(id, ErrorCode::RequestCanceled as i32, "cancelled".to_owned());
        send(connection, Message::Response(response));
    }
}

fn cancelled_id(params: &Value) -> Option<RequestId> {
    match &params["id"] {
        Value::Number(number) => Some(RequestId::from(i32::try_from(number.as_i64()?).ok()?)),
        Value::String(text) => Some(RequestId::from(text.clone())),
        _ => None,
    }
}

/// The answer to a request. A mistake of ours ends one answer, not the session.
fn answer(server: &mut Server, request: Request) -> Response {
    let id = request.id.clone();
    let made = catch_unwind(AssertUnwindSafe(|| server.answer(request)));
    made.unwrap_or_else(|_| {
        Response::new_err(id, ErrorCode::InternalError as i32, "internal error, please report".to_owned())
    })
}

fn note(server: &mut Server, told: Notification) {
    let _ = catch_unwind(AssertUnwindSafe(|| server.note(told)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_cancellation_takes_the_request_out_of_the_queue() {
        let (here, editor) = Connection::memory();
        let ask = |id: i32| {
            Message::Request(Request::new(RequestId::from(id), "textDocument/hover".to_owned(), json!({})))
        };
        let cancel = Notification::new("$/cancelRequest".to_owned(), json!({ "id": 2 }));
        let mut queue = VecDeque::new();
        // The last one cancels what is not there any more.
        for message in
            [ask(1), ask(2), Message::Notification(cancel.clone()), ask(3), Message::Notification(cancel)]
        {
            arrive(&here, &mut queue, message);
        }
        let left: Vec<_> = queue.iter().map(|message| matches!(message, Message::Request(_))).collect();
        assert_eq!(left, [true, true]);
        let Ok(Message::Response(response)) = editor.receiver.recv() else { panic!("no response") };
        assert_eq!((response.id, response.error.map(|error| error.code)), (RequestId::from(2), Some(-32800)));
        assert!(editor.receiver.try_recv().is_err());
    }
}
