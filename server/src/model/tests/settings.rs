use super::*;

#[test]
fn invalid_settings_are_reported_in_one_sentence() {
    let openai = settings(Protocol::OpenAiCompletions, "http://127.0.0.1:1");
    let faulty = [
        ModelSettings {
            url: None,
            ..openai.clone()
        },
        ModelSettings {
            url: Some("localhost:8080".to_owned()),
            ..openai.clone()
        },
        ModelSettings {
            url: Some("http://me:pw@host".to_owned()),
            ..openai.clone()
        },
        ModelSettings {
            name: None,
            ..openai.clone()
        },
        ModelSettings {
            name: Some("gpt-4o".to_owned()),
            ..openai.clone()
        },
        ModelSettings {
            family: Some("gpt".to_owned()),
            ..openai.clone()
        },
        ModelSettings {
            protocol: Protocol::LlamaCompletion,
            name: None,
            ..openai.clone()
        },
        ModelSettings {
            infill: Infill::Suffix,
            family: Some("gpt".to_owned()),
            ..openai.clone()
        },
        ModelSettings {
            url: Some("http://host?key=1".to_owned()),
            ..openai.clone()
        },
        ModelSettings {
            key_env: Some("OTHER".to_owned()),
            ..openai.clone()
        },
        ModelSettings {
            protocol: Protocol::LlamaInfill,
            url: None,
            ..openai.clone()
        },
        ModelSettings {
            protocol: Protocol::Recorded,
            ..openai.clone()
        },
        ModelSettings {
            top_p: 0.0,
            ..openai.clone()
        },
        ModelSettings {
            temperature: f64::NAN,
            ..openai.clone()
        },
        ModelSettings {
            candidates: 0,
            ..openai.clone()
        },
        ModelSettings {
            max_tokens: 0,
            ..openai.clone()
        },
        ModelSettings {
            timeout_ms: 0,
            ..openai.clone()
        },
        ModelSettings {
            context_tokens: 1,
            ..openai.clone()
        },
    ];
    let messages: String = faulty
        .iter()
        .map(|settings| match open(settings, &environment) {
            Err(ModelError::Settings(sentence)) => format!("{sentence}\n"),
            other => format!("{other:?}\n"),
        })
        .collect();
    insta::assert_snapshot!(messages, @r#"
    model: the protocol "openai-completions" needs the setting url, the address of the model's server.
    model: the setting url is not an address of the form http://host:port: put http:// or https:// before it.
    model: the setting url is not an address of the form http://host:port: it holds a user name or password, use key_env.
    model: the protocol "openai-completions" needs the setting name, the model's name as its server knows it.
    model: the model "gpt-4o" is a chat model: set `protocol = "openai-chat"`, or `anthropic-messages` at Anthropic's own address.
    model: there is no family "gpt": use one of starcoder2, starcoder, deepseek-coder-v2, deepseek-coder, codellama, qwen2.5-coder, qwen3-coder, codegemma, codestral, granite-code, seed-coder, mellum, stable-code, refact-1.6b, granite-4.0-base, aixcoder-7b, left-to-right.
    model: the protocol "llama-completion" needs the setting family, or a model name that identifies it.
    model: there is no family "gpt": use one of starcoder2, starcoder, deepseek-coder-v2, deepseek-coder, codellama, qwen2.5-coder, qwen3-coder, codegemma, codestral, granite-code, seed-coder, mellum, stable-code, refact-1.6b, granite-4.0-base, aixcoder-7b, left-to-right.
    model: the setting url is not an address of the form http://host:port: its query has `key`, and only `api-version` may be there; a key belongs in key_env, other values in headers.
    model: the environment variable OTHER, which key_env names, is not set.
    model: the protocol "llama-infill" needs the setting url, the address of the model's server.
    model: the protocol "recorded" needs the setting recording, a file of JSON lines.
    model: top_p must be above 0 and at most 1.
    model: temperature must be a number of at least 0.
    model: candidates must be at least 1.
    model: max_tokens must be at least 1.
    model: timeout_ms must be at least 1.
    model: context_tokens must be at least 64.
    "#);
    let read = |text: &str| match toml::from_str::<ModelSettings>(text) {
        Ok(settings) => format!("{:?}", settings.protocol),
        Err(error) => error.message().to_owned(),
    };
    insta::assert_snapshot!(read("protocol = \"openai\""), @r#"model: there is no protocol "openai": use one of embedded, openai-completions, openai-chat, vllm, llama-infill, llama-completion, anthropic-messages, mistral-fim, deepseek-fim, inception-fim, ollama-generate, tgi, recorded, empty."#);
    assert!(read("protocol = \"ollama\"").contains(": write \"ollama-generate\", or use"));
    insta::assert_snapshot!(read("key = \"sk-1\""), @"unknown field `key`, expected one of `protocol`, `url`, `name`, `family`, `infill`, `key_env`, `key_command`, `headers`, `omit`, `parameters`, `proxy`, `ca_file`, `recording`, `max_tokens`, `temperature`, `top_p`, `seed`, `timeout_ms`, `load_timeout_ms`, `context_tokens`, `candidates`, `stream`, `retries`, `price`");
    assert_eq!(read("protocol = \"llama-infill\""), "LlamaInfill");
    assert_eq!(read(""), "Embedded");
}

#[test]
fn every_protocol_opens_and_round_trips() {
    for protocol in Protocol::ALL {
        let text = serde_json::to_string(&protocol).expect("a name");
        assert_eq!(text, format!("\"{protocol}\""));
        let back: Protocol = serde_json::from_str(&text).expect("its own name");
        assert_eq!(back, protocol);
    }
    let settings = ModelSettings::default();
    assert_eq!(
        open(&settings, &|_| None)
            .map(|model| model.name().to_owned())
            .ok(),
        Some("embedded".to_owned())
    );
}

#[test]
fn infill_suffix_is_refused_where_it_has_no_effect() {
    for (protocol, is_refused) in [
        (Protocol::Vllm, true),
        (Protocol::LlamaCompletion, true),
        (Protocol::Tgi, true),
        (Protocol::OpenAiCompletions, false),
        (Protocol::OllamaGenerate, false),
    ] {
        let settings = ModelSettings {
            protocol,
            infill: Infill::Suffix,
            ..ModelSettings::default()
        };
        assert_eq!(settings.check().is_err(), is_refused, "{protocol}");
    }
}
