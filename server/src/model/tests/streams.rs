//! Streamed text as a listener receives it, and early ends.

use serde_json::json;

use super::exchanges::{DONE, event, exchange, protocols};
use super::server::{Script, Then, streamed};
use super::*;

/// Settings for two candidates, streamed.
fn two(protocol: Protocol, url: &str) -> ModelSettings {
    ModelSettings {
        candidates: 2,
        temperature: 0.5,
        stream: true,
        ..settings(protocol, url)
    }
}

fn choice(index: usize, text: &str, finish: Option<&str>) -> String {
    event(&json!({ "choices": [{ "index": index, "text": text, "finish_reason": finish }] }))
}

#[tokio::test]
async fn stream_arrives_in_pieces_and_whole_response_once() {
    for protocol in protocols() {
        let exchange = exchange(protocol).expect("it goes over HTTP");
        let server = Server::start(vec![exchange.script(true), exchange.script(false)]).await;
        let mut settings = ModelSettings {
            stream: true,
            ..settings(protocol, &server.url)
        };
        let notes = Notes::of_all();
        completes(&settings, &notes).await;
        assert_eq!(
            notes.receive(),
            [(0, "a".to_owned()), (0, "ab".to_owned())],
            "{protocol}"
        );
        settings.stream = false;
        let notes = Notes::of_all();
        completes(&settings, &notes).await;
        assert_eq!(notes.receive(), [(0, "ab".to_owned())], "{protocol}");
    }
}

#[tokio::test]
async fn break_of_the_listener_ends_the_exchange() {
    for protocol in protocols() {
        let exchange = exchange(protocol).expect("it goes over HTTP");
        let first = exchange.streamed[0].clone().into_bytes();
        let mut server = Server::start(vec![Script::Pieces(vec![first], Then::Silence)]).await;
        let settings = ModelSettings {
            stream: true,
            ..settings(protocol, &server.url)
        };
        let answer = completes(&settings, &Notes::until("a")).await;
        assert_eq!(texts(&answer), [("a", Finish::Enough)], "{protocol}");
        server.hung_up().await;
    }
}

#[tokio::test]
async fn a_dropped_request_ends_the_exchange() {
    for protocol in protocols() {
        let exchange = exchange(protocol).expect("it goes over HTTP");
        let first = exchange.streamed[0].clone().into_bytes();
        let mut server = Server::start(vec![Script::Pieces(vec![first], Then::Silence)]).await;
        let settings = ModelSettings {
            stream: true,
            ..settings(protocol, &server.url)
        };
        let notes = Arc::new(Notes::of_all());
        let streamed = Arc::clone(&notes);
        let completing = tokio::spawn(async move { completes(&settings, &*streamed).await });
        while notes.receive().is_empty() {
            tokio::task::yield_now().await;
        }
        completing.abort();
        server.hung_up().await;
    }
}

#[tokio::test]
async fn stop_is_not_passed_to_the_listener() {
    let server = Server::start(vec![streamed(&[
        choice(1, "ab", None),
        choice(0, "x <|file", None),
        choice(0, "_sep|>", None),
        choice(1, "c", Some("length")),
        DONE.to_owned(),
    ])])
    .await;
    let notes = Notes::of_all();
    let answer = completes(&two(Protocol::OpenAiCompletions, &server.url), &notes).await;
    assert_eq!(
        texts(&answer),
        [("x ", Finish::Stop), ("abc", Finish::Length)]
    );
    let expected = [(1, "ab"), (0, "x "), (1, "abc")];
    assert_eq!(
        notes.receive(),
        expected.map(|(index, text)| (index, text.to_owned()))
    );
}

#[tokio::test]
async fn other_candidates_continue_after_one_ends() {
    let mut server = Server::start(vec![Script::Pieces(
        vec![
            choice(0, "enough", None).into_bytes(),
            choice(1, "a", None).into_bytes(),
            choice(0, " and more", None).into_bytes(),
            choice(1, "b", Some("length")).into_bytes(),
        ],
        Then::Silence,
    )])
    .await;
    let notes = Notes::until("enough");
    let answer = completes(&two(Protocol::OpenAiCompletions, &server.url), &notes).await;
    assert_eq!(
        texts(&answer),
        [("enough", Finish::Enough), ("ab", Finish::Length)]
    );
    server.hung_up().await;
}

#[tokio::test]
async fn fault_after_break_drops_unfinished_candidates() {
    for then in [Then::HangUp, Then::End, Then::Silence] {
        let server = Server::start(vec![Script::Pieces(
            vec![
                choice(1, "enough", None).into_bytes(),
                choice(0, "a", None).into_bytes(),
            ],
            then,
        )])
        .await;
        let settings = ModelSettings {
            timeout_ms: if then == Then::Silence { 1000 } else { 20_000 },
            ..two(Protocol::OpenAiCompletions, &server.url)
        };
        let answer = completes(&settings, &Notes::until("enough")).await;
        assert_eq!(texts(&answer), [("enough", Finish::Enough)], "{then:?}");
    }
}

#[tokio::test]
async fn rejected_batch_is_split_into_single_requests() {
    let refusal = Script::ModelOutput(
        "400 Bad Request",
        "",
        b"{\"error\": {\"message\": \"only one\"}}".to_vec(),
    );
    let one = |text: &str| streamed(&[choice(0, text, Some("stop")), DONE.to_owned()]);
    let mut scripts = vec![one("same"); 4];
    scripts.insert(0, refusal.clone());
    let server = Server::start(scripts).await;
    let settings = two(Protocol::OpenAiCompletions, &server.url);
    let model = open(&settings, &environment).expect("the settings are sound");
    for _ in 0..2 {
        let answer = model
            .complete(&request(&settings), &UnlimitedListener)
            .await;
        assert_eq!(
            texts(&answer.expect("an answer")),
            [("same", Finish::Stop), ("same", Finish::Stop)]
        );
    }
    let asked = server.bodies();
    let mut asked: Vec<_> = asked
        .iter()
        .map(|body| (body["n"].as_u64(), body["seed"].as_u64()))
        .collect();
    // Two requests are concurrent, in either order. The server is not asked again for what it
    // rejected.
    asked[1..3].sort_unstable();
    asked[3..].sort_unstable();
    let each = [(Some(1), Some(0)), (Some(1), Some(1))];
    assert_eq!(asked, [&[(Some(2), Some(0))], &each[..], &each].concat());

    let server = Server::start(vec![refusal; 3]).await;
    let error = fails(&two(Protocol::OpenAiCompletions, &server.url)).await;
    assert!(
        matches!(error, ModelError::Status { status: 400, .. }),
        "{error}"
    );
}

#[tokio::test]
async fn surplus_candidates_are_dropped() {
    let server = Server::start(vec![streamed(&[
        choice(7, "c", Some("stop")),
        choice(1, "b", Some("stop")),
        choice(0, "a", Some("stop")),
        DONE.to_owned(),
    ])])
    .await;
    let answer = completes(
        &two(Protocol::OpenAiCompletions, &server.url),
        &UnlimitedListener,
    )
    .await;
    assert_eq!(texts(&answer), [("a", Finish::Stop), ("b", Finish::Stop)]);
}

#[tokio::test]
async fn connection_is_reused() {
    for protocol in protocols() {
        let exchange = exchange(protocol).expect("it goes over HTTP");
        let pieces = exchange.streamed.clone().map(String::into_bytes).to_vec();
        for (stream, script) in [
            (true, Script::Pieces(pieces, Then::EndLater)),
            (false, exchange.script(false)),
        ] {
            let server = Server::start(vec![script; 4]).await;
            let settings = ModelSettings {
                stream,
                ..settings(protocol, &server.url)
            };
            let model = open(&settings, &environment).expect("the settings are sound");
            for _ in 0..4 {
                let answer = model
                    .complete(&request(&settings), &UnlimitedListener)
                    .await;
                assert!(answer.is_ok(), "{answer:?}");
                // The end of the response is read in the background.
                tokio::time::sleep(Duration::from_millis(60)).await;
            }
            // Usually one; a second if the machine was busy meanwhile.
            let connections = server.connections();
            assert!(
                connections < 4,
                "{protocol}, stream {stream}: {connections}"
            );
        }
    }
}

/// Empty chunks, in the forms that servers and gateways send.
#[tokio::test]
async fn empty_chunks_are_ignored() {
    let nothing = [
        r#"{"choices": null}"#,
        r#"{"choices": []}"#,
        r#"{"id": "1"}"#,
        r#"{"type": "ping"}"#,
        r#"{"usage": {"completion_tokens": 2}}"#,
        r#"{"error": ""}"#,
        r#"{"error": null, "choices": [null]}"#,
        r#"{"error": {}, "choices": [{}]}"#,
        r#"{"choices": [{"index": 0, "text": null, "delta": null, "finish_reason": ""}]}"#,
        r#"{"choices": [{"index": 0, "delta": {"content": null}, "finish_reason": "null"}]}"#,
        r#"{"choices": [{"index": null, "delta": {"content": []}, "logprobs": 1}]}"#,
    ];
    for protocol in [
        Protocol::OpenAiChat,
        Protocol::OpenAiCompletions,
        Protocol::InceptionFim,
        Protocol::MistralFim,
    ] {
        let good = exchange(protocol).expect("it goes over HTTP").streamed;
        for odd in nothing {
            let odd = format!("event: odd\ndata: {odd}\n\n: ping\n\n");
            for at in 0..3 {
                let mut pieces = good.to_vec();
                pieces.insert(at, odd.clone());
                let server = Server::start(vec![streamed(&pieces)]).await;
                let settings = ModelSettings {
                    stream: true,
                    ..settings(protocol, &server.url)
                };
                let answer = completes(&settings, &UnlimitedListener).await;
                assert_eq!(texts(&answer), [("ab", Finish::Stop)], "{protocol}: {odd}");
            }
        }
    }
}

#[tokio::test]
async fn empty_finish_reason_is_none() {
    for reason in ["", " ", "null"] {
        for protocol in [Protocol::OpenAiChat, Protocol::OpenAiCompletions] {
            let mut pieces = exchange(protocol)
                .expect("it goes over HTTP")
                .streamed
                .to_vec();
            for piece in &mut pieces {
                let empty = format!("\"finish_reason\":\"{reason}\"");
                *piece = piece.replace("\"finish_reason\":null", &empty);
            }
            let server = Server::start(vec![streamed(&pieces)]).await;
            let settings = ModelSettings {
                stream: true,
                ..settings(protocol, &server.url)
            };
            let answer = completes(&settings, &UnlimitedListener).await;
            assert_eq!(
                texts(&answer),
                [("ab", Finish::Stop)],
                "{protocol}: {reason:?}"
            );
        }
    }
}

#[tokio::test]
async fn response_without_text_is_valid() {
    for body in [
        r#"{"choices": []}"#,
        r#"{"choices": [{"message": {"content": null}, "finish_reason": "stop"}]}"#,
        r#"{"choices": [{"message": {"role": "assistant"}, "finish_reason": "length"}]}"#,
    ] {
        let server = Server::start(vec![whole(body)]).await;
        let settings = settings(Protocol::OpenAiChat, &server.url);
        let answer = completes(&settings, &UnlimitedListener).await;
        assert_eq!(answer.candidates[0].text, "", "{body}");
    }
}

#[tokio::test]
async fn tokens_are_counted_by_the_server_or_approximated() {
    let price = TokenPrice {
        input: 1.0,
        output: 4.0,
    };
    let usage =
        json!({ "choices": [], "usage": { "prompt_tokens": 500, "completion_tokens": 30 } });
    let counted = [choice(0, "a", Some("stop")) + &event(&usage) + DONE];
    let uncounted = [
        choice(0, "a", None),
        choice(0, "b", Some("stop")),
        DONE.to_owned(),
    ];
    let server = Server::start(vec![streamed(&counted), streamed(&uncounted)]).await;
    let settings = ModelSettings {
        stream: true,
        price: Some(price),
        ..settings(Protocol::OpenAiCompletions, &server.url)
    };
    let usage = |answer: ModelOutput| answer.usage.expect("a server was asked");
    let exact = usage(completes(&settings, &UnlimitedListener).await);
    assert_eq!((exact.prompt, exact.completion), (500, 30));
    assert!(!exact.is_approximate);
    // By hand: 500 × 1 + 30 × 4, per million.
    assert!((exact.cost.expect("there is a price") - 620e-6).abs() < 1e-12);
    let guessed = usage(completes(&settings, &UnlimitedListener).await);
    assert!(guessed.is_approximate && guessed.prompt > 0 && guessed.completion == 1);
}
