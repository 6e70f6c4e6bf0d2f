use super::*;

#[tokio::test]
async fn openai_completions_sends_and_parses() {
    let server = Server::start(vec![whole(
        r#"{"choices": [
            {"text": "x + 1<|fim_middle|>junk", "finish_reason": "length"},
            {"text": "x", "finish_reason": "length"},
            {"text": "", "finish_reason": "stop"}
        ]}"#,
    )])
    .await;
    let settings = ModelSettings {
        candidates: 3,
        temperature: 0.5,
        ..settings(Protocol::OpenAiCompletions, &format!("{}/v1/", server.url))
    };
    let model = open(&settings, &environment).expect("the settings are sound");
    let answer = model
        .complete(&request(&settings), &UnlimitedListener)
        .await
        .expect("an answer");
    insta::assert_snapshot!(format!("{:#}", server.bodies()[0]), @r#"
    {
      "model": "Qwen/Qwen2.5-Coder-1.5B",
      "prompt": "<|repo_name|>demo\n<|file_sep|>src/g.py\ndef g(x):\n    return f(x)\n<|file_sep|>src/f.py\n<|fim_prefix|>def f(x):\n    return <|fim_suffix|>\n\n# < |fim_middle|>\n<|fim_middle|>",
      "max_tokens": 128,
      "temperature": 0.5,
      "top_p": 1.0,
      "seed": 0,
      "n": 3,
      "stop": [
        "<|endoftext|>",
        "<|file_sep|>",
        "<|fim_pad|>",
        "<|repo_name|>"
      ],
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
        RawCandidate {
            text: "",
            finish: Stop,
            mean_log_probability: None,
            thought: false,
        },
    ]
    "#);
    let head = server.requests()[0].to_lowercase();
    assert!(head.starts_with("post /v1/completions http/1.1\r\n"));
    assert!(head.contains(&format!("authorization: bearer {KEY}\r\n")));
    assert_eq!(answer.prompt, server.bodies()[0]["prompt"]);
    assert!(!format!("{answer:?}{model:?}").contains(KEY));
}

#[tokio::test]
async fn missing_candidates_are_requested_again() {
    let one = r#"{"choices": [{"text": "x", "finish_reason": "stop"}]}"#;
    let server = Server::start(vec![whole(one), whole(one)]).await;
    let settings = ModelSettings {
        candidates: 2,
        temperature: 1.0,
        seed: 7,
        ..settings(Protocol::OpenAiCompletions, &server.url)
    };
    let model = open(&settings, &environment).expect("the settings are sound");
    let answer = model
        .complete(&request(&settings), &UnlimitedListener)
        .await
        .expect("an answer");
    assert_eq!(answer.candidates.len(), 2);
    let asked: Vec<_> = server
        .bodies()
        .iter()
        .map(|body| (body["n"].clone(), body["seed"].clone()))
        .collect();
    assert_eq!(asked, [(2.into(), 7.into()), (1.into(), 8.into())]);
}

#[tokio::test]
async fn infill_suffix_leaves_the_prompt_to_the_server() {
    let server = Server::start(vec![whole(r#"{"choices": [{"text": "x"}]}"#)]).await;
    let settings = ModelSettings {
        // This needs no family.
        name: Some("anything".to_owned()),
        infill: Infill::Suffix,
        ..settings(Protocol::OpenAiCompletions, &server.url)
    };
    completes(&settings, &UnlimitedListener).await;
    insta::assert_snapshot!(format!("{:#}", server.bodies()[0]), @r##"
    {
      "model": "anything",
      "prompt": "# Here are some relevant code fragments from other files of the repo:\n\n# the below code fragment can be found in:\n# src/g.py\n# def g(x):\n#     return f(x)\n\ndef f(x):\n    return ",
      "suffix": "\n\n# < |fim_middle|>\n",
      "max_tokens": 128,
      "temperature": 0.0,
      "top_p": 1.0,
      "seed": 0,
      "n": 1,
      "stream": false
    }
    "##);
    let model = open(&settings, &environment).expect("the settings are sound");
    assert_eq!(
        model.describe(),
        "the server writes the prompt, because `infill` is \"suffix\""
    );
}

#[tokio::test]
async fn chat_model_gets_instructions_to_fill_in() {
    let server = Server::start(vec![whole(
        r#"{"choices": [
            {"message": {"content": "At <<CURSOR>>: x + 1", "reasoning_content": "hm"}},
            {"message": {"content": [{"type": "text", "text": "x"}, {"type": "text", "text": "2"}]},
             "finish_reason": "length"}
        ]}"#,
    )])
    .await;
    let settings = ModelSettings {
        name: Some("gpt-4o".to_owned()),
        candidates: 2,
        temperature: 0.5,
        seed: 7,
        ..settings(Protocol::OpenAiChat, &server.url)
    };
    let answer = completes(&settings, &UnlimitedListener).await;
    assert_eq!(
        texts(&answer),
        [
            ("At <<CURSOR>>: x + 1", Finish::Stop),
            ("x2", Finish::Length)
        ]
    );
    insta::assert_snapshot!(format!("{:#}", server.bodies()[0]), @r#"
    {
      "model": "gpt-4o",
      "messages": [
        {
          "role": "system",
          "content": "You complete code in an editor. The last file you get has the mark <<CURSOR>> where the cursor is. Answer with only the code that belongs at the mark, as it is to be put in its place: begin exactly there, repeat nothing of what stands before or after it, keep the file's style and indentation, and end where what follows the mark goes on. Give no explanation, no heading and no code fence. If nothing is missing there, answer with nothing."
        },
        {
          "role": "user",
          "content": "From the file src/g.py of the same project:\n```\ndef g(x):\n    return f(x)\n```\n\nThe file src/f.py:\n```\ndef f(x):\n    return <<CURSOR>>\n\n# <|fim_middle|>\n```\n"
        }
      ],
      "temperature": 0.5,
      "top_p": 1.0,
      "seed": 7,
      "n": 2,
      "stream": false,
      "max_tokens": 128
    }
    "#);
    assert!(server.requests()[0].starts_with("POST /v1/chat/completions HTTP/1.1\r\n"));
}

#[tokio::test]
async fn openai_gets_max_completion_tokens() {
    let server = Server::start(vec![whole(
        r#"{"choices": [{"message": {"content": "x"}, "finish_reason": "stop"}]}"#,
    )])
    .await;
    let settings = ModelSettings {
        proxy: Some(server.url.clone()),
        ..settings(Protocol::OpenAiChat, "http://api.openai.com/v1")
    };
    completes(&settings, &UnlimitedListener).await;
    let body = &server.bodies()[0];
    assert_eq!(body["max_completion_tokens"], 128);
    assert_eq!(body.get("max_tokens"), None);
}

#[tokio::test]
async fn vllm_keeps_special_tokens() {
    let server = Server::start(vec![whole(
        r#"{"choices": [{
            "index": 0,
            "text": "x + 1<|fim_middle|>",
            "logprobs": {
                "text_offset": [0, 1],
                "token_logprobs": [-1.0, -2.0],
                "tokens": ["x", " + 1"],
                "top_logprobs": [{"x": -1.0}, {" + 1": -2.0}]
            },
            "finish_reason": "stop",
            "stop_reason": 151643
        }]}"#,
    )])
    .await;
    let settings = ModelSettings {
        seed: u64::MAX,
        ..settings(Protocol::Vllm, &server.url)
    };
    let answer = completes(&settings, &UnlimitedListener).await;
    assert_eq!(texts(&answer), [("x + 1", Finish::Stop)]);
    assert_eq!(answer.candidates[0].mean_log_probability, Some(-1.5));
    let mut body = server.bodies().remove(0);
    body["prompt"] = "…".into();
    insta::assert_snapshot!(format!("{body:#}"), @r#"
    {
      "model": "Qwen/Qwen2.5-Coder-1.5B",
      "prompt": "…",
      "max_tokens": 128,
      "temperature": 0.0,
      "top_p": 1.0,
      "seed": 9223372036854775807,
      "n": 1,
      "stop": [
        "<|endoftext|>",
        "<|file_sep|>",
        "<|fim_pad|>",
        "<|repo_name|>",
        "<|fim_prefix|>",
        "<|fim_suffix|>",
        "<|fim_middle|>",
        "<|im_end|>",
        "<|im_start|>"
      ],
      "stream": false,
      "skip_special_tokens": false,
      "spaces_between_special_tokens": false,
      "top_k": -1,
      "min_p": 0.0,
      "repetition_penalty": 1.0,
      "logprobs": 0
    }
    "#);
    assert!(server.requests()[0].starts_with("POST /v1/completions HTTP/1.1\r\n"));
}

#[test]
fn description_names_template_and_reason() {
    let about = |settings: &ModelSettings| {
        let model = open(settings, &environment).expect("the settings are sound");
        model.describe()
    };
    let url = "http://127.0.0.1:1";
    for protocol in [
        Protocol::OpenAiCompletions,
        Protocol::Vllm,
        Protocol::LlamaCompletion,
    ] {
        let detected = settings(protocol, url);
        assert_eq!(
            about(&detected),
            "qwen2.5-coder template, because the model's name \"Qwen/Qwen2.5-Coder-1.5B\" \
             contains \"qwen2.5-coder\""
        );
        let set = ModelSettings {
            family: Some("codegemma".to_owned()),
            ..detected
        };
        assert_eq!(
            about(&set),
            "codegemma template, because `family` is set in the configuration"
        );
    }
    assert_eq!(about(&ModelSettings::default()), "");
}
