//! Local servers that load the model before their first response, and overloaded ones.

use std::time::Duration;

use super::exchanges::exchange;
use super::server::{Script, Then};
use super::*;

const PROTOCOL: Protocol = Protocol::OllamaGenerate;

fn good() -> Script {
    exchange(PROTOCOL).expect("it goes over HTTP").script(false)
}

fn loading(url: &str) -> ModelSettings {
    ModelSettings {
        load_timeout_ms: 60_000,
        timeout_ms: 2_000,
        ..settings(PROTOCOL, url)
    }
}

#[tokio::test]
async fn cancelled_first_request_continues_and_others_wait() {
    let mut server = Server::start(vec![Script::Pieces(Vec::new(), Then::Silence), good()]).await;
    let settings = loading(&server.url);
    let model = open(&settings, &environment).expect("the settings are sound");
    let first = request(&settings);
    {
        let asked = model.complete(&first, &UnlimitedListener);
        tokio::pin!(asked);
        while server.requests().is_empty() {
            tokio::select! {
                _ = &mut asked => panic!("the server says nothing"),
                () = tokio::time::sleep(Duration::from_millis(1)) => {}
            }
        }
        assert!(model.is_loading());
    }
    // The person typed on: the first request was dropped, but its connection stays.
    let joined = model.complete(&first, &UnlimitedListener);
    tokio::select! {
        answer = joined => panic!("it does not wait: {answer:?}"),
        () = server.hung_up() => panic!("the load is aborted"),
        () = tokio::time::sleep(Duration::from_millis(100)) => {}
    }
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn loading_server_is_polled() {
    let busy = br#"{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}"#;
    let server = Server::start(vec![
        Script::ModelOutput("503 Service Unavailable", "", busy.to_vec()),
        Script::ModelOutput("503 Service Unavailable", "", busy.to_vec()),
        good(),
    ])
    .await;
    let settings = loading(&server.url);
    let answer = completes(&settings, &UnlimitedListener).await;
    assert_eq!(texts(&answer), [("ab", Finish::Stop)]);
    assert_eq!(server.requests().len(), 3, "it has no retries");
}

#[tokio::test]
async fn loaded_server_has_the_default_timeout() {
    let mut server = Server::start(vec![good(), Script::Pieces(Vec::new(), Then::Silence)]).await;
    let settings = ModelSettings {
        timeout_ms: 300,
        ..loading(&server.url)
    };
    let model = open(&settings, &environment).expect("the settings are sound");
    let request = request(&settings);
    let answer = model.complete(&request, &UnlimitedListener).await;
    assert_eq!(texts(&answer.expect("an answer")), [("ab", Finish::Stop)]);
    assert!(!model.is_loading());
    let error = model.complete(&request, &UnlimitedListener).await;
    let error = error.expect_err("the server says nothing");
    assert!(matches!(error, ModelError::Timeout(_)), "{error}");
    server.hung_up().await;
}

#[tokio::test]
async fn only_the_first_answer_of_a_loading_server_is_delayed() {
    let server = Server::start(vec![good(), good()]).await;
    let settings = loading(&server.url);
    let model = open(&settings, &environment).expect("the settings are sound");
    let request = request(&settings);
    for is_delayed in [true, false] {
        let answer = model.complete(&request, &UnlimitedListener).await;
        assert_eq!(answer.expect("an answer").is_delayed, is_delayed);
    }
}

#[tokio::test]
async fn pause_applies_to_every_request() {
    let pause = "retry-after: 3600\r\n";
    let server = Server::start(vec![
        Script::ModelOutput("429 Wait", pause, b"busy".to_vec()),
        good(),
    ])
    .await;
    let settings = settings(PROTOCOL, &server.url);
    let model = open(&settings, &environment).expect("the settings are sound");
    let request = request(&settings);
    for _ in 0..3 {
        let error = model.complete(&request, &UnlimitedListener).await;
        let error = error.expect_err("the server asks for a pause");
        assert!(
            error.retry_after() > Some(Duration::from_secs(3500)),
            "{error:?}"
        );
    }
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn refused_key_is_sent_once() {
    let server = Server::start(vec![
        Script::ModelOutput("401 Unauthorized", "", b"no".to_vec()),
        good(),
    ])
    .await;
    let settings = settings(PROTOCOL, &server.url);
    let model = open(&settings, &environment).expect("the settings are sound");
    let request = request(&settings);
    for _ in 0..3 {
        let error = model.complete(&request, &UnlimitedListener).await;
        let error = error.expect_err("the key is refused");
        assert!(
            error.advice().contains("nothing is requested until"),
            "{error:?}"
        );
    }
    assert_eq!(server.requests().len(), 1);
    assert!(model.is_refused());
}
