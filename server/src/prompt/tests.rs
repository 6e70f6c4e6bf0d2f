use proptest::prelude::*;

use super::*;

fn window(path: &str, text: &str) -> Window {
    Window {
        path: path.to_owned(),
        first_line: 0,
        text: text.to_owned(),
        score: 1.0,
    }
}

fn input<'a>(prefix: &'a str, suffix: &'a str, windows: &'a [Window]) -> PromptInput<'a> {
    PromptInput {
        repository: "shop",
        path: "src/cart.py",
        line_comment: "#",
        prefix,
        suffix,
        windows,
        layout: WindowLayout::default(),
    }
}

/// Number of a template's own tokens in a prompt.
fn tokens(family: &Family, text: &str) -> usize {
    family
        .reserved
        .iter()
        .map(|token| text.matches(token).count())
        .sum()
}

#[test]
fn every_family_without_windows() {
    let prompts: String = FAMILIES
        .iter()
        .map(|family| {
            let prompt = render(family, &input("a = ", "\nb = 2\n", &[]), 2048);
            format!("== {}\n{}\n", family.name, prompt.text)
        })
        .collect();
    insta::assert_snapshot!(prompts, @r#"
    == starcoder2
    <fim_prefix>a = <fim_suffix>
    b = 2
    <fim_middle>
    == starcoder
    <fim_prefix>a = <fim_suffix>
    b = 2
    <fim_middle>
    == deepseek-coder-v2
    <｜fim▁begin｜>a = <｜fim▁hole｜>
    b = 2
    <｜fim▁end｜>
    == deepseek-coder
    <｜fim▁begin｜>a = <｜fim▁hole｜>
    b = 2
    <｜fim▁end｜>
    == codellama
    <PRE> a =  <SUF>
    b = 2
     <MID>
    == qwen2.5-coder
    <|fim_prefix|>a = <|fim_suffix|>
    b = 2
    <|fim_middle|>
    == qwen3-coder
    <|fim_prefix|>a = <|fim_suffix|>
    b = 2
    <|fim_middle|>
    == codegemma
    <|fim_prefix|>a = <|fim_suffix|>
    b = 2
    <|fim_middle|>
    == codestral
    [SUFFIX]
    b = 2
    [PREFIX]a = 
    == granite-code
    <fim_prefix>a = <fim_suffix>
    b = 2
    <fim_middle>
    == seed-coder
    <[fim-suffix]>
    b = 2
    <[fim-prefix]>a = <[fim-middle]>
    == mellum
    <fim_suffix>
    b = 2
    <fim_prefix>a = <fim_middle>
    == stable-code
    <fim_prefix>a = <fim_suffix>
    b = 2
    <fim_middle>
    == refact-1.6b
    <fim_prefix>a = <fim_suffix>
    b = 2
    <fim_middle>
    == granite-4.0-base
    <|fim_prefix|>a = <|fim_suffix|>
    b = 2
    <|fim_middle|>
    == aixcoder-7b
    ▁<AIX-SPAN-PRE>▁<AIX-SPAN-POST>
    b = 2
    ▁<AIX-SPAN-MIDDLE>a = 
    == left-to-right
    a =
    "#);
}

#[test]
fn every_family_with_windows() {
    let windows = [
        window("src/tax.py", "def tax(x):\n    return x"),
        window("src/price.py", "PRICE = 3"),
    ];
    let prompts: String = FAMILIES
        .iter()
        .map(|family| {
            let prompt = render(family, &input("a = ", "\nb = 2\n", &windows), 2048);
            format!("== {}\n{}\n", family.name, prompt.text)
        })
        .collect();
    insta::assert_snapshot!(prompts, @r#"
    == starcoder2
    <repo_name>shop<file_sep>src/tax.py
    def tax(x):
        return x<file_sep>src/price.py
    PRICE = 3<file_sep><fim_prefix>src/cart.py
    a = <fim_suffix>
    b = 2
    <fim_middle>
    == starcoder
    <fim_prefix># Here are some relevant code fragments from other files of the repo:

    # the below code fragment can be found in:
    # src/tax.py
    # def tax(x):
    #     return x

    # the below code fragment can be found in:
    # src/price.py
    # PRICE = 3

    a = <fim_suffix>
    b = 2
    <fim_middle>
    == deepseek-coder-v2
    <｜fim▁begin｜>#src/tax.py
    def tax(x):
        return x

    #src/price.py
    PRICE = 3

    #src/cart.py
    a = <｜fim▁hole｜>
    b = 2
    <｜fim▁end｜>
    == deepseek-coder
    <｜fim▁begin｜>#src/tax.py
    def tax(x):
        return x

    #src/price.py
    PRICE = 3

    #src/cart.py
    a = <｜fim▁hole｜>
    b = 2
    <｜fim▁end｜>
    == codellama
    <PRE> # Here are some relevant code fragments from other files of the repo:

    # the below code fragment can be found in:
    # src/tax.py
    # def tax(x):
    #     return x

    # the below code fragment can be found in:
    # src/price.py
    # PRICE = 3

    a =  <SUF>
    b = 2
     <MID>
    == qwen2.5-coder
    <|repo_name|>shop
    <|file_sep|>src/tax.py
    def tax(x):
        return x
    <|file_sep|>src/price.py
    PRICE = 3
    <|file_sep|>src/cart.py
    <|fim_prefix|>a = <|fim_suffix|>
    b = 2
    <|fim_middle|>
    == qwen3-coder
    <|repo_name|>shop
    <|file_sep|>src/tax.py
    def tax(x):
        return x
    <|file_sep|>src/price.py
    PRICE = 3
    <|file_sep|>src/cart.py
    <|fim_prefix|>a = <|fim_suffix|>
    b = 2
    <|fim_middle|>
    == codegemma
    src/tax.py
    def tax(x):
        return x
    <|file_separator|>src/price.py
    PRICE = 3
    <|file_separator|>src/cart.py
    <|fim_prefix|>a = <|fim_suffix|>
    b = 2
    <|fim_middle|>
    == codestral
    [SUFFIX]
    b = 2
    [PREFIX]+++++ src/tax.py
    def tax(x):
        return x

    +++++ src/price.py
    PRICE = 3

    +++++ src/cart.py
    a = 
    == granite-code
    <fim_prefix># Here are some relevant code fragments from other files of the repo:

    # the below code fragment can be found in:
    # src/tax.py
    # def tax(x):
    #     return x

    # the below code fragment can be found in:
    # src/price.py
    # PRICE = 3

    a = <fim_suffix>
    b = 2
    <fim_middle>
    == seed-coder
    <[fim-suffix]>
    b = 2
    <[fim-prefix]># Here are some relevant code fragments from other files of the repo:

    # the below code fragment can be found in:
    # src/tax.py
    # def tax(x):
    #     return x

    # the below code fragment can be found in:
    # src/price.py
    # PRICE = 3

    a = <[fim-middle]>
    == mellum
    <filename>src/tax.py
    def tax(x):
        return x
    <filename>src/price.py
    PRICE = 3
    <filename>src/cart.py
    <fim_suffix>
    b = 2
    <fim_prefix>a = <fim_middle>
    == stable-code
    <fim_prefix># Here are some relevant code fragments from other files of the repo:

    # the below code fragment can be found in:
    # src/tax.py
    # def tax(x):
    #     return x

    # the below code fragment can be found in:
    # src/price.py
    # PRICE = 3

    a = <fim_suffix>
    b = 2
    <fim_middle>
    == refact-1.6b
    <fim_prefix># Here are some relevant code fragments from other files of the repo:

    # the below code fragment can be found in:
    # src/tax.py
    # def tax(x):
    #     return x

    # the below code fragment can be found in:
    # src/price.py
    # PRICE = 3

    a = <fim_suffix>
    b = 2
    <fim_middle>
    == granite-4.0-base
    <|fim_prefix|># Here are some relevant code fragments from other files of the repo:

    # the below code fragment can be found in:
    # src/tax.py
    # def tax(x):
    #     return x

    # the below code fragment can be found in:
    # src/price.py
    # PRICE = 3

    a = <|fim_suffix|>
    b = 2
    <|fim_middle|>
    == aixcoder-7b
    ▁<AIX-SPAN-PRE>▁<AIX-SPAN-POST>
    b = 2
    ▁<AIX-SPAN-MIDDLE># Here are some relevant code fragments from other files of the repo:

    # the below code fragment can be found in:
    # src/tax.py
    # def tax(x):
    #     return x

    # the below code fragment can be found in:
    # src/price.py
    # PRICE = 3

    a = 
    == left-to-right
    # Here are some relevant code fragments from other files of the repo:

    # the below code fragment can be found in:
    # src/tax.py
    # def tax(x):
    #     return x

    # the below code fragment can be found in:
    # src/price.py
    # PRICE = 3

    a =
    "#);
}

/// The example prompts on the vendors' pages.
#[test]
fn prompts_equal_the_vendors_own_examples() {
    let prompt = |family: &str, prefix: &str, suffix: &str, windows: &[Window]| {
        let family = Family::from_name(family).expect("a family of the table");
        let input = PromptInput {
            path: "example.py",
            ..input(prefix, suffix, windows)
        };
        render(family, &input, 2048).text
    };
    assert_eq!(
        prompt(
            "qwen3-coder",
            "def quicksort(arr):\n    if len(arr) <= 1:\n        return arr\n    \
             pivot = arr[len(arr) // 2]\n    ",
            "\n    middle = [x for x in arr if x == pivot]\n    \
             right = [x for x in arr if x > pivot]\n    \
             return quicksort(left) + middle + quicksort(right)",
            &[]
        ),
        "<|fim_prefix|>def quicksort(arr):\n    if len(arr) <= 1:\n        return arr\n    \
         pivot = arr[len(arr) // 2]\n    <|fim_suffix|>\n    \
         middle = [x for x in arr if x == pivot]\n    right = [x for x in arr if x > pivot]\n    \
         return quicksort(left) + middle + quicksort(right)<|fim_middle|>"
    );
    assert_eq!(
        prompt("seed-coder", "PREFIX", "SUFFIX", &[]),
        "<[fim-suffix]>SUFFIX<[fim-prefix]>PREFIX<[fim-middle]>"
    );
    assert_eq!(
        prompt("mellum", "PREFIX", "SUFFIX", &[]),
        "<fim_suffix>SUFFIX<fim_prefix>PREFIX<fim_middle>"
    );
    let files = [
        window("utils.py", "def multiply(x, y):\n    return x * y"),
        window("config.py", "DEBUG = True\nMAX_VALUE = 100"),
    ];
    assert_eq!(
        prompt(
            "mellum",
            "def calculate_sum(a, b):\n",
            "\n\n# Test the function\nresult = calculate_sum(5, 10)\nprint(result)",
            &files
        ),
        "<filename>utils.py\ndef multiply(x, y):\n    return x * y\n\
         <filename>config.py\nDEBUG = True\nMAX_VALUE = 100\n\
         <filename>example.py\n\
         <fim_suffix>\n\n# Test the function\nresult = calculate_sum(5, 10)\nprint(result)\
         <fim_prefix>def calculate_sum(a, b):\n<fim_middle>"
    );
    assert_eq!(
        prompt(
            "stable-code",
            "def fib(n):",
            "    else:\n        return fib(n - 2) + fib(n - 1)",
            &[]
        ),
        "<fim_prefix>def fib(n):<fim_suffix>    else:\n        \
         return fib(n - 2) + fib(n - 1)<fim_middle>"
    );
    assert_eq!(
        prompt(
            "refact-1.6b",
            "def print_hello_world():\n    \"\"\"",
            "\n    print(\"Hello world!\")",
            &[]
        ),
        "<fim_prefix>def print_hello_world():\n    \"\"\"<fim_suffix>\n    \
         print(\"Hello world!\")<fim_middle>"
    );
}

#[test]
fn family_is_detected_from_the_models_name() {
    let names = [
        "bigcode/starcoder2-3b",
        "starcoder2:15b",
        "bigcode/starcoderbase-1b",
        "bigcode/tiny_starcoder_py",
        "deepseek-ai/deepseek-coder-6.7b-base",
        "deepseek-coder-v2:16b",
        "DeepSeek-Coder-V2-Lite-Base",
        "codellama/CodeLlama-7b-hf",
        "codellama:13b-code",
        "codellama/CodeLlama-7b-Python-hf",
        "codellama/CodeLlama-34b-hf",
        "Qwen/Qwen2.5-Coder-1.5B",
        "qwen2.5-coder:7b-base-q4_K_M",
        "Qwen/Qwen3-Coder-30B-A3B-Instruct",
        "qwen3-coder:30b",
        "Qwen/Qwen3-30B-A3B",
        "ByteDance-Seed/Seed-Coder-8B-Base",
        "ByteDance-Seed/Seed-Coder-8B-Instruct",
        "JetBrains/Mellum-4b-base",
        "Mellum-4b-sft-python.Q8_0.gguf",
        "JetBrains/Mellum2-12B-A2.5B-Base",
        "stabilityai/stable-code-3b",
        "stable-code:3b-code-fp16",
        "stabilityai/stable-code-instruct-3b",
        "smallcloudai/Refact-1_6B-fim",
        "smallcloudai/Refact-1_6-base",
        "zai-org/GLM-4.5-Air",
        "Qwen/Qwen2.5-7B",
        "google/codegemma-2b",
        "google/codegemma-7b-it",
        "mistralai/Codestral-22B-v0.1",
        "codestral-latest",
        "mistralai/Mamba-Codestral-7B-v0.1",
        "codestral-embed",
        "ibm-granite/granite-8b-code-base-4k",
        "granite-code:3b",
        "granite-3.3-8b-instruct",
        "notstarcoder",
        "gpt-4o",
        "",
    ];
    let detected: String = names
        .iter()
        .map(|name| {
            let family = Family::detect(name).map_or("-", |detected| detected.family.name);
            format!("{name} -> {family}\n")
        })
        .collect();
    insta::assert_snapshot!(detected, @r#"
    bigcode/starcoder2-3b -> starcoder2
    starcoder2:15b -> starcoder2
    bigcode/starcoderbase-1b -> starcoder
    bigcode/tiny_starcoder_py -> starcoder
    deepseek-ai/deepseek-coder-6.7b-base -> deepseek-coder
    deepseek-coder-v2:16b -> deepseek-coder-v2
    DeepSeek-Coder-V2-Lite-Base -> deepseek-coder-v2
    codellama/CodeLlama-7b-hf -> codellama
    codellama:13b-code -> codellama
    codellama/CodeLlama-7b-Python-hf -> -
    codellama/CodeLlama-34b-hf -> -
    Qwen/Qwen2.5-Coder-1.5B -> qwen2.5-coder
    qwen2.5-coder:7b-base-q4_K_M -> qwen2.5-coder
    Qwen/Qwen3-Coder-30B-A3B-Instruct -> qwen3-coder
    qwen3-coder:30b -> qwen3-coder
    Qwen/Qwen3-30B-A3B -> -
    ByteDance-Seed/Seed-Coder-8B-Base -> seed-coder
    ByteDance-Seed/Seed-Coder-8B-Instruct -> -
    JetBrains/Mellum-4b-base -> mellum
    Mellum-4b-sft-python.Q8_0.gguf -> mellum
    JetBrains/Mellum2-12B-A2.5B-Base -> -
    stabilityai/stable-code-3b -> stable-code
    stable-code:3b-code-fp16 -> stable-code
    stabilityai/stable-code-instruct-3b -> -
    smallcloudai/Refact-1_6B-fim -> refact-1.6b
    smallcloudai/Refact-1_6-base -> -
    zai-org/GLM-4.5-Air -> -
    Qwen/Qwen2.5-7B -> -
    google/codegemma-2b -> codegemma
    google/codegemma-7b-it -> -
    mistralai/Codestral-22B-v0.1 -> codestral
    codestral-latest -> codestral
    mistralai/Mamba-Codestral-7B-v0.1 -> -
    codestral-embed -> -
    ibm-granite/granite-8b-code-base-4k -> granite-code
    granite-code:3b -> granite-code
    granite-3.3-8b-instruct -> -
    notstarcoder -> -
    gpt-4o -> -
     -> -
    "#);
    insta::assert_snapshot!(
        Family::detect("Qwen/Qwen2.5-Coder-7B").map_or(String::new(), |detected| detected.reason),
        @r#"the model's name "Qwen/Qwen2.5-Coder-7B" contains "qwen2.5-coder""#
    );
    insta::assert_snapshot!(Family::explain_unknown("some-model"), @r#"the name "some-model" identifies no model family: set `family` to one of starcoder2, starcoder, deepseek-coder-v2, deepseek-coder, codellama, qwen2.5-coder, qwen3-coder, codegemma, codestral, granite-code, seed-coder, mellum, stable-code, refact-1.6b, granite-4.0-base, aixcoder-7b, left-to-right; `left-to-right` is for models that can't fill in the middle."#);
    for (name, words) in [
        ("Qwen/Qwen3.6-35B-A3B", "`protocol = \"openai-chat\"`"),
        ("qwen3.5:9b", "Qwen3-Coder"),
        ("deepseek-v4-flash", "`protocol = \"deepseek-fim\"`"),
        ("mercury-edit-2", "`protocol = \"inception-fim\"`"),
        ("granite-4.0-h-tiny", "`-base`"),
        ("gpt-5-mini", "chat model"),
    ] {
        assert!(Family::detect(name).is_none(), "{name}");
        let said = Family::explain_unknown(name);
        assert!(said.contains(words), "{said}");
    }
}

#[test]
fn table_of_families_is_consistent() {
    for family in FAMILIES {
        assert_eq!(Family::from_name(family.name), Some(family));
        assert_eq!(
            Family::detect(family.name).map(|detected| detected.family),
            Some(family),
            "a family's own name identifies it"
        );
        for token in [
            family.prefix_token,
            family.suffix_token,
            family.middle_token,
        ] {
            let token = token.trim();
            assert!(token.is_empty() || family.reserved.contains(&token));
        }
        if let RepositoryTemplate::Tokens { name, file, .. } = family.repository {
            assert!(family.reserved.contains(&file));
            assert!(name.is_none_or(|name| family.reserved.contains(&name)));
        }
        for token in family.reserved {
            assert!(
                !token.contains(char::is_whitespace),
                "escape_reserved needs it"
            );
            assert!(token.chars().count() > 1);
        }
        let prompt = render(family, &input("", "", &[]), 100);
        assert!(prompt.wire_stops().len() <= STOPS_ON_THE_WIRE);
    }
    assert_eq!(Family::from_name("gpt"), None);
}

#[test]
fn the_prompt_stays_within_its_budget() {
    let long: String = (0..4000)
        .map(|index| format!("line_{index} = {index}\n"))
        .collect();
    let windows: Vec<_> = (0..30)
        .map(|index| window(&format!("f{index}.py"), &long[..600]))
        .collect();
    for family in FAMILIES {
        for budget in [64, 256, 2048] {
            for (prefix, suffix) in [
                (long.as_str(), long.as_str()),
                (&long.replace('\n', "é"), &long.replace('\n', "é")),
            ] {
                let prompt = render(family, &input(prefix, suffix, &windows), budget);
                let tokens = approximate_tokens(&prompt.text);
                assert!(tokens <= budget + 1, "{}: {tokens} > {budget}", family.name);
                assert!(tokens > budget / 2, "{}: {tokens} of {budget}", family.name);
            }
        }
    }
}

#[test]
fn prompt_start_is_stable_while_typing() {
    let before: String = (0..2000)
        .map(|index| format!("line_{index} = {index}\n"))
        .collect();
    let typed = "total = sum(price * quantity for price, quantity in self.items.values())\n    ";
    let family = Family::from_name("qwen2.5-coder").expect("it is in the table");
    let windows = [window("a.py", "A = 1")];
    let mut changes = 0;
    let mut last: Option<String> = None;
    for end in 0..=typed.len() {
        let prefix = format!("{before}{}", &typed[..end]);
        let prompt = render(family, &input(&prefix, "\n", &windows), 512).text;
        let beginning: String = prompt.chars().take(400).collect();
        assert!(beginning.contains("<|fim_prefix|>line_"), "cut at a line");
        if last.is_some_and(|last| last != beginning) {
            changes += 1;
        }
        last = Some(beginning);
    }
    assert!(changes <= 1, "{changes} changes in 80 keystrokes");
}

#[test]
fn custom_counter_is_used() {
    let family = Family::from_name("starcoder").expect("it is in the table");
    let prefix = "a\nb\nc\nd\ne\nf\ng\nh\n";
    let lines = |text: &str| text.matches('\n').count() as f64;
    let prompt = render_counted(family, &input(prefix, "", &[]), 4, &lines);
    assert_eq!(
        prompt.text,
        "<fim_prefix>e\nf\ng\nh\n<fim_suffix><fim_middle>"
    );
}

#[test]
fn sides_carry_windows_as_comments() {
    let windows = [window("src/<fim_prefix>.py", "def g(x):\n    return x")];
    let sides = sides(
        &input("a = ", "<fim_suffix>\n", &windows),
        &["<fim_prefix>", "<fim_suffix>"],
        2048,
    );
    insta::assert_snapshot!(sides.prefix, @"
    # Here are some relevant code fragments from other files of the repo:

    # the below code fragment can be found in:
    # src/< fim_prefix>.py
    # def g(x):
    #     return x

    a =
    ");
    assert_eq!(sides.suffix, "< fim_suffix>\n");
}

#[test]
fn sides_and_chats_stay_within_their_budgets() {
    let long = "some_name = another_name + 1\n".repeat(1000);
    let windows: Vec<_> = (0..50)
        .map(|number| window(&format!("src/{number}.py"), &long[..290]))
        .collect();
    for budget in [64, 256, 2048] {
        let input = input(&long, &long, &windows);
        let sides = sides(&input, &[], budget);
        let length = approximate_tokens(&sides.prefix) + approximate_tokens(&sides.suffix);
        assert!(length <= budget, "{length} of {budget}");
        assert!(length >= budget / 2, "{length} of {budget}");
        let question = chat::render(&input, None, budget).question;
        let length = approximate_tokens(&question);
        // The lines that name and fence the files are not counted, as the instructions do.
        let windows = question.matches("From the file ").count();
        let over = 20 * (windows + 1);
        assert!(length <= budget + over, "{length} of {budget} + {over}");
        assert!(length >= budget / 2, "{length} of {budget}");
    }
}

proptest! {
    #[test]
    fn sides_begin_the_same_while_a_person_types(typed in "[a-z \n]{0,20}") {
        let windows = [window("src/g.py", "def g(x):\n    return x")];
        let before = sides(&input("a = ", "\n", &windows), &[], 2048);
        let after = format!("a = {typed}");
        let after = sides(&input(&after, "\n", &windows), &[], 2048);
        prop_assert!(after.prefix.starts_with(&before.prefix));
        prop_assert_eq!(after.suffix, before.suffix);
    }

    #[test]
    fn text_cannot_forge_a_token(
        family in prop::sample::select((0..FAMILIES.len()).collect::<Vec<_>>()),
        pieces in prop::collection::vec((0usize..64, 0usize..12, 0usize..24), 0..12),
    ) {
        let family = &FAMILIES[family];
        // Whole tokens, halves of tokens and single characters of them, in any order.
        let text: String = pieces
            .iter()
            .map(|&(token, from, to)| {
                let token: Vec<char> =
                    family.reserved[token % family.reserved.len()].chars().collect();
                let from = if from > 6 { 0 } else { from.min(token.len()) };
                let to = if to > 12 { token.len() } else { to.clamp(from, token.len()) };
                token[from..to].iter().collect::<String>()
            })
            .collect();
        let windows = [window(&text, &text)];
        let hostile = PromptInput {
            repository: &text,
            path: &text,
            line_comment: "#",
            prefix: &text,
            suffix: &text,
            windows: &windows,
            layout: WindowLayout::default(),
        };
        let plain = PromptInput {
            repository: "r",
            path: "p",
            line_comment: "#",
            prefix: "x",
            suffix: "x",
            windows: &[window("p", "x")],
            layout: WindowLayout::default(),
        };
        let expected = tokens(family, &render(family, &plain, 100_000).text);
        let prompt = render(family, &hostile, 100_000);
        prop_assert_eq!(tokens(family, &prompt.text), expected, "{}", prompt.text);
        prop_assert_eq!(escape_reserved(&text, &[]), text);
    }
}

#[test]
fn given_windows_are_all_written_and_prefix_keeps_a_quarter() {
    let windows: Vec<_> = (0..9)
        .map(|number| window(&format!("w{number}.py"), &"x = 1\n".repeat(20)))
        .collect();
    let prefix = "y = 2\n".repeat(200);
    for family in FAMILIES {
        for form in [WindowLayout::Whole, WindowLayout::Comments] {
            let input = PromptInput {
                layout: form,
                ..input(&prefix, "\nz = 3\n", &windows)
            };
            let text = render(family, &input, 100).text;
            assert!(
                (0..9).all(|number| text.contains(&format!("w{number}.py"))),
                "{text}"
            );
            assert!(text.contains("y = 2\ny = 2\n"), "{text}");
            assert!(text.matches("y = 2").count() <= 16, "{text}");
        }
    }
}

#[test]
fn comments_layout_is_the_same_for_every_family() {
    let windows = [window("a/b.py", "def f():\n    return 1")];
    let input = PromptInput {
        layout: WindowLayout::Comments,
        ..input("x = ", "\n", &windows)
    };
    let block = "# Here are some relevant code fragments from other files of the repo:\n\n\
                 # the below code fragment can be found in:\n# a/b.py\n\
                 # def f():\n#     return 1\n\nx = ";
    for family in FAMILIES {
        let text = render(family, &input, 1000).text;
        assert!(
            text.contains(&escape_reserved(block, family.reserved)),
            "{text}"
        );
    }
    assert_eq!(sides(&input, &[], 1000).prefix, block);
    let parts = parts(&input, &[], 1000);
    assert_eq!((parts.prefix.as_str(), parts.windows.len()), (block, 0));
}
