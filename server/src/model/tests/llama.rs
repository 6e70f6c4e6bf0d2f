use super::*;

#[tokio::test]
async fn llama_infill_sends_and_parses() {
    let server = Server::start(vec![
        whole(r#"{"content": "x + 1<|endoftext|>", "stop_type": "limit"}"#),
        whole(r#"{"content": "x", "stop_type": "limit"}"#),
    ])
    .await;
    let settings = ModelSettings {
        candidates: 2,
        temperature: 0.5,
        seed: 3,
        ..settings(Protocol::LlamaInfill, &server.url)
    };
    let model = open(&settings, &environment).expect("the settings are sound");
    let answer = model
        .complete(&request(&settings), &UnlimitedListener)
        .await
        .expect("an answer");
    insta::assert_snapshot!(format!("{:#}", server.bodies()[0]), @r#"
    {
      "input_prefix": "def f(x):\n    return ",
      "input_suffix": "\n\n# < |fim_middle|>\n",
      "input_extra": [
        {
          "filename": "src/g.py",
          "text": "def g(x):\n    return f(x)"
        }
      ],
      "n_predict": 128,
      "temperature": 0.5,
      "top_p": 1.0,
      "top_k": 0,
      "min_p": 0.0,
      "seed": 3,
      "stop": [
        "<|endoftext|>",
        "<|file_sep|>",
        "<|fim_pad|>",
        "<|repo_name|>"
      ],
      "cache_prompt": true,
      "stream": false
    }
    "#);
    insta::assert_debug_snapshot!(answer.candidates, @r#"
    [
        RawCandidate {
            text: "x + 1",
            finish: Stop,
            mean_log_probability: None,
            thought: false,
        },
        RawCandidate {
            text: "x",
            finish: Length,
            mean_log_probability: None,
            thought: false,
        },
    ]
    "#);
    assert_eq!(server.bodies()[1]["seed"], 4);
    assert!(server.requests()[0].starts_with("POST /infill HTTP/1.1\r\n"));
}

#[tokio::test]
async fn llama_completion_sends_and_parses() {
    let server = Server::start(vec![
        whole(
            r#"{"content": "x<|file_sep|>y", "stop": true, "stop_type": "word", "completion_probabilities": [
                {"id": 1, "token": "x", "logprob": -1.0, "top_logprobs": []},
                {"id": 2, "token": "<|file_sep|>", "logprob": -2.0, "top_logprobs": []}
            ]}"#,
        ),
        // The format of servers before 2025.
        whole(r#"{"content": "y", "stop": true, "stopped_eos": false, "stopped_limit": true}"#),
    ])
    .await;
    let settings = ModelSettings {
        name: None,
        family: Some("starcoder2".to_owned()),
        candidates: 2,
        temperature: 0.5,
        seed: u64::from(u32::MAX),
        ..settings(Protocol::LlamaCompletion, &server.url)
    };
    let answer = completes(&settings, &UnlimitedListener).await;
    // The separator in this text is another family's.
    assert_eq!(
        texts(&answer),
        [("x<|file_sep|>y", Finish::Stop), ("y", Finish::Length)]
    );
    assert_eq!(answer.candidates[0].mean_log_probability, Some(-1.5));
    insta::assert_snapshot!(format!("{:#}", server.bodies()[0]), @r#"
    {
      "prompt": "<repo_name>demo<file_sep>src/g.py\ndef g(x):\n    return f(x)<file_sep><fim_prefix>src/f.py\ndef f(x):\n    return <fim_suffix>\n\n# <|fim_middle|>\n<fim_middle>",
      "n_predict": 128,
      "temperature": 0.5,
      "top_p": 1.0,
      "top_k": 0,
      "min_p": 0.0,
      "seed": 0,
      "stop": [
        "<|endoftext|>",
        "<file_sep>",
        "<fim_prefix>",
        "<repo_name>"
      ],
      "cache_prompt": true,
      "stream": false
    }
    "#);
    assert_eq!(server.bodies()[1]["seed"], 1);
    assert!(server.requests()[0].starts_with("POST /completion HTTP/1.1\r\n"));
    let model = open(&settings, &environment).expect("the settings are sound");
    assert_eq!(model.name(), "llama-completion");
}

#[tokio::test]
async fn array_of_responses_is_parsed() {
    let server = Server::start(vec![whole(
        r#"[{"index": 0, "content": "x", "stop": true, "stop_type": "eos"},
            {"index": 1, "content": "y", "stop": true, "stop_type": "eos"}]"#,
    )])
    .await;
    let answer = completes(
        &settings(Protocol::LlamaInfill, &server.url),
        &UnlimitedListener,
    )
    .await;
    assert_eq!(texts(&answer), [("x", Finish::Stop)]);
}
