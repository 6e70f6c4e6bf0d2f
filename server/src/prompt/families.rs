//! Table of model families. Each row cites its sources.

use super::{Family, RepositoryTemplate, TemplateOrder};

/// Tokens reserved by the tokenizers of StarCoder and its derivatives.
/// <https://huggingface.co/bigcode/starcoder/blob/main/special_tokens_map.json>
const STARCODER_TOKENS: &[&str] = &[
    "<|endoftext|>",
    "<fim_prefix>",
    "<fim_middle>",
    "<fim_suffix>",
    "<fim_pad>",
    "<filename>",
    "<gh_stars>",
    "<issue_start>",
    "<issue_comment>",
    "<issue_closed>",
    "<jupyter_start>",
    "<jupyter_text>",
    "<jupyter_code>",
    "<jupyter_output>",
    "<empty_output>",
    "<commit_before>",
    "<commit_msg>",
    "<commit_after>",
    "<reponame>",
];

const STARCODER_STOPS: &[&str] = &[
    "<|endoftext|>",
    "<fim_prefix>",
    "<filename>",
    "<reponame>",
    "<fim_suffix>",
    "<fim_middle>",
    "<fim_pad>",
];

/// Tokens of Qwen's coder models, the likeliest end first.
/// <https://github.com/QwenLM/Qwen2.5-Coder>, its table of special tokens.
const QWEN_TOKENS: &[&str] = &[
    "<|endoftext|>",
    "<|file_sep|>",
    "<|fim_pad|>",
    "<|repo_name|>",
    "<|fim_prefix|>",
    "<|fim_suffix|>",
    "<|fim_middle|>",
    "<|im_end|>",
    "<|im_start|>",
];

/// Tokens of DeepSeek-Coder, with the full-width bar and the lower block of its vocabulary.
/// <https://github.com/deepseek-ai/DeepSeek-Coder#2-code-insertion>
const DEEPSEEK_TOKENS: &[&str] = &[
    "<｜fim▁begin｜>",
    "<｜fim▁hole｜>",
    "<｜fim▁end｜>",
    "<｜begin▁of▁sentence｜>",
    "<｜end▁of▁sentence｜>",
    "<｜User｜>",
    "<｜Assistant｜>",
    "<|EOT|>",
];

const DEEPSEEK_STOPS: &[&str] = &[
    "<｜end▁of▁sentence｜>",
    "<｜fim▁begin｜>",
    "<｜fim▁hole｜>",
    "<｜fim▁end｜>",
    "<|EOT|>",
];

/// Tokens of Granite 4.0 that a text could spell, the likeliest end first.
const GRANITE_TOKENS: &[&str] = &[
    "<|end_of_text|>",
    "<|fim_prefix|>",
    "<|fim_suffix|>",
    "<|fim_middle|>",
    "<|start_of_role|>",
    "<|end_of_role|>",
];

/// StarCoder: <https://huggingface.co/bigcode/starcoder#fill-in-the-middle>. It was trained on single
/// files ("StarCoder: may the source be with you!", <https://arxiv.org/abs/2305.06161>), so
/// windows are comments.
const STARCODER: Family = Family {
    name: "starcoder",
    names: &["starcoder", "starcoderbase", "starcoderplus"],
    unless: &[],
    prefix_token: "<fim_prefix>",
    suffix_token: "<fim_suffix>",
    middle_token: "<fim_middle>",
    order: TemplateOrder::PrefixFirst,
    repository: RepositoryTemplate::Comments,
    stops: STARCODER_STOPS,
    reserved: STARCODER_TOKENS,
};

/// DeepSeek-Coder, <https://github.com/deepseek-ai/DeepSeek-Coder>: the section on code insertion, and the
/// section on repositories with a line `#path` over each file.
const DEEPSEEK_CODER: Family = Family {
    name: "deepseek-coder",
    names: &["deepseek-coder"],
    unless: &[],
    prefix_token: "<｜fim▁begin｜>",
    suffix_token: "<｜fim▁hole｜>",
    middle_token: "<｜fim▁end｜>",
    order: TemplateOrder::PrefixFirst,
    repository: RepositoryTemplate::Headings("#"),
    stops: DEEPSEEK_STOPS,
    reserved: DEEPSEEK_TOKENS,
};

/// Qwen2.5-Coder, <https://github.com/QwenLM/Qwen2.5-Coder>: the sections on file-level and on repository-level
/// fill-in-the-middle; the tokens from its table of special tokens.
const QWEN_CODER: Family = Family {
    name: "qwen2.5-coder",
    names: &[
        "qwen2.5-coder",
        "qwen2-5-coder",
        "qwen25-coder",
        "qwen2.5coder",
    ],
    unless: &[],
    prefix_token: "<|fim_prefix|>",
    suffix_token: "<|fim_suffix|>",
    middle_token: "<|fim_middle|>",
    order: TemplateOrder::PrefixFirst,
    repository: RepositoryTemplate::Tokens {
        name: Some("<|repo_name|>"),
        file: "<|file_sep|>",
        file_first: true,
        end: "\n",
        path_inside: false,
    },
    stops: QWEN_TOKENS,
    reserved: QWEN_TOKENS,
};

/// All families. A more specific name precedes one that it contains.
pub static FAMILIES: &[Family] = &[
    // The file-level layout: <https://huggingface.co/bigcode/starcoder2-3b>. The repository layout:
    // "StarCoder 2 and The Stack v2", §5.1, <https://arxiv.org/abs/2402.19173>.
    Family {
        name: "starcoder2",
        names: &["starcoder2", "starcoder-2"],
        unless: &["instruct"],
        prefix_token: "<fim_prefix>",
        suffix_token: "<fim_suffix>",
        middle_token: "<fim_middle>",
        order: TemplateOrder::PrefixFirst,
        repository: RepositoryTemplate::Tokens {
            name: Some("<repo_name>"),
            file: "<file_sep>",
            file_first: true,
            end: "",
            path_inside: true,
        },
        stops: &[
            "<|endoftext|>",
            "<file_sep>",
            "<fim_prefix>",
            "<repo_name>",
            "<fim_suffix>",
            "<fim_middle>",
        ],
        // <https://huggingface.co/bigcode/starcoder2-3b/blob/main/special_tokens_map.json>
        reserved: &[
            "<|endoftext|>",
            "<fim_prefix>",
            "<fim_middle>",
            "<fim_suffix>",
            "<fim_pad>",
            "<repo_name>",
            "<file_sep>",
            "<issue_start>",
            "<issue_comment>",
            "<issue_closed>",
            "<jupyter_start>",
            "<jupyter_text>",
            "<jupyter_code>",
            "<jupyter_output>",
            "<jupyter_script>",
            "<empty_output>",
            "<code_to_intermediate>",
            "<intermediate_to_code>",
            "<pr>",
            "<pr_status>",
            "<pr_is_merged>",
            "<pr_base>",
            "<pr_file>",
            "<pr_base_code>",
            "<pr_diff>",
            "<pr_diff_hunk>",
            "<pr_comment>",
            "<pr_event_id>",
            "<pr_review>",
            "<pr_review_state>",
            "<pr_review_comment>",
            "<pr_in_reply_to_review_id>",
            "<pr_in_reply_to_comment_id>",
            "<pr_diff_hunk_comment_line>",
            "<NAME>",
            "<EMAIL>",
            "<KEY>",
            "<PASSWORD>",
        ],
    },
    STARCODER,
    // "DeepSeek-Coder-V2", §3.1.2, keeps the template of v1, <https://arxiv.org/abs/2406.11931>; so
    // does <https://ollama.com/library/deepseek-coder-v2>.
    Family {
        name: "deepseek-coder-v2",
        names: &["deepseek-coder-v2"],
        ..DEEPSEEK_CODER
    },
    DEEPSEEK_CODER,
    // "Code Llama", §2.3 and §3.2, <https://arxiv.org/abs/2308.12950>; the spaces as in
    // <https://huggingface.co/blog/codellama#code-infilling>. The 34B and the Python members
    // were not trained for it: <https://huggingface.co/codellama/CodeLlama-34b-hf>.
    Family {
        name: "codellama",
        names: &["codellama", "code-llama"],
        unless: &["34b", "python"],
        prefix_token: "<PRE> ",
        suffix_token: " <SUF>",
        middle_token: " <MID>",
        order: TemplateOrder::PrefixFirst,
        repository: RepositoryTemplate::Comments,
        stops: &["<EOT>", "<PRE>", "<SUF>", "<MID>"],
        reserved: &["<PRE>", "<SUF>", "<MID>", "<EOT>", "<s>", "</s>"],
    },
    QWEN_CODER,
    // <https://github.com/QwenLM/Qwen3-Coder>, "Fill in the middle with Qwen3-Coder", which covers
    // Qwen3-Coder-Next too: every version supports it, and its example stops at the same tokens.
    // Files as in the same repository's `examples/Qwen2.5-Coder-repolevel-fim.py`.
    Family {
        name: "qwen3-coder",
        names: &["qwen3-coder", "qwen3coder"],
        ..QWEN_CODER
    },
    // <https://ai.google.dev/gemma/docs/codegemma/prompt-structure>; a path in the line above the
    // prefix's token and files separated by the separator token, as in "CodeGemma: Open Code Models
    // Based on Gemma", figure 2, <https://arxiv.org/abs/2406.11409>. The 7B chat member (`it`) was
    // not trained for it: <https://huggingface.co/google/codegemma-1.1-2b>.
    Family {
        name: "codegemma",
        names: &["codegemma"],
        unless: &["it", "instruct"],
        prefix_token: "<|fim_prefix|>",
        suffix_token: "<|fim_suffix|>",
        middle_token: "<|fim_middle|>",
        order: TemplateOrder::PrefixFirst,
        repository: RepositoryTemplate::Tokens {
            name: None,
            file: "<|file_separator|>",
            file_first: false,
            end: "\n",
            path_inside: false,
        },
        stops: &[
            "<|file_separator|>",
            "<|fim_prefix|>",
            "<|fim_suffix|>",
            "<|fim_middle|>",
            "<end_of_turn>",
        ],
        reserved: &[
            "<|file_separator|>",
            "<|fim_prefix|>",
            "<|fim_suffix|>",
            "<|fim_middle|>",
            "<start_of_turn>",
            "<end_of_turn>",
            "<bos>",
            "<eos>",
            "<pad>",
            "<unk>",
        ],
    },
    // The suffix comes first and there is no token before the middle:
    // <https://github.com/mistralai/mistral-common>, `encode_fim`. A line of `+++++ path` over each
    // file: the multi-file template of <https://github.com/continuedev/continue>. The Mamba and
    // embedding models with that name have other templates.
    Family {
        name: "codestral",
        names: &["codestral"],
        unless: &["mamba", "embed"],
        prefix_token: "[PREFIX]",
        suffix_token: "[SUFFIX]",
        middle_token: "",
        order: TemplateOrder::SuffixFirst,
        repository: RepositoryTemplate::Headings("+++++ "),
        stops: &["[PREFIX]", "[SUFFIX]", "\n+++++ ", "[MIDDLE]"],
        reserved: &[
            "[PREFIX]", "[SUFFIX]", "[MIDDLE]", "[INST]", "[/INST]", "<s>", "</s>",
        ],
    },
    // It has StarCoder's tokenizer and layout: "Granite Code Models", §3 and §4,
    // <https://arxiv.org/abs/2405.04324>; the tokens:
    // <https://huggingface.co/ibm-granite/granite-20b-code-instruct-accelerator>.
    Family {
        name: "granite-code",
        names: &[
            "granite-code",
            "granite-3b-code",
            "granite-8b-code",
            "granite-20b-code",
            "granite-34b-code",
        ],
        ..STARCODER
    },
    // The suffix comes first, from single files, so windows are comments: "Seed-Coder: Let the Code
    // Model Curate Data for Itself", §2.2, <https://arxiv.org/abs/2506.03524>. The other members
    // are trained for chat: <https://huggingface.co/ByteDance-Seed/Seed-Coder-8B-Base>. The tokens
    // of beginning and end are those of a conversion's vocabulary,
    // <https://huggingface.co/cgus/Seed-Coder-8B-Base-exl2>.
    Family {
        name: "seed-coder",
        names: &["seed-coder"],
        unless: &["instruct", "reasoning"],
        prefix_token: "<[fim-prefix]>",
        suffix_token: "<[fim-suffix]>",
        middle_token: "<[fim-middle]>",
        order: TemplateOrder::SuffixFirst,
        repository: RepositoryTemplate::Comments,
        stops: &[
            "<[end▁of▁sentence]>",
            "<[fim-suffix]>",
            "<[fim-prefix]>",
            "<[fim-middle]>",
        ],
        reserved: &[
            "<[fim-suffix]>",
            "<[fim-prefix]>",
            "<[fim-middle]>",
            "<[begin▁of▁sentence]>",
            "<[end▁of▁sentence]>",
        ],
    },
    // <https://huggingface.co/JetBrains/Mellum-4b-base>, "Fill in the middle generation" and "with
    // additional files as context". Mellum 2 is another model with other tokens. The page names no
    // end token: stops and reserved tokens are StarCoder's, which the template uses.
    Family {
        name: "mellum",
        names: &["mellum"],
        unless: &["mellum2", "mellum-2"],
        order: TemplateOrder::SuffixFirst,
        repository: RepositoryTemplate::Tokens {
            name: None,
            file: "<filename>",
            file_first: true,
            end: "\n",
            path_inside: false,
        },
        ..STARCODER
    },
    // <https://huggingface.co/stabilityai/stable-code-3b>, "Run with Fill in Middle (FIM)", as a
    // conversion quotes it: <https://huggingface.co/duyntnet/stable-code-3b-imatrix-GGUF>. No
    // template for other files is published. Stable Code Instruct is tuned for chat.
    Family {
        name: "stable-code",
        names: &["stable-code"],
        unless: &["instruct"],
        ..STARCODER
    },
    // <https://huggingface.co/smallcloudai/Refact-1_6B-fim>. The base model repeats itself when it
    // fills in the middle: <https://huggingface.co/smallcloudai/Refact-1_6-base>.
    Family {
        name: "refact-1.6b",
        names: &["refact-1.6", "refact-1-6"],
        unless: &["base"],
        ..STARCODER
    },
    // <https://github.com/ibm-granite/granite-4.0-language-models>, "Fill-in-the-middle (FIM) Code
    // Completion": the tokens and their order. Its example is a chat message, as its model is tuned
    // for chat, so only the base members are here. It names no template for other files. The tokens
    // that separate messages and end a text:
    // <https://www.ibm.com/granite/docs/use-cases/prompt-engineering>.
    Family {
        name: "granite-4.0-base",
        names: &[
            "granite-4.0-base",
            "granite-4.0-micro-base",
            "granite-4.0-h-micro-base",
            "granite-4.0-h-tiny-base",
            "granite-4.0-h-small-base",
            "granite-4.0-350m-base",
            "granite-4.0-h-350m-base",
            "granite-4.0-1b-base",
            "granite-4.0-h-1b-base",
        ],
        unless: &[],
        prefix_token: "<|fim_prefix|>",
        suffix_token: "<|fim_suffix|>",
        middle_token: "<|fim_middle|>",
        order: TemplateOrder::PrefixFirst,
        repository: RepositoryTemplate::Comments,
        stops: GRANITE_TOKENS,
        reserved: GRANITE_TOKENS,
    },
    // <https://github.com/aixcoder-plugin/aiXcoder-7B>, "Pre-training Tasks" and the example of its
    // tokenizer: the suffix comes first, after both tokens. The second version has another
    // template.
    Family {
        name: "aixcoder-7b",
        names: &["aixcoder-7b", "aixcoder7b"],
        unless: &["v2"],
        prefix_token: "\u{2581}<AIX-SPAN-MIDDLE>",
        suffix_token: "\u{2581}<AIX-SPAN-PRE>\u{2581}<AIX-SPAN-POST>",
        middle_token: "",
        order: TemplateOrder::SuffixFirst,
        repository: RepositoryTemplate::Comments,
        stops: &[
            "</s>",
            "<AIX-SPAN-PRE>",
            "<AIX-SPAN-POST>",
            "<AIX-SPAN-MIDDLE>",
        ],
        reserved: &[
            "\u{2581}<AIX-SPAN-PRE>\u{2581}<AIX-SPAN-POST>",
            "\u{2581}<AIX-SPAN-MIDDLE>",
            "<AIX-SPAN-PRE>",
            "<AIX-SPAN-POST>",
            "<AIX-SPAN-MIDDLE>",
            "<s>",
            "</s>",
        ],
    },
    // Base models that only continue a text, such as Phi-2 or Code Llama Python, as RepoExec and
    // CrossCodeEval prompt them: <https://arxiv.org/abs/2406.11927>, appendix E.1, and
    // <https://arxiv.org/abs/2310.11248>, §2.3. No model's name identifies one, so the family must
    // be set. The token is the end of a text in the vocabularies derived from GPT-2's.
    Family {
        name: "left-to-right",
        names: &["left-to-right"],
        unless: &[],
        prefix_token: "",
        suffix_token: "",
        middle_token: "",
        order: TemplateOrder::PrefixOnly,
        repository: RepositoryTemplate::Comments,
        stops: &["<|endoftext|>"],
        reserved: &["<|endoftext|>"],
    },
];
