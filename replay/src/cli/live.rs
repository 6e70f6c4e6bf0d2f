//! Pages from a server on this machine, while what they show goes on.
//!
//! It listens on the loopback interface alone, and answers only what is asked of it by that
//! interface's names: a web page elsewhere whose name was made to point here
//! ([DNS rebinding](https://en.wikipedia.org/wiki/DNS_rebinding)) is refused, and so is what
//! another page asks for, so that no site can read what is being looked at.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};

use super::CliError;

/// Time after which pages read again what they show.
pub(super) const FRESH: Duration = Duration::from_secs(1);

/// Pages that change while they are looked at.
pub(super) trait LivePages: Send + 'static {
    /// Returns the media type and the contents of the page or file at a path, or nothing if there
    /// is none; `index.html` is the first page.
    ///
    /// # Errors
    /// What it shows can't be read.
    fn contents(&mut self, path: &str) -> Result<Option<(&'static str, Body)>, CliError>;
}

/// State that all requests share.
#[derive(Clone)]
struct Served {
    pages: Arc<Mutex<dyn LivePages>>,
    address: SocketAddr,
}

/// Serves pages until the program is ended, and prints where.
///
/// # Errors
/// This machine lets no port be opened.
pub(super) fn serve(pages: impl LivePages) -> Result<(), CliError> {
    let refused = |error: std::io::Error| {
        CliError::Refused(format!("no port of 127.0.0.1 can be listened on: {error}"))
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(refused)?;
    runtime.block_on(async {
        // Port 0 lets the system choose a free one; only this machine can connect.
        let listener = tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .await
            .map_err(refused)?;
        let address = listener.local_addr().map_err(refused)?;
        let served = Served {
            pages: Arc::new(Mutex::new(pages)),
            address,
        };
        outln!("http://{address}/");
        let router = Router::new().fallback(answer).with_state(served);
        let until = async {
            // Without signals the program ends as any program does.
            if tokio::signal::ctrl_c().await.is_err() {
                std::future::pending::<()>().await;
            }
        };
        tokio::select! {
            served = axum::serve(listener, router) => served.map_err(refused),
            () = until => Ok(()),
        }
    })
}

async fn answer(State(served): State<Served>, request: Request) -> Response {
    let mut response = match refusal(served.address, request.method(), request.headers()) {
        Some((status, reason)) => (status, reason).into_response(),
        None => {
            let path = request.uri().path().trim_start_matches('/').to_owned();
            // Reading takes a while, and must not hold up what is answered at once.
            let found = tokio::task::spawn_blocking(move || {
                let path = if path.is_empty() { "index.html" } else { &path };
                // A request that panicked leaves pages that are still readable.
                let mut pages = served.pages.lock().unwrap_or_else(PoisonError::into_inner);
                pages.contents(path)
            });
            let found = found.await;
            match found {
                Ok(Ok(Some((media_type, contents)))) => {
                    ([(header::CONTENT_TYPE, media_type)], contents).into_response()
                }
                Ok(Ok(None)) => (StatusCode::NOT_FOUND, "there is no such page\n").into_response(),
                Ok(Err(error)) => {
                    (StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")).into_response()
                }
                Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
            }
        }
    };
    for (name, value) in [
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::REFERRER_POLICY, "no-referrer"),
        // The data are scripts, which any page might name as its own.
        (
            header::HeaderName::from_static("cross-origin-resource-policy"),
            "same-origin",
        ),
    ] {
        let value = HeaderValue::from_static(value);
        response.headers_mut().insert(name, value);
    }
    response
}

/// Reason for which a request is not answered, if it is not.
fn refusal(
    address: SocketAddr,
    method: &Method,
    headers: &HeaderMap,
) -> Option<(StatusCode, &'static str)> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    // A page of another site whose name resolves to 127.0.0.1 sends its own name (DNS rebinding).
    let host = text("host").unwrap_or_default();
    let ours = [address.to_string(), format!("localhost:{}", address.port())];
    if !ours.iter().any(|name| name.eq_ignore_ascii_case(host)) {
        let reason = "this server answers only to the address that fillrate printed\n";
        return Some((StatusCode::MISDIRECTED_REQUEST, reason));
    }
    if method != Method::GET && method != Method::HEAD {
        let reason = "this server only shows pages\n";
        return Some((StatusCode::METHOD_NOT_ALLOWED, reason));
    }
    // Of what browsers say of themselves: https://www.w3.org/TR/fetch-metadata/. A link from
    // elsewhere may be followed, but what another site's page asks for itself is refused.
    let elsewhere =
        text("sec-fetch-site").is_some_and(|site| !["same-origin", "none"].contains(&site));
    if elsewhere && text("sec-fetch-mode") != Some("navigate") {
        let reason = "this server answers only its own pages\n";
        return Some((StatusCode::FORBIDDEN, reason));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(method: &Method, headers: &[(&'static str, &str)]) -> Option<u16> {
        let headers = headers.iter().map(|(name, value)| {
            let value = HeaderValue::from_str(value).expect("it is a header's value");
            (header::HeaderName::from_static(name), value)
        });
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 4711));
        refusal(address, method, &headers.collect()).map(|(status, _)| status.as_u16())
    }

    #[test]
    fn only_the_printed_address_is_answered() {
        let status_of = |host| status(&Method::GET, &[("host", host)]);
        assert_eq!(status_of("127.0.0.1:4711"), None);
        assert_eq!(status_of("LocalHost:4711"), None);
        for host in [
            "127.0.0.1",
            "127.0.0.1:80",
            "localhost.example:4711",
            "evil.example:4711",
            "",
        ] {
            assert_eq!(status_of(host), Some(421), "{host}");
        }
        assert_eq!(status(&Method::GET, &[]), Some(421));
    }

    #[test]
    fn what_another_site_asks_for_is_refused() {
        let status = |site, mode| {
            let host = ("host", "127.0.0.1:4711");
            status(
                &Method::GET,
                &[host, ("sec-fetch-site", site), ("sec-fetch-mode", mode)],
            )
        };
        assert_eq!(status("same-origin", "no-cors"), None);
        assert_eq!(status("none", "navigate"), None);
        assert_eq!(status("cross-site", "navigate"), None);
        assert_eq!(status("cross-site", "no-cors"), Some(403));
        assert_eq!(status("same-site", "cors"), Some(403));
    }

    #[test]
    fn nothing_can_be_changed() {
        let host = [("host", "127.0.0.1:4711")];
        assert_eq!(status(&Method::HEAD, &host), None);
        assert_eq!(status(&Method::POST, &host), Some(405));
    }
}
