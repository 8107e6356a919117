//! Requests that do not come from this machine's own page or programs -> refusals.
//!
//! ```text
//! Host: evil.example          403    a name that was pointed at 127.0.0.1 (DNS rebinding)
//! Origin: http://evil.example 403    a script of another page
//! Sec-Fetch-Site: cross-site  403    an image or a frame of another page
//! ```

use super::answer::refuse;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

/// The page may load its own files and nothing else, and nobody may frame it.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; \
    img-src 'self' data: blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Headers of every answer.
const HEADERS: [(HeaderName, &str); 5] = [
    (header::CONTENT_SECURITY_POLICY, POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
];

/// Lets through what may be answered, and marks what is.
pub(super) async fn guard(port: u16, request: Request, next: Next) -> Response {
    let mut response = match refusal(port, request.method(), request.headers()) {
        Some((status, reason)) => refuse(status, reason).into_response(),
        None => next.run(request).await,
    };
    for (name, value) in HEADERS {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

/// Why a request is not answered, if it is not.
fn refusal(port: u16, method: &Method, headers: &HeaderMap) -> Option<(StatusCode, &'static str)> {
    let forbidden = |reason| Some((StatusCode::FORBIDDEN, reason));
    if !one_host(headers).is_some_and(|host| is_here(host, port)) {
        return forbidden("this server answers to 127.0.0.1 and localhost only");
    }
    if let Some(origin) = headers.get(header::ORIGIN) {
        let origin = origin.to_str().ok().and_then(|origin| origin.strip_prefix("http://"));
        if !origin.is_some_and(|host| is_here(host, port)) {
            return forbidden("this server answers to its own page only");
        }
    }
    let word = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let followed = word("sec-fetch-mode") == Some("navigate") && word("sec-fetch-dest") == Some("document");
    if let Some(site) = word("sec-fetch-site")
        && !["same-origin", "none"].contains(&site)
        && !followed
    {
        return forbidden("this server answers to its own page only");
    }
    if !matches!(*method, Method::GET | Method::HEAD) {
        return Some((StatusCode::METHOD_NOT_ALLOWED, "this server is for reading: GET and HEAD"));
    }
    None
}

/// The `Host`, if there is exactly one.
fn one_host(headers: &HeaderMap) -> Option<&str> {
    let mut hosts = headers.get_all(header::HOST).iter();
    let host = hosts.next()?.to_str().ok()?;
    hosts.next().is_none().then_some(host)
}

/// Whether `host:port` is this machine and this server.
fn is_here(host: &str, port: u16) -> bool {
    let (name, said) = match host.rsplit_once(':') {
        Some((name, digits)) if !digits.ends_with(']') => (name, digits.parse().ok()),
        Some(_) | None => (host, Some(80)),
    };
    said == Some(port) && (name == "127.0.0.1" || name.eq_ignore_ascii_case("localhost"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_is_here() {
        let check = |host: &str, expect: bool| assert_eq!(is_here(host, 8017), expect, "{host}");
        check("127.0.0.1:8017", true);
        check("localhost:8017", true);
        check("LocalHost:8017", true);
        check("127.0.0.1:8018", false);
        check("127.0.0.1", false);
        check("localhost.evil.example:8017", false);
        check("evil.example:8017", false);
        check("127.0.0.1:8017:8017", false);
        check("[::1]:8017", false);
        check("", false);
        assert!(is_here("localhost", 80));
    }

    #[test]
    fn other_pages_are_refused() {
        let check = |pairs: &[(&'static str, &'static str)], expect: Option<u16>| {
            let mut headers = HeaderMap::new();
            for (name, value) in pairs {
                headers.append(HeaderName::from_static(name), HeaderValue::from_static(value));
            }
            let status = refusal(8017, &Method::GET, &headers).map(|(status, _)| status.as_u16());
            assert_eq!(status, expect, "{pairs:?}");
        };
        let host = ("host", "127.0.0.1:8017");
        check(&[host], None);
        check(&[], Some(403));
        check(&[host, ("host", "evil.example")], Some(403));
        check(&[host, ("origin", "http://127.0.0.1:8017")], None);
        check(&[host, ("origin", "http://localhost:8017")], None);
        check(&[host, ("origin", "https://127.0.0.1:8017")], Some(403));
        check(&[host, ("origin", "http://127.0.0.1:9000")], Some(403));
        check(&[host, ("origin", "null")], Some(403));
        check(&[host, ("sec-fetch-site", "same-origin")], None);
        check(&[host, ("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "no-cors")], Some(403));
        let link = [("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate")];
        check(&[host, link[0], link[1], ("sec-fetch-dest", "document")], None);
        check(&[host, link[0], link[1], ("sec-fetch-dest", "iframe")], Some(403));
    }
}
