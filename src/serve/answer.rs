//! What goes back: bytes with their kind and tag, or a refusal with its reason.
//!
//! ```text
//! 200  image/png, "6f1c…-9a0b…"        a tile
//! 304                                  the client has it already
//! 413  text/plain: error[E1005]: …     the plan needs more memory than a request may have
//! ```

use super::pool::Failed;
use crate::diagnostic::Code;
use crate::engine::Error;
use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::Value;
use std::fmt::Display;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Room for answers is given out in pieces of this many bytes.
pub(super) const PIECE: usize = 1 << 16;
/// All answers on their way together: 512 MiB.
pub(super) const PIECES: usize = 8192;

/// The media types that are sent.
pub(super) const PNG: &str = "image/png";
pub(super) const BYTES: &str = "application/octet-stream";
pub(super) const JSON: &str = "application/json";

/// Where the first element of a tile lies that its layer ends in.
pub(super) const ORIGIN: HeaderName = HeaderName::from_static("itp-origin");

/// How many times as much a tile computes by itself as it would with its neighbours.
pub(super) const ALONE: HeaderName = HeaderName::from_static("itp-alone");

/// A result that can be sent.
pub(super) struct Answer {
    pub(super) kind: &'static str,
    pub(super) bytes: Bytes,
    /// More headers.
    pub(super) headers: HeaderMap,
}

/// Why there is none.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) status: StatusCode,
    pub(super) reason: String,
}

pub(super) type Answered = Result<Answer, Refusal>;

impl Answer {
    pub(super) fn new(kind: &'static str, bytes: impl Into<Bytes>) -> Answer {
        Answer { kind, bytes: bytes.into(), headers: HeaderMap::new() }
    }

    pub(super) fn json(value: &Value) -> Answer {
        Answer::new(JSON, value.to_string())
    }

    /// The same with a header more; what is not fit for one is left out.
    pub(super) fn with(mut self, name: HeaderName, value: &str) -> Answer {
        if let Ok(value) = HeaderValue::from_str(value) {
            self.headers.insert(name, value);
        }
        self
    }
}

impl IntoResponse for Answer {
    fn into_response(self) -> Response {
        let mut response = Response::new(Body::from(self.bytes));
        *response.headers_mut() = self.headers;
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(self.kind));
        response
    }
}

/// A refusal of what is asked for.
pub(super) fn refuse(status: StatusCode, reason: impl Display) -> Refusal {
    Refusal { status, reason: reason.to_string() }
}

/// A request that makes no sense.
pub(super) fn wrong(reason: impl Display) -> Refusal {
    refuse(StatusCode::BAD_REQUEST, reason)
}

/// Something that is not there.
pub(super) fn missing(reason: impl Display) -> Refusal {
    refuse(StatusCode::NOT_FOUND, reason)
}

/// There is no room at the moment.
pub(super) fn busy(reason: impl Display) -> Refusal {
    refuse(StatusCode::SERVICE_UNAVAILABLE, reason)
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Refusal {
        let status = match error.code() {
            Some(Code::E1005 | Code::E1007) => StatusCode::PAYLOAD_TOO_LARGE,
            Some(Code::E1006) => StatusCode::SERVICE_UNAVAILABLE,
            Some(_) | None => StatusCode::UNPROCESSABLE_ENTITY,
        };
        refuse(status, error)
    }
}

impl From<Failed> for Refusal {
    fn from(failed: Failed) -> Refusal {
        busy(match failed {
            Failed::Full => "too many requests wait already",
            Failed::Late => "it took too long; ask for less",
            Failed::Lost => "the work was lost",
        })
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let mut response = (self.status, self.reason + "\n").into_response();
        if self.status == StatusCode::SERVICE_UNAVAILABLE {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        response
    }
}

/// Bytes that count as on their way until they are sent or dropped.
struct Counted {
    bytes: Vec<u8>,
    _permit: OwnedSemaphorePermit,
}

impl AsRef<[u8]> for Counted {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// A place among the answers on their way for that many bytes, or a refusal.
pub(super) fn room_for(room: &Arc<Semaphore>, bytes: usize) -> Result<OwnedSemaphorePermit, Refusal> {
    let pieces = u32::try_from(bytes.div_ceil(PIECE).max(1)).unwrap_or(u32::MAX);
    if pieces as usize > PIECES {
        let limit = PIECE * PIECES;
        return Err(refuse(
            StatusCode::PAYLOAD_TOO_LARGE,
            format!("that is {bytes} bytes, at most {limit} are sent"),
        ));
    }
    let permit = room.clone().try_acquire_many_owned(pieces);
    permit.map_err(|_| busy("too many answers are on their way already"))
}

/// Bytes whose place is free again once they are sent.
pub(super) fn counted(bytes: Vec<u8>, permit: OwnedSemaphorePermit) -> Bytes {
    Bytes::from_owner(Counted { bytes, _permit: permit })
}

/// The tag of what an address gives for an edition of the script.
pub(super) fn tag(digest: u64, address: &str) -> String {
    let mut hasher = DefaultHasher::new();
    address.hash(&mut hasher);
    format!("\"{digest:016x}-{:016x}\"", hasher.finish())
}

/// Whether a client says that it has what carries this tag.
pub(super) fn has(headers: &HeaderMap, tag: &str) -> bool {
    let known = headers.get(header::IF_NONE_MATCH).and_then(|value| value.to_str().ok());
    known.is_some_and(|known| known.split(',').any(|one| matches!(one.trim(), "*") || one.trim() == tag))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_tell_addresses_and_editions_apart() {
        assert_eq!(tag(1, "/a"), tag(1, "/a"));
        assert_ne!(tag(1, "/a"), tag(2, "/a"));
        assert_ne!(tag(1, "/a"), tag(1, "/b"));
        let mut headers = HeaderMap::new();
        assert!(!has(&headers, "\"x\""));
        headers.insert(header::IF_NONE_MATCH, HeaderValue::from_static("\"w\", \"x\""));
        assert!(has(&headers, "\"x\"") && !has(&headers, "\"y\""));
    }

    #[test]
    fn room_is_given_back_with_the_bytes() {
        let room = Arc::new(Semaphore::new(2));
        let first = counted(vec![0; PIECE + 1], room_for(&room, PIECE + 1).unwrap());
        assert_eq!(room_for(&room, 1).map(drop).unwrap_err().status, StatusCode::SERVICE_UNAVAILABLE);
        drop(first.slice(1..2));
        assert!(room_for(&room, 1).is_err());
        drop(first);
        assert!(room_for(&room, PIECE).is_ok());
        assert_eq!(room_for(&room, usize::MAX).map(drop).unwrap_err().status, StatusCode::PAYLOAD_TOO_LARGE);
    }
}
