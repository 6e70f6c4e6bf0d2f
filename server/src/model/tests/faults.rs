//! Faults of a server, for every protocol.

use std::time::Duration;

use futures::future::join_all;

use super::exchanges::{exchange, protocols};
use super::server::{Script, Then};
use super::*;

/// Every protocol, streamed and not.
fn cases() -> impl Iterator<Item = (Protocol, bool)> {
    protocols().flat_map(|protocol| [(protocol, true), (protocol, false)])
}

/// Settings of a case.
fn case_settings(protocol: Protocol, stream: bool, server: &Server) -> ModelSettings {
    ModelSettings {
        stream,
        ..settings(protocol, &server.url)
    }
}

fn good(protocol: Protocol, stream: bool) -> Script {
    exchange(protocol)
        .expect("it goes over HTTP")
        .script(stream)
}

/// The beginning of a successful response, up to and including its first text.
fn beginning(protocol: Protocol, stream: bool) -> Vec<u8> {
    let exchange = exchange(protocol).expect("it goes over HTTP");
    if stream {
        exchange.streamed[0].clone().into_bytes()
    } else {
        let half = exchange.whole.len() / 2;
        exchange.whole.as_bytes()[..half].to_vec()
    }
}

#[tokio::test]
async fn successful_response_is_parsed_in_both_forms() {
    for (protocol, stream) in cases() {
        let server = Server::start(vec![good(protocol, stream)]).await;
        let settings = case_settings(protocol, stream, &server);
        let answer = completes(&settings, &UnlimitedListener).await;
        assert_eq!(
            texts(&answer),
            [("ab", Finish::Stop)],
            "{protocol} {stream}"
        );
        // The trace shows the prompt that was sent.
        let body = &server.bodies()[0];
        let shown = serde_json::from_str(&answer.prompt).ok();
        assert!(
            body["prompt"] == answer.prompt
                || body["inputs"] == answer.prompt
                || shown.as_ref() == Some(body),
            "{protocol}: {}",
            answer.prompt
        );
    }
}

#[tokio::test]
async fn response_in_the_other_form_is_parsed() {
    for (protocol, stream) in cases() {
        let server = Server::start(vec![good(protocol, !stream)]).await;
        let settings = case_settings(protocol, stream, &server);
        let answer = completes(&settings, &UnlimitedListener).await;
        assert_eq!(
            texts(&answer),
            [("ab", Finish::Stop)],
            "{protocol} {stream}"
        );
    }
}

#[tokio::test]
async fn faults_are_classified() {
    let kinds = join_all(cases().map(|(protocol, stream)| async move {
        let long = format!("bad key {KEY} {}", "x".repeat(1000));
        let begun = beginning(protocol, stream);
        let scripts = vec![
            Script::ModelOutput("401 Unauthorized", "", long.clone().into_bytes()),
            Script::ModelOutput("307 Temporary Redirect", "location: /\r\n", Vec::new()),
            Script::HangUp,
            whole("<html>"),
            whole("{\"surprise\": 1}"),
            whole("\"text\""),
            whole(""),
            Script::Pieces(vec![begun.clone()], Then::HangUp),
            Script::Pieces(vec![begun], Then::End),
            Script::Pieces(
                vec![
                    beginning(protocol, true),
                    (exchange(protocol).expect("it goes over HTTP").error)(&long).into_bytes(),
                ],
                Then::End,
            ),
        ];
        let count = scripts.len();
        let server = Server::start(scripts).await;
        let settings = case_settings(protocol, stream, &server);
        let mut kinds = Vec::new();
        for _ in 0..count {
            let error = fails(&settings).await;
            assert!(error.to_string().chars().count() < 400, "{error}");
            kinds.push(match error {
                ModelError::Status { status, body, .. } => {
                    format!(
                        "status {status}: {}",
                        body.chars().take(18).collect::<String>()
                    )
                }
                ModelError::Unreachable { .. } => "unreachable".to_owned(),
                ModelError::Malformed { .. } => "malformed".to_owned(),
                ModelError::Failed(reason) => {
                    let (_, reason) = reason.split_once(" says: ").expect("who says it");
                    format!("failed: {}", reason.chars().take(18).collect::<String>())
                }
                other => format!("{other:?}"),
            });
        }
        (protocol, stream, kinds)
    }))
    .await;
    for (protocol, stream, kinds) in kinds {
        assert_eq!(
            kinds,
            [
                "status 401: bad key [key] xxxx",
                "status 307: it redirects to ht",
                "unreachable",
                "malformed",
                "malformed",
                "malformed",
                "malformed",
                "malformed",
                "malformed",
                "failed: bad key [key] xxxx",
            ],
            "{protocol}, stream {stream}"
        );
    }
}

#[tokio::test]
async fn slow_server_times_out() {
    join_all(cases().map(|(protocol, stream)| async move {
        let mut server = Server::start(vec![
            Script::Pieces(Vec::new(), Then::Silence),
            Script::Pieces(vec![beginning(protocol, stream)], Then::Silence),
        ])
        .await;
        let settings = ModelSettings {
            timeout_ms: 2000,
            ..case_settings(protocol, stream, &server)
        };
        for _ in 0..2 {
            let error = fails(&settings).await;
            assert!(
                matches!(error, ModelError::Timeout(_)),
                "{protocol} {stream}: {error}"
            );
            server.hung_up().await;
        }
    }))
    .await;
}

#[tokio::test]
async fn temporary_fault_is_retried() {
    let busy = |status, headers| Script::ModelOutput(status, headers, b"busy".to_vec());
    join_all(cases().map(|(protocol, stream)| async move {
        let server = Server::start(vec![
            busy("429 Too Many Requests", "retry-after: 0\r\n"),
            busy("503 Service Unavailable", ""),
            Script::HangUp,
            good(protocol, stream),
        ])
        .await;
        let settings = ModelSettings {
            retries: 3,
            ..case_settings(protocol, stream, &server)
        };
        let answer = completes(&settings, &UnlimitedListener).await;
        assert_eq!(
            texts(&answer),
            [("ab", Finish::Stop)],
            "{protocol} {stream}"
        );
        let bodies = server.bodies();
        assert_eq!(bodies.len(), 4);
        assert_eq!(bodies[0], bodies[3], "the retry is the same request");
        assert!(answer.is_delayed, "{protocol} {stream}");
    }))
    .await;
}

#[tokio::test]
async fn permanent_fault_is_reported() {
    let busy = Script::ModelOutput("503 Service Unavailable", "", KEY.as_bytes().to_vec());
    join_all(cases().map(|(protocol, stream)| {
        let busy = busy.clone();
        async move {
            let server = Server::start(vec![busy; 5]).await;
            let settings = ModelSettings {
                retries: 1,
                ..case_settings(protocol, stream, &server)
            };
            let error = fails(&settings).await;
            assert!(
                matches!(error, ModelError::Status { status: 503, .. }),
                "{protocol} {stream}: {error}"
            );
            assert_eq!(server.requests().len(), 2, "{protocol} {stream}");
        }
    }))
    .await;
}

#[tokio::test]
async fn retry_after_beyond_the_timeout_fails_at_once() {
    let hour = "retry-after: 3600\r\n";
    let server = Server::start(vec![Script::ModelOutput("429 Wait", hour, Vec::new())]).await;
    let settings = ModelSettings {
        retries: 2,
        ..settings(Protocol::OpenAiChat, &server.url)
    };
    let error = fails(&settings).await;
    assert!(
        matches!(error, ModelError::Status { status: 429, .. }),
        "{error}"
    );
    assert_eq!(error.retry_after(), Some(Duration::from_secs(3600)));
}

#[tokio::test]
async fn streamed_text_is_not_requested_again() {
    for protocol in protocols() {
        let server = Server::start(vec![
            Script::Pieces(vec![beginning(protocol, true)], Then::HangUp),
            good(protocol, true),
        ])
        .await;
        let settings = ModelSettings {
            retries: 2,
            ..case_settings(protocol, true, &server)
        };
        let error = fails(&settings).await;
        assert!(matches!(error, ModelError::Malformed { .. }), "{error}");
        assert_eq!(server.requests().len(), 1);
    }
}

#[tokio::test]
async fn refused_connection_is_retried() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
        .await
        .expect("a free port");
    let url = format!("http://{}", listener.local_addr().expect("it is bound"));
    drop(listener);
    let refused = ModelSettings {
        retries: 1,
        ..settings(Protocol::LlamaCompletion, &url)
    };
    let error = fails(&refused).await;
    assert!(matches!(error, ModelError::Unreachable { .. }), "{error}");
    // The pauses are 250 ms and 500 ms, minus at most half of each.
    let patient = ModelSettings {
        retries: 3,
        ..refused
    };
    let starts = async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        let address = url.strip_prefix("http://").expect("it was put there");
        Server::start_at(address, vec![good(Protocol::LlamaCompletion, false)]).await
    };
    let (answer, _server) = tokio::join!(completes(&patient, &UnlimitedListener), starts);
    assert_eq!(texts(&answer), [("ab", Finish::Stop)]);
}

#[tokio::test]
async fn invalid_utf8_is_replaced() {
    for (protocol, stream) in cases() {
        let exchange = exchange(protocol).expect("it goes over HTTP");
        // Replaces "b" by the beginning of a four-byte character without its end.
        let broken = |text: &str, at: usize| {
            let bytes = text.as_bytes();
            [&bytes[..at], b"\xf0\x9f", &bytes[at + 1..]].concat()
        };
        let script = if stream {
            let [first, second, last] = exchange.streamed;
            let at = second.find("\"b\"").expect("its text") + 1;
            let pieces = vec![first.into(), broken(&second, at), last.into()];
            Script::Pieces(pieces, Then::End)
        } else {
            let at = exchange.whole.find("\"ab\"").expect("its text") + 2;
            Script::ModelOutput("200 OK", "", broken(&exchange.whole, at))
        };
        let server = Server::start(vec![script]).await;
        let answer = completes(
            &case_settings(protocol, stream, &server),
            &UnlimitedListener,
        )
        .await;
        assert_eq!(
            texts(&answer),
            [("a\u{fffd}", Finish::Stop)],
            "{protocol} {stream}"
        );
    }
}

#[tokio::test]
async fn character_split_across_packets_is_joined() {
    for protocol in protocols() {
        let exchange = exchange(protocol).expect("it goes over HTTP");
        let all = exchange.streamed.concat().replace("\"b\"", "\"😀\"");
        let at = all.find('😀').expect("it was put there") + 2;
        let (first, second) = all.as_bytes().split_at(at);
        let server = Server::start(vec![Script::Pieces(
            vec![first.to_vec(), second.to_vec()],
            Then::End,
        )])
        .await;
        let answer = completes(&case_settings(protocol, true, &server), &UnlimitedListener).await;
        assert_eq!(texts(&answer), [("a😀", Finish::Stop)], "{protocol}");
    }
}

#[tokio::test]
async fn endless_response_is_cut_off() {
    let server = Server::start(vec![
        Script::ModelOutput("200 OK", "", vec![b' '; 9 << 20]),
        Script::ModelOutput("500 Oops", "", vec![b'x'; 9 << 20]),
    ])
    .await;
    let settings = settings(Protocol::LlamaInfill, &server.url);
    let error = fails(&settings).await;
    assert!(
        error
            .to_string()
            .starts_with("the answer can't be read: it is longer than 8 MiB (http://"),
        "{error}"
    );
    let error = fails(&settings).await;
    assert!(
        error
            .to_string()
            .contains("answered 500: (more than 8 MiB) (http://"),
        "{error}"
    );
}

#[tokio::test]
async fn key_at_the_cut_of_a_shortened_error_is_redacted() {
    // The key begins before the 300th character and ends after it.
    let body = format!("{}{KEY}", "x ".repeat(146));
    let server = Server::start(vec![Script::ModelOutput("500 Oops", "", body.into_bytes())]).await;
    let error = fails(&settings(Protocol::LlamaInfill, &server.url)).await;
    assert!(!error.to_string().contains("sk-"), "{error}");
}
