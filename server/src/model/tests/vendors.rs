use super::exchanges::exchange;
use super::*;

/// The request of a protocol: its first line, its own headers, and its body.
async fn sent(protocol: Protocol, changed: impl Fn(&mut ModelSettings)) -> String {
    let good = exchange(protocol).expect("it goes over HTTP");
    let mut settings = settings(protocol, "");
    changed(&mut settings);
    let server = Server::start(vec![good.script(settings.stream)]).await;
    settings.url = Some(server.url.clone());
    completes(&settings, &UnlimitedListener).await;
    let request = server.requests()[0].clone();
    let (head, _) = request.split_once("\r\n\r\n").expect("a head");
    let head: Vec<&str> = head
        .lines()
        .enumerate()
        .filter(|(index, line)| {
            let own = ["authorization:", "x-api-key:", "anthropic-version:"];
            *index == 0 || own.iter().any(|name| line.to_lowercase().starts_with(name))
        })
        .map(|(_, line)| line)
        .collect();
    let body = &server.bodies()[0];
    format!("{}\n{body:#}", head.join("\n"))
}

#[tokio::test]
async fn anthropic_gets_a_chat_request() {
    let asked = sent(Protocol::AnthropicMessages, |settings| {
        settings.temperature = 1.5;
    })
    .await;
    insta::assert_snapshot!(asked, @r##"
    POST /v1/messages HTTP/1.1
    anthropic-version: 2023-06-01
    x-api-key: sk-very-secret
    {
      "model": "Qwen/Qwen2.5-Coder-1.5B",
      "system": "You complete code in an editor. The last file you get has the mark <<CURSOR>> where the cursor is. Answer with only the code that belongs at the mark, as it is to be put in its place: begin exactly there, repeat nothing of what stands before or after it, keep the file's style and indentation, and end where what follows the mark goes on. Give no explanation, no heading and no code fence. If nothing is missing there, answer with nothing.",
      "messages": [
        {
          "role": "user",
          "content": "From the file src/g.py of the same project:\n```\ndef g(x):\n    return f(x)\n```\n\nThe file src/f.py:\n```\ndef f(x):\n    return <<CURSOR>>\n\n# <|fim_middle|>\n```\n"
        }
      ],
      "max_tokens": 128,
      "temperature": 1.0,
      "stream": false
    }
    "##);
    let asked = sent(Protocol::AnthropicMessages, |settings| {
        settings.temperature = 0.5;
        settings.top_p = 0.9;
    })
    .await;
    assert!(asked.contains("\"top_p\": 0.9") && !asked.contains("temperature"));
}

#[tokio::test]
async fn anthropic_at_azure_gets_its_version_and_azures_key() {
    let good = exchange(Protocol::AnthropicMessages).expect("it goes over HTTP");
    let mut settings = settings(Protocol::AnthropicMessages, "");
    let server = Server::start(vec![good.script(settings.stream)]).await;
    settings.url = Some("http://x.services.ai.azure.com/anthropic".to_owned());
    settings.proxy = Some(server.url.clone());
    completes(&settings, &UnlimitedListener).await;
    let request = server.requests()[0].to_lowercase();
    for header in ["\r\napi-key: sk-very-secret", "\r\nanthropic-version: "] {
        assert!(request.contains(header), "{request}");
    }
    assert!(!request.contains("x-api-key"), "{request}");
}

#[tokio::test]
async fn mistral_writes_the_prompt_itself() {
    let asked = sent(Protocol::MistralFim, |settings| {
        settings.top_p = 0.9;
        settings.seed = 7;
    })
    .await;
    insta::assert_snapshot!(asked, @r##"
    POST /v1/fim/completions HTTP/1.1
    authorization: Bearer sk-very-secret
    {
      "model": "Qwen/Qwen2.5-Coder-1.5B",
      "prompt": "# Here are some relevant code fragments from other files of the repo:\n\n# the below code fragment can be found in:\n# src/g.py\n# def g(x):\n#     return f(x)\n\ndef f(x):\n    return ",
      "suffix": "\n\n# < |fim_middle|>\n",
      "max_tokens": 128,
      "temperature": 0.0,
      "top_p": 1.0,
      "random_seed": 7,
      "stream": false
    }
    "##);
}

#[tokio::test]
async fn deepseek_writes_the_prompt_itself() {
    let asked = sent(Protocol::DeepseekFim, |settings| settings.max_tokens = 9999).await;
    insta::assert_snapshot!(asked, @r##"
    POST /beta/completions HTTP/1.1
    authorization: Bearer sk-very-secret
    {
      "model": "Qwen/Qwen2.5-Coder-1.5B",
      "prompt": "# Here are some relevant code fragments from other files of the repo:\n\n# the below code fragment can be found in:\n# src/g.py\n# def g(x):\n#     return f(x)\n\ndef f(x):\n    return ",
      "suffix": "\n\n# < |fim_middle|>\n",
      "max_tokens": 4096,
      "temperature": 0.0,
      "top_p": 1.0,
      "stream": false
    }
    "##);
}

#[tokio::test]
async fn ollama_gets_a_raw_or_a_suffix_request() {
    let asked = sent(Protocol::OllamaGenerate, |settings| settings.seed = 7).await;
    insta::assert_snapshot!(asked, @r##"
    POST /api/generate HTTP/1.1
    authorization: Bearer sk-very-secret
    {
      "model": "Qwen/Qwen2.5-Coder-1.5B",
      "prompt": "<|repo_name|>demo\n<|file_sep|>src/g.py\ndef g(x):\n    return f(x)\n<|file_sep|>src/f.py\n<|fim_prefix|>def f(x):\n    return <|fim_suffix|>\n\n# < |fim_middle|>\n<|fim_middle|>",
      "raw": true,
      "stream": false,
      "options": {
        "num_predict": 128,
        "temperature": 0.0,
        "top_p": 1.0,
        "seed": 7,
        "num_ctx": 2688,
        "stop": [
          "<|endoftext|>",
          "<|file_sep|>",
          "<|fim_pad|>",
          "<|repo_name|>"
        ]
      }
    }
    "##);
    let asked = sent(Protocol::OllamaGenerate, |settings| {
        settings.infill = Infill::Suffix;
    })
    .await;
    insta::assert_snapshot!(asked, @r##"
    POST /api/generate HTTP/1.1
    authorization: Bearer sk-very-secret
    {
      "model": "Qwen/Qwen2.5-Coder-1.5B",
      "prompt": "# Here are some relevant code fragments from other files of the repo:\n\n# the below code fragment can be found in:\n# src/g.py\n# def g(x):\n#     return f(x)\n\ndef f(x):\n    return ",
      "suffix": "\n\n# < |fim_middle|>\n",
      "stream": false,
      "options": {
        "num_predict": 128,
        "temperature": 0.0,
        "top_p": 1.0,
        "seed": 0,
        "num_ctx": 2688,
        "stop": []
      }
    }
    "##);
}

#[tokio::test]
async fn tgi_request_omits_rejected_values() {
    let asked = sent(Protocol::Tgi, |_| {}).await;
    insta::assert_snapshot!(asked, @r##"
    POST /generate HTTP/1.1
    authorization: Bearer sk-very-secret
    {
      "inputs": "<|repo_name|>demo\n<|file_sep|>src/g.py\ndef g(x):\n    return f(x)\n<|file_sep|>src/f.py\n<|fim_prefix|>def f(x):\n    return <|fim_suffix|>\n\n# < |fim_middle|>\n<|fim_middle|>",
      "parameters": {
        "max_new_tokens": 128,
        "do_sample": false,
        "seed": 0,
        "stop": [
          "<|endoftext|>",
          "<|file_sep|>",
          "<|fim_pad|>",
          "<|repo_name|>"
        ],
        "return_full_text": false,
        "details": true
      }
    }
    "##);
    let asked = sent(Protocol::Tgi, |settings| {
        settings.temperature = 0.5;
        settings.top_p = 0.9;
        settings.stream = false;
    })
    .await;
    assert!(asked.starts_with("POST /generate HTTP"), "{asked}");
    assert!(asked.contains("\"temperature\": 0.5") && asked.contains("\"top_p\": 0.9"));
}

#[tokio::test]
async fn reasoning_of_a_chat_is_not_text() {
    let delta = |delta: &str| {
        format!("data: {{\"type\": \"content_block_delta\", \"index\": 0, \"delta\": {delta}}}\n\n")
    };
    let stream = [
        delta(r#"{"type": "thinking_delta", "thinking": "f or g?"}"#),
        delta(r#"{"type": "text_delta", "text": "f(1)"}"#),
        "data: {\"type\": \"message_delta\", \"delta\": {\"stop_reason\": \"max_tokens\"}}\n\n"
            .to_owned(),
    ];
    let server = Server::start(vec![server::streamed(&stream)]).await;
    let answer = completes(
        &settings(Protocol::AnthropicMessages, &server.url),
        &UnlimitedListener,
    )
    .await;
    assert_eq!(texts(&answer), [("f(1)", Finish::Length)]);
}

#[tokio::test]
async fn chat_question_replaces_filling_in() {
    for protocol in [Protocol::OpenAiChat, Protocol::AnthropicMessages] {
        let good = exchange(protocol).expect("it goes over HTTP");
        let mut settings = settings(protocol, "");
        let server = Server::start(vec![good.script(settings.stream)]).await;
        settings.url = Some(server.url.clone());
        let model = open(&settings, &environment).expect("the settings are sound");
        let question = ChatQuestion {
            instructions: "Write tests.".to_owned(),
            text: "Of this code.".to_owned(),
        };
        let asked = ModelRequest {
            question: Some(question),
            ..request(&settings)
        };
        model
            .complete(&asked, &UnlimitedListener)
            .await
            .expect("an answer");
        let body = server.bodies()[0].to_string();
        assert!(body.contains("\"Write tests.\""), "{body}");
        assert!(body.contains("\"Of this code.\""), "{body}");
        assert!(!body.contains("return f(x)"), "{body}");
    }
}
