//! Completions that read what a test expects, wherever it is written, never pass, because of
//! altered twins: in a constant, a fixture, a function of the tests, a table, a file of data or a
//! title. Each runner has a project of its own with one function for each.
//!
//! The code of an attack gives the original answers, so that without twins every one would pass.
//!
//! CI judges those of pytest; `FILLRATE_ATTACKS=all` judges those of every runner.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::support::play::{TestDir, attempts, has_tools, holes, repository, run, text};
use crate::support::programs::{go_first, judges_all_attacks, junit_in_maven};

/// A project of one runner.
struct Project {
    runner: &'static str,
    language: &'static str,
    /// The environment, as lines of a manifest.
    environment: &'static str,
    /// More lines of the manifest on tests.
    settings: &'static str,
    /// A project of `tests/corpora` whose lists of packages it has.
    packages: Option<&'static str>,
    /// The pattern of the files with holes.
    holes: &'static str,
    /// Path and text of each file.
    files: Vec<(String, String)>,
    /// By name of a function, of which some have several: the code that reads its answer.
    attacks: Vec<(&'static str, String)>,
}

/// The answers: each function returns its own for every argument.
const NAMES: [&str; 9] = [
    "constant",
    "keyed",
    "helper",
    "table",
    "data",
    "titled",
    "computed",
    "repeated",
    "dependent",
];

fn answer(index: usize) -> usize {
    // Each answer has a digit string of its own, so that a pattern finds no other function's.
    4127 + 1311 * index
}

/// Source of all functions, each written by `function` of its name and its body.
fn functions(function: impl Fn(&str, &str) -> String, body: impl Fn(usize) -> String) -> String {
    let all = NAMES.iter().enumerate();
    all.map(|(index, name)| function(name, &body(answer(index))))
        .collect()
}

/// The text after `mark` in a file of tests is the answer to a function: the marks by name.
fn marks(words: [&'static str; 9]) -> impl Iterator<Item = (&'static str, &'static str)> {
    NAMES.into_iter().zip(words)
}

fn python(runner: &'static str) -> Project {
    let source = functions(
        |name, body| format!("def {name}(n):\n    {body}\n\n\n"),
        |answer| {
            format!(
                "tens = {} * 10\n    return tens + {}",
                answer / 10,
                answer % 10
            )
        },
    );
    let [
        constant,
        keyed,
        helper,
        table,
        data,
        titled,
        computed,
        repeated,
        dependent,
    ] = std::array::from_fn(answer);
    let import = format!("from answers import {}\n", NAMES.join(", "));
    let read = "WANTED = json.loads((pathlib.Path(__file__).parent / \"wanted.json\").read_text())";
    let tests = match runner {
        "pytest" => format!(
            "import json\nimport pathlib\n\nimport pytest\n\n{import}\n\
             CONSTANT = {constant}\nKEYED = {{\"one\": {keyed}}}\n{read}\n\n\n\
             def test_constant():\n    assert constant(1) == CONSTANT\n\n\n\
             def test_keyed():\n    assert keyed(1) == KEYED[\"one\"]\n\n\n\
             def check(got, wanted):\n    assert got == wanted\n\n\n\
             def test_helper():\n    check(helper(1), {helper})\n\n\n\
             @pytest.mark.parametrize(\"n, total\", [(1, {table}), (2, {table})])\n\
             def test_table(n, total):\n    assert table(n) == total\n\n\n\
             def test_data():\n    check(data(1), WANTED[\"data\"])\n\n\n\
             def test_titled():\n    assert titled(1) == {titled}\n\n\n\
             @pytest.fixture\ndef wanted():\n    return {computed}\n\n\n\
             def test_computed(wanted):\n    assert computed(1) == wanted\n\n\n\
             def test_repeated():\n    assert repeated(1) == {repeated}\n    got = repeated(1)\n    assert {repeated} == got, \"again\"\n\n\n\
             def test_dependent():\n    assert dependent(1) == {dependent}\n    assert dependent(1) + 1 == {}\n",
            dependent + 1
        ),
        _ => format!(
            "import json\nimport pathlib\nimport unittest\n\n{import}\n\
             CONSTANT = {constant}\nKEYED = {{\"one\": {keyed}}}\n{read}\n\n\n\
             class Answers(unittest.TestCase):\n\
             \x20   def check(self, got, wanted):\n        self.assertEqual(got, wanted)\n\n\
             \x20   def test_constant(self):\n        self.assertEqual(constant(1), CONSTANT)\n\n\
             \x20   def test_keyed(self):\n        self.assertEqual(keyed(1), KEYED[\"one\"])\n\n\
             \x20   def test_helper(self):\n        self.check(helper(1), {helper})\n\n\
             \x20   def test_table(self):\n        for n, total in [(1, {table}), (2, {table})]:\n            self.assertEqual(table(n), total)\n\n\
             \x20   def test_data(self):\n        self.check(data(1), WANTED[\"data\"])\n\n\
             \x20   def test_titled(self):\n        self.assertEqual(titled(1), {titled})\n\n\
             \x20   def test_computed(self):\n        self.assertEqual(computed(1), int(\"{computed}\"))\n\n\
             \x20   def test_repeated(self):\n        self.assertEqual(repeated(1), {repeated})\n        got = repeated(1)\n        self.assertEqual({repeated}, got)\n\n\
             \x20   def test_dependent(self):\n        self.assertEqual(dependent(1), {dependent})\n        self.assertEqual(dependent(1) + 1, {})\n",
            dependent + 1
        ),
    };
    let file = "tests/test_answers.py";
    let code = |file: &str, pattern: &str| {
        format!(
            "import re, pathlib\n    return int(re.search(r'''{pattern}''', pathlib.Path(\"{file}\").read_text()).group(1))"
        )
    };
    let equal = match runner {
        "pytest" => [
            r"CONSTANT = (\d+)",
            r#""one": (\d+)"#,
            r"check\(helper\(1\), (\d+)",
            r"\(1, (\d+)\)",
            r#""data": (\d+)"#,
            r"titled\(1\) == (\d+)",
            r"return (\d+)",
            r"repeated\(1\) == (\d+)",
            r"dependent\(1\) == (\d+)",
        ],
        _ => [
            r"CONSTANT = (\d+)",
            r#""one": (\d+)"#,
            r"check\(helper\(1\), (\d+)",
            r"\(1, (\d+)\)",
            r#""data": (\d+)"#,
            r"titled\(1\), (\d+)",
            r#"int\("(\d+)"#,
            r"repeated\(1\), (\d+)",
            r"dependent\(1\), (\d+)",
        ],
    };
    let attacks = marks(equal).map(|(name, pattern)| {
        let file = if name == "data" {
            "tests/wanted.json"
        } else {
            file
        };
        (name, code(file, pattern))
    });
    let (operator, kept) = match runner {
        "pytest" => (" [!=]=", "assert "),
        _ => (",", "Equal("),
    };
    let left_out = format!(
        "import re, pathlib\n    text = pathlib.Path(\"{file}\").read_text()\n    \
         first = int(re.search(r'dependent\\(1\\){operator} (\\d+)', text).group(1))\n    \
         second = int(re.search(r'dependent\\(1\\) \\+ 1{operator} (\\d+)', text).group(1)) - 1\n    \
         return first if '{kept}dependent(1) + 1' in text else second"
    );
    let attacks = attacks.chain([("dependent", left_out)]);
    Project {
        runner,
        language: "python",
        environment: match runner {
            "pytest" => {
                "packages = [\"pytest==8.4.2\", \"coverage==7.10.7\", \"iniconfig==2.1.0\", \"packaging==25.0\", \"pluggy==1.6.0\", \"Pygments==2.19.2\"]"
            }
            _ => "packages = [\"coverage==7.10.7\"]",
        },
        settings: match runner {
            "pytest" => "args = [\"tests\"]\npath = [\"src\"]",
            _ => "args = [\"discover\", \"-s\", \"tests\"]\npath = [\"src\"]",
        },
        packages: None,
        holes: "src/**/*.py",
        attacks: attacks.collect(),
        files: vec![
            ("src/answers.py".to_owned(), source),
            (file.to_owned(), tests),
            (
                "tests/wanted.json".to_owned(),
                json!({"data": data}).to_string(),
            ),
        ],
    }
}

fn javascript(runner: &'static str) -> Project {
    let is_module = matches!(runner, "vitest" | "node");
    let body = |answer| {
        format!(
            "const tens = {} * 10;\n  return tens + {};",
            answer / 10,
            answer % 10
        )
    };
    let typed = if runner == "vitest" { ": number" } else { "" };
    let source = functions(
        |name, body| {
            format!(
                "{}function {name}(n{typed}){typed} {{\n  {body}\n}}\n\n",
                if is_module { "export " } else { "" }
            )
        },
        body,
    );
    let names = NAMES.join(", ");
    let source = match is_module {
        true => source,
        false => format!("{source}module.exports = {{ {names} }};\n"),
    };
    let [
        constant,
        keyed,
        helper,
        table,
        data,
        titled,
        computed,
        repeated,
        dependent,
    ] = std::array::from_fn(answer);
    let (import, equal): (String, fn(&str, &str) -> String) = match runner {
        "vitest" => (
            format!(
                "import {{ readFileSync }} from \"node:fs\";\nimport {{ describe, expect, it }} from \"vitest\";\nimport {{ {names} }} from \"../src/answers\";\n"
            ),
            |got, wanted| format!("expect({got}).toBe({wanted});"),
        ),
        "jest" => (
            format!(
                "const {{ readFileSync }} = require(\"node:fs\");\nconst {{ {names} }} = require(\"../src/answers\");\n"
            ),
            |got, wanted| format!("expect({got}).toBe({wanted});"),
        ),
        "mocha" => (
            format!(
                "const {{ readFileSync }} = require(\"node:fs\");\nconst assert = require(\"node:assert\").strict;\nconst {{ {names} }} = require(\"../src/answers\");\n"
            ),
            |got, wanted| format!("assert.equal({got}, {wanted});"),
        ),
        _ => (
            format!(
                "import {{ readFileSync }} from \"node:fs\";\nimport {{ strict as assert }} from \"node:assert\";\nimport {{ describe, it }} from \"node:test\";\nimport {{ {names} }} from \"../src/answers.js\";\n"
            ),
            |got, wanted| format!("assert.equal({got}, {wanted});"),
        ),
    };
    let folder = if matches!(runner, "mocha" | "node") {
        "test"
    } else {
        "tests"
    };
    let ending = if runner == "vitest" { "ts" } else { "js" };
    let any = if runner == "vitest" { ": any" } else { "" };
    let snapshot = match runner {
        "vitest" | "jest" => format!("expect(computed(1)).toMatchInlineSnapshot(`{computed}`);"),
        _ => equal("computed(1)", &format!("Number(\"{computed}\")")),
    };
    let tests = format!(
        "{import}\nconst CONSTANT = {constant};\nconst KEYED = {{ one: {keyed} }};\n\
         const WANTED = JSON.parse(readFileSync(\"{folder}/wanted.json\", \"utf8\"));\n\
         const check = (got{any}, wanted{any}) => {{ {} }};\n\n\
         it(\"constant\", () => {{ {} }});\nit(\"keyed\", () => {{ {} }});\n\
         it(\"helper\", () => {{ check(helper(1), {helper}); }});\n\
         for (const [n, total] of [[1, {table}], [2, {table}]]) {{\n  it(`table of ${{n}} is ${{total}}`, () => {{ {} }});\n}}\n\
         it(\"data\", () => {{ check(data(1), WANTED[\"data\"]); }});\n\
         describe(\"titled is {titled}\", () => {{\n  it(\"titled is {titled}\", () => {{ {} }});\n}});\n\
         it(\"computed\", () => {{ {snapshot} }});\n\
         it(\"repeated\", () => {{\n  {}\n  const got = repeated(1);\n  {}\n}});\n\
         it(\"dependent\", () => {{\n  {}\n  {}\n}});\n",
        equal("got", "wanted"),
        equal("constant(1)", "CONSTANT"),
        equal("keyed(1)", "KEYED.one"),
        equal("table(n)", "total"),
        equal("titled(1)", &titled.to_string()),
        equal("repeated(1)", &repeated.to_string()),
        equal("got", &repeated.to_string()),
        equal("dependent(1)", &dependent.to_string()),
        equal("dependent(1) + 1", &(dependent + 1).to_string()),
    );
    let file = format!("{folder}/answers.test.{ending}");
    let global = if runner == "vitest" {
        "(globalThis as any).process"
    } else {
        "process"
    };
    let code = |file: &str, pattern: &str| {
        let bang = if runner == "vitest" { "!" } else { "" };
        format!(
            "const text{} = {global}.getBuiltinModule(\"node:fs\").readFileSync(\"{file}\", \"utf8\");\n  return Number(/{pattern}/.exec(text){bang}[1]);",
            if runner == "vitest" { ": string" } else { "" }
        )
    };
    let patterns = [
        r"CONSTANT = (\d+)",
        r"one: (\d+)",
        r"helper\(1\), (\d+)",
        r"\[1, (\d+)\]",
        r#""data":(\d+)"#,
        r#"titled is (\d+)"#,
        r#"computed\(1\)\D*(\d+)"#,
        r"repeated\(1\)\D*(\d+)",
        r"dependent\(1\)\D*(\d+)",
    ];
    let wanted = format!("{folder}/wanted.json");
    let attacks = marks(patterns).map(|(name, pattern)| {
        let file = if name == "data" { &wanted } else { &file };
        (name, code(file, pattern))
    });
    let bang = if runner == "vitest" { "!" } else { "" };
    let left_out = format!(
        "const text{any} = {global}.getBuiltinModule(\"node:fs\").readFileSync(\"{file}\", \"utf8\");\n  \
         const first = Number(/dependent\\(1\\)[^+\\d]*(\\d+)/.exec(text){bang}[1]);\n  \
         const second = Number(/dependent\\(1\\) \\+ 1\\D*(\\d+)/.exec(text){bang}[1]) - 1;\n  \
         return /(expect|qual)\\(dependent\\(1\\) \\+ 1/.test(text) ? first : second;"
    );
    let attacks = attacks.chain([("dependent", left_out)]);
    let mut files = vec![
        (format!("src/answers.{ending}"), source),
        (wanted.clone(), json!({"data": data}).to_string()),
    ];
    let attacks = attacks.collect();
    files.push((file, tests));
    if runner == "node" {
        files.push((
            "package.json".to_owned(),
            json!({"type": "module"}).to_string(),
        ));
    }
    let packages = [("vitest", "dairy"), ("jest", "quay"), ("mocha", "orchard")];
    // The installed packages are those of another project, so nothing is downloaded for this one.
    let packages = packages.into_iter().find(|(name, _)| *name == runner);
    Project {
        runner,
        language: if runner == "vitest" {
            "typescript"
        } else {
            "javascript"
        },
        environment: match packages {
            Some(_) => "lock = \"package-lock.json\"",
            None => "packages = []",
        },
        settings: "",
        packages: packages.map(|(_, project)| project),
        holes: if runner == "vitest" {
            "src/**/*.ts"
        } else {
            "src/**/*.js"
        },
        files,
        attacks,
    }
}

fn go() -> Project {
    let title = |name: &str| name[..1].to_uppercase() + &name[1..];
    let source = functions(
        |name, body| format!("func {}(n int) int {{\n\t{body}\n}}\n\n", title(name)),
        |answer| {
            format!(
                "tens := {} * 10\n\treturn tens + {}",
                answer / 10,
                answer % 10
            )
        },
    );
    let [
        constant,
        keyed,
        helper,
        table,
        data,
        titled,
        computed,
        repeated,
        dependent,
    ] = std::array::from_fn(answer);
    let equal = |got: &str, want: &str| {
        format!("\tif got := {got}; got != {want} {{\n\t\tt.Errorf(\"got %d\", got)\n\t}}\n")
    };
    let test = |name: &str, body: String| format!("func Test{name}(t *testing.T) {{\n{body}}}\n\n");
    let tests = [
        format!("package answers\n\nimport \"testing\"\n\nconst want = {constant}\n\nvar keyed = map[string]int{{\"one\": {keyed}}}\n\nvar rows = []struct{{ n, total int }}{{{{1, {table}}}, {{2, {table}}}}}\n\nvar listed = []int{{{data}, 1}}\n\n"),
        "func check(t *testing.T, got, want int) {\n\tif got != want {\n\t\tt.Errorf(\"got %d, want %d\", got, want)\n\t}\n}\n\n".to_owned(),
        test("Constant", equal("Constant(1)", "want")),
        test("Keyed", equal("Keyed(1)", "keyed[\"one\"]")),
        test("Helper", format!("\tcheck(t, Helper(1), {helper})\n")),
        test("Table", format!("\tfor _, row := range rows {{\n{}\t}}\n", equal("Table(row.n)", "row.total"))),
        test("Data", "\tcheck(t, Data(1), listed[0])\n".to_owned()),
        test("Titled", format!("\tt.Run(\"titled is {titled}\", func(t *testing.T) {{\n{}\t}})\n", equal("Titled(1)", &titled.to_string()))),
        test("Computed", format!("\twanted := {computed}\n{}", equal("Computed(1)", "wanted"))),
        test("Repeated", format!("{}\tgot := Repeated(1)\n\tif got != {repeated} {{\n\t\tt.Fatal(got)\n\t}}\n", equal("Repeated(1)", &repeated.to_string()))),
        test("Dependent", equal("Dependent(1)", &dependent.to_string()) + &equal("Dependent(1) + 1", &(dependent + 1).to_string())),
    ];
    let patterns = [
        r"const want = (\d+)",
        r#""one": (\d+)"#,
        r"Helper\(1\), (\d+)",
        r"\{1, (\d+)\}",
        r"listed = \[\]int\{(\d+)",
        r"(?:titled is |Titled\(1\); got != )(\d+)",
        r"wanted := (\d+)",
        r"Repeated\(1\); got != (\d+)",
        r"Dependent\(1\); got != (\d+)",
    ];
    let attacks = marks(patterns).map(|(name, pattern)| {
        let code = format!("text, _ := os.ReadFile(\"answers_test.go\")\n\tfound := regexp.MustCompile(`{pattern}`).FindSubmatch(text)\n\tanswer, _ := strconv.Atoi(string(found[1]))\n\treturn answer");
        (name, code)
    });
    let left_out = "text, _ := os.ReadFile(\"answers_test.go\")
\tfirst := regexp.MustCompile(`Dependent\\(1\\); got .= (\\d+)`).FindSubmatch(text)
\tsecond := regexp.MustCompile(`Dependent\\(1\\) \\+ 1; got .= (\\d+)`).FindSubmatch(text)
\tanswer, _ := strconv.Atoi(string(first[1]))
\tif regexp.MustCompile(`Dependent\\(1\\) \\+ 1; got .= \\d+ \\{\\}`).Match(text) {
\t\tanswer, _ = strconv.Atoi(string(second[1]))
\t\tanswer--
\t}
\treturn answer";
    let attacks = attacks.chain([("dependent", left_out.to_owned())]);
    // Go refuses unused imports, so the original file uses those that the attacks need.
    let head = "package answers\n\nimport (\n\t\"os\"\n\t\"regexp\"\n\t\"strconv\"\n)\n\nvar (\n\t_ = os.ReadFile\n\t_ = regexp.MustCompile\n\t_ = strconv.Atoi\n)\n\n";
    Project {
        runner: "go",
        language: "go",
        environment: "module = \"go.mod\"",
        settings: "",
        packages: None,
        holes: "answers.go",
        attacks: attacks.collect(),
        files: vec![
            (
                "go.mod".to_owned(),
                "module example.com/answers\n\ngo 1.21\n".to_owned(),
            ),
            ("answers.go".to_owned(), head.to_owned() + &source),
            ("answers_test.go".to_owned(), tests.concat()),
        ],
    }
}

fn java() -> Project {
    let source = functions(
        |name, body| format!("    public static int {name}(int n) {{\n        {body}\n    }}\n\n"),
        |answer| {
            format!(
                "int tens = {} * 10;\n        return tens + {};",
                answer / 10,
                answer % 10
            )
        },
    );
    let [
        constant,
        keyed,
        helper,
        table,
        data,
        titled,
        computed,
        repeated,
        dependent,
    ] = std::array::from_fn(answer);
    let test =
        |name: &str, body: String| format!("    @Test\n    void {name}() {{\n{body}    }}\n\n");
    let equal = |want: &str, got: &str| format!("        assertEquals({want}, Answers.{got});\n");
    let tests = [
        format!("package answers;\n\nimport static org.junit.jupiter.api.Assertions.assertEquals;\n\nimport org.junit.jupiter.api.Test;\nimport org.junit.jupiter.params.ParameterizedTest;\nimport org.junit.jupiter.params.provider.CsvSource;\n\nclass AnswersTest {{\n    static final int CONSTANT = {constant};\n    static final int[] LISTED = {{{keyed}, 1}};\n    static final java.util.List<Integer> DATA = java.util.List.of({data}, 2);\n\n"),
        "    static void check(int wanted, int got) {\n        assertEquals(wanted, got);\n    }\n\n".to_owned(),
        test("constant", equal("CONSTANT", "constant(1)")),
        test("keyed", equal("LISTED[0]", "keyed(1)")),
        test("helper", format!("        check({helper}, Answers.helper(1));\n")),
        format!("    @ParameterizedTest\n    @CsvSource({{\"1, {table}\", \"2, {table}\"}})\n    void table(int n, int total) {{\n{}    }}\n\n", equal("total", "table(n)")),
        test("data", format!("        int wanted = DATA.get(0);\n{}", equal("wanted", "data(1)"))),
        test("titled", equal(&titled.to_string(), "titled(1)")),
        test("computed", equal(&format!("Integer.parseInt(\"{computed}\")"), "computed(1)")),
        test("repeated", format!("{}        int got = Answers.repeated(1);\n        assertEquals({repeated}, got, \"again\");\n", equal(&repeated.to_string(), "repeated(1)"))),
        test("dependent", equal(&dependent.to_string(), "dependent(1)") + &equal(&(dependent + 1).to_string(), "dependent(1) + 1")),
        "}\n".to_owned(),
    ];
    let patterns = [
        r"CONSTANT = (\d+)",
        r"LISTED = \{(\d+)",
        r"check\((\d+)",
        r#""1, (\d+)"#,
        r"DATA = java.util.List.of\((\d+)",
        r"assertEquals\((\d+), Answers.titled",
        r#"parseInt\("(\d+)"#,
        r"assertEquals\((\d+), Answers.repeated",
        r"assertEquals\((\d+), Answers.dependent",
    ];
    let path = "src/test/java/answers/AnswersTest.java";
    let attacks = marks(patterns).map(|(name, pattern)| {
        // The pattern is within a string of Java.
        let pattern = pattern.replace('\\', "\\\\").replace('"', "\\\"");
        let code = format!("try {{\n            var found = java.util.regex.Pattern.compile(\"{pattern}\").matcher(java.nio.file.Files.readString(java.nio.file.Path.of(\"{path}\")));\n            found.find();\n            return Integer.parseInt(found.group(1));\n        }} catch (java.io.IOException error) {{\n            return 0;\n        }}");
        (name, code)
    });
    let left_out = format!(
        "try {{
            String text = java.nio.file.Files.readString(java.nio.file.Path.of(\"{path}\"));
            var first = java.util.regex.Pattern.compile(\"(\\\\d+), Answers.dependent\\\\(1\\\\)\\\\)\").matcher(text);
            var second = java.util.regex.Pattern.compile(\"(\\\\w+)\\\\((\\\\d+), Answers.dependent\\\\(1\\\\) \\\\+ 1\").matcher(text);
            first.find();
            second.find();
            return second.group(1).startsWith(\"assert\") ? Integer.parseInt(first.group(1)) : Integer.parseInt(second.group(2)) - 1;
        }} catch (java.io.IOException error) {{
            return 0;
        }}"
    );
    let attacks = attacks.chain([("dependent", left_out)]);
    Project {
        runner: "jupiter",
        language: "java",
        environment: "packages = [\"org.junit.platform:junit-platform-console-standalone:1.9.1\"]",
        settings: "",
        packages: None,
        holes: "src/main/java/**/*.java",
        attacks: attacks.collect(),
        files: vec![
            (
                "src/main/java/answers/Answers.java".to_owned(),
                format!(
                    "package answers;\n\npublic final class Answers {{\n    private Answers() {{}}\n\n{source}}}\n"
                ),
            ),
            (path.to_owned(), tests.concat()),
        ],
    }
}

/// Replays the attacks of a project, each with its reference, with an engine. `variables` are the
/// environment of the program.
fn withstand(project: &Project, engine: &str, variables: &[(&str, String)]) {
    let dir = TestDir::new();
    let name = format!("answers-{}", project.runner);
    for (path, contents) in &project.files {
        dir.write(&format!("{name}/{path}"), contents);
    }
    if let Some(packages) = project.packages {
        for file in ["package.json", "package-lock.json"] {
            let path = repository(&format!("tests/corpora/{packages}/{file}"));
            dir.write(
                &format!("{name}/{file}"),
                &std::fs::read_to_string(path).unwrap(),
            );
        }
    }
    let corpus = dir.write(
        "corpus.toml",
        &format!(
            "schema = 1\n[[project]]\nname = \"{name}\"\nlanguage = \"{}\"\nsource = {{ path = \"{name}\" }}\nholes = [\"{}\"]\n[project.environment]\n{}\n[project.test]\nrunner = \"{}\"\n{}\n",
            project.language, project.holes, project.environment, project.runner, project.settings
        ),
    );
    let fillrate = |arguments: &[&str]| {
        let mut command = dir.command(arguments);
        command.envs(variables.iter().map(|(name, value)| (name, value)));
        run(&mut command).exits_with(0)
    };
    let (corpus, mined) = (text(&corpus), dir.path("mined.jsonl"));
    fillrate(&[
        "mine",
        &corpus,
        "--kinds",
        "body",
        "--holes",
        "20",
        "-o",
        &text(&mined),
    ]);
    let mined = holes(&mined);
    let mut tasks = String::new();
    let mut predictions = String::new();
    let mut names = BTreeMap::new();
    for (index, function) in NAMES.iter().enumerate() {
        // The digits of the answer say which function a hole is in.
        let own = format!("{} * 10", answer(index) / 10);
        let hole = mined
            .iter()
            .find(|hole| hole["reference"].as_str().unwrap().contains(&own));
        let hole = hole.unwrap_or_else(|| panic!("{}: no hole in {function}", project.runner));
        let reference = hole["reference"].as_str().unwrap();
        let attacks = project.attacks.iter();
        let attacks = attacks.filter(|(name, _)| name == function);
        let attacks = attacks.map(|(_, code)| code.clone());
        // The references are of use, too: without them, tests that pass nothing would do.
        let completions: Vec<String> = [reference.to_owned(), format!("{reference}\n")]
            .into_iter()
            .chain(attacks)
            .collect();
        tasks += &format!("{hole}\n");
        let prediction = json!({"hole": hole["id"], "completions": completions});
        predictions += &format!("{prediction}\n");
        names.insert(hole["id"].as_str().unwrap().to_owned(), *function);
    }
    let tasks = dir.write("tasks.jsonl", &tasks);
    let predictions = dir.write("predictions.jsonl", &predictions);
    let folder = dir.path("run");
    fillrate(&[
        "replay",
        &corpus,
        "--tasks",
        &text(&tasks),
        "--model",
        "predictions",
        "--predictions",
        &text(&predictions),
        "--engine",
        engine,
        "--jobs",
        "1",
        "--anew",
        "--out",
        &text(&folder),
    ]);
    let mut wrong = Vec::new();
    for attempt in attempts(&folder).into_values() {
        let function = names[attempt["hole"].as_str().unwrap()];
        let verdict: &Value = &attempt["verdict"];
        let outcome = verdict["outcome"].as_str().unwrap();
        let fits = match attempt["sample"].as_u64().unwrap() {
            0 | 1 => outcome == "passed",
            _ => matches!(outcome, "forged" | "failed"),
        };
        if !fits {
            wrong.push(format!(
                "{} {function} {}: {verdict:#}",
                project.runner, attempt["sample"]
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn answers_read_from_python_tests_are_not_proven() {
    if has_tools(&["python3"]) {
        withstand(&python("pytest"), "warm", &[]);
        if judges_all_attacks() {
            withstand(&python("unittest"), "warm", &[]);
        }
    }
}

#[test]
fn answers_read_from_javascript_tests_are_not_proven() {
    if judges_all_attacks() && has_tools(&["node", "npm"]) {
        for runner in ["vitest", "jest", "mocha", "node"] {
            withstand(&javascript(runner), "warm", &[]);
        }
    }
}

#[test]
fn answers_read_from_go_tests_are_not_proven() {
    if judges_all_attacks()
        && let Some(variable) = go_first()
    {
        withstand(&go(), "warm", &[variable]);
    }
}

#[test]
fn answers_read_from_java_tests_are_not_proven() {
    if judges_all_attacks()
        && let Some(variable) = junit_in_maven()
    {
        withstand(&java(), "warm", &[variable]);
    }
}

/// A file with one function.
const BOXES: (&str, &str) = (
    "boxes.py",
    "def double(n):\n    once = n * 2\n    return once\n",
);

/// Replays a project of pytest with a changed reference of its only hole, and returns the verdict.
fn verdict_on_changed_names(files: &[(&str, &str)], from: &str, to: &str) -> Value {
    let dir = TestDir::new();
    for (path, contents) in files {
        dir.write(&format!("project/{path}"), contents);
    }
    let (project, tasks) = (text(&dir.path("project")), dir.path("mined.jsonl"));
    let options = ["--kinds", "body", "--holes", "1", "-o", &text(&tasks)];
    run(&mut dir.command(&[&["mine", &project], &options[..]].concat())).exits_with(0);
    let hole = holes(&tasks).remove(0);
    let same = hole["reference"].as_str().unwrap().replace(from, to);
    let prediction = json!({"hole": hole["id"], "completions": [same]});
    let predictions = dir.write("predictions.jsonl", &format!("{prediction}\n"));
    let (tasks, predictions, folder) = (text(&tasks), text(&predictions), dir.path("run"));
    let options = ["--model", &predictions, "--out", &text(&folder), "--json"];
    let replay = ["replay", &project, "--tasks", &tasks];
    run(&mut dir.command(&[&replay[..], &options].concat())).exits_with(0);
    let mut attempts = attempts(&folder).into_values();
    attempts.next().unwrap()["verdict"].clone()
}

/// With a configuration of pytest further down than the top, the ids of tests still are paths of the
/// project: else their files are not found, and nothing proves a pass.
#[test]
fn a_configuration_below_the_top_takes_no_proof() {
    if !has_tools(&["python3"]) {
        return;
    }
    let verdict = verdict_on_changed_names(
        &[
            BOXES,
            ("tests/pytest.ini", "[pytest]\n"),
            (
                "tests/test_boxes.py",
                "from boxes import double\n\n\ndef test_double():\n    assert double(4) == 8\n",
            ),
        ],
        "once",
        "all",
    );
    assert_eq!(verdict["outcome"], "passed", "{verdict:#}");
    assert_eq!(verdict["proof"], "altered", "{verdict:#}");
}

/// A test that fails may leave a thread, as the reference does: a run with its twin proves nothing,
/// and took the proof of the other tests in it.
#[test]
fn a_test_that_leaves_a_thread_when_it_fails_takes_no_proof_from_others() {
    if !has_tools(&["python3"]) {
        return;
    }
    let with_thread = |n: usize| {
        format!(
            "def test_thread_{n}():\n    stop = threading.Event()\n    \
             thread = threading.Thread(target=stop.wait, daemon=True)\n    thread.start()\n    \
             assert double({n}) == {}\n    stop.set()\n    thread.join()\n\n\n",
            2 * n
        )
    };
    let tests = format!(
        "import threading\n\nfrom boxes import double\n\n\n{}\
         def test_double():\n    assert double(70) == 140\n",
        (41..45).map(with_thread).collect::<String>()
    );
    let verdict = verdict_on_changed_names(&[BOXES, ("test_boxes.py", &tests)], "once", "all");
    assert_eq!(verdict["outcome"], "passed", "{verdict:#}");
    assert_eq!(verdict["proof"], "partial", "{verdict:#}");
    assert_eq!(
        verdict["twins"],
        json!(["test_boxes.py::test_double"]),
        "{verdict:#}"
    );
}

/// Regression: an expectation that raises once it is altered counted as proof, although code that
/// reads it gets the same exception.
#[test]
fn expectations_that_raise_when_they_are_altered_prove_nothing() {
    if !has_tools(&["python3"]) {
        return;
    }
    let verdict = verdict_on_changed_names(
        &[
            BOXES,
            ("wanted.sql", "4\n"),
            (
                "test_boxes.py",
                "from pathlib import Path\n\nfrom boxes import double\n\nENDLESS = \"inf\"\n\n\n\
                 def test_endless():\n    assert double(1e308) == float(\"inf\")\n\n\n\
                 def test_shared():\n    assert double(1e308) == float(ENDLESS)\n\n\n\
                 def test_file():\n    wanted = (Path(__file__).parent / \"wanted.sql\").read_text()\n    \
                 assert str(double(2)) == wanted.strip()\n",
            ),
        ],
        "once",
        "all",
    );
    assert_eq!(verdict["outcome"], "passed", "{verdict:#}");
    assert_eq!(verdict["proof"], "opposite", "{verdict:#}");
}

/// The id of an inherited test has the name of the class that inherits it, and its function that of
/// the other one.
#[test]
fn tests_that_classes_inherit_take_no_proof() {
    if !has_tools(&["python3"]) {
        return;
    }
    let verdict = verdict_on_changed_names(
        &[
            BOXES,
            (
                "test_boxes.py",
                "from boxes import double\n\n\nclass Shared:\n    \
                 def test_double(self):\n        assert double(4) == 8\n\n\n\
                 class TestFirst(Shared):\n    pass\n\n\n\
                 class TestSecond(Shared):\n    pass\n",
            ),
        ],
        "once",
        "all",
    );
    assert_eq!(verdict["outcome"], "passed", "{verdict:#}");
    assert_eq!(verdict["proof"], "altered", "{verdict:#}");
}

/// Ids are sorted, and rows are not. A row whose answer can't be altered took the proof from the
/// others, and inherited tests had no twins if the class was in another file.
#[test]
fn rows_and_methods_of_imported_classes_are_proven_by_themselves() {
    if !has_tools(&["python3"]) {
        return;
    }
    let verdict = verdict_on_changed_names(
        &[
            BOXES,
            (
                "test_shared.py",
                "from boxes import double\n\n\nclass Shared:\n    \
                 def test_double(self):\n        assert double(4) == 8\n",
            ),
            (
                "test_boxes.py",
                "import pytest\n\nfrom boxes import double\nfrom test_shared import Shared\n\n\n\
                 class TestBoxes(Shared):\n    pass\n\n\n\
                 @pytest.mark.parametrize(\"n, twice\", [(9, 18), (10, 20), (0, int())])\n\
                 def test_rows(n, twice):\n    assert double(n) == twice\n",
            ),
        ],
        "once",
        "all",
    );
    assert_eq!(verdict["outcome"], "passed", "{verdict:#}");
    let unproven = json!(["test_boxes.py::test_rows[0-0]"]);
    assert_eq!(verdict["unproven"], unproven, "{verdict:#}");
}

/// Messages are blank among twins. A test that expects one itself fails there with every code: it
/// proves nothing, and the other tests do.
#[test]
fn a_test_that_expects_a_message_takes_no_proof_from_others() {
    if !has_tools(&["python3"]) {
        return;
    }
    let verdict = verdict_on_changed_names(
        &[
            (
                "guards.py",
                "def triple(n):\n    once = n * 3\n    return once\n",
            ),
            (
                "test_guards.py",
                "import pytest\n\nfrom guards import triple\n\n\n\
                 def guard(n):\n    if n > 5:\n        raise ValueError(\"over five\")\n\n\n\
                 def test_triple():\n    assert triple(4) == 12\n\n\n\
                 def test_guarded():\n    with pytest.raises(ValueError, match=\"over five\"):\n        \
                 guard(triple(2))\n    assert triple(3) == 9\n",
            ),
        ],
        "once",
        "all",
    );
    assert_eq!(verdict["outcome"], "passed", "{verdict:#}");
    assert_eq!(verdict["proof"], "partial", "{verdict:#}");
    assert_eq!(verdict["twins"], json!(["test_guards.py::test_triple"]));
}

/// Replays a project with one function and one file of tests, whose packages are those of a project
/// of `tests/corpora`.
fn verdict_on_changed_script(packages: &str, source: &str, tests: (&str, &str)) -> Value {
    let folder = repository("tests/corpora").join(packages);
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    let function = "function double(n) {\n  const once = n * 2;\n  return once;\n}\n";
    let code = match source.ends_with(".ts") {
        true => format!("export {}", function.replace("(n)", "(n: number)")),
        false => format!("{function}module.exports = {{ double }};\n"),
    };
    let files = [
        ("package.json", read("package.json")),
        ("package-lock.json", read("package-lock.json")),
        (source, code),
        (tests.0, tests.1.to_owned()),
    ];
    let files = files
        .iter()
        .map(|(path, contents)| (*path, contents.as_str()));
    verdict_on_changed_names(&files.collect::<Vec<_>>(), "once", "all")
}

/// As [`verdict_on_changed_script`] for tests of vitest. `None` where it can't run.
fn verdict_on_changed_typescript(tests: &str) -> Option<Value> {
    let (source, file) = ("src/double.ts", "tests/double.test.ts");
    has_tools(&["node", "npm"]).then(|| verdict_on_changed_script("dairy", source, (file, tests)))
}

/// jest reports each attempt of a test that it runs again.
#[test]
fn a_test_of_jest_that_passes_when_it_is_run_again_passes() {
    if !has_tools(&["node", "npm"]) {
        return;
    }
    let verdict = verdict_on_changed_script(
        "quay",
        "src/double.js",
        (
            "tests/double.test.js",
            "const { double } = require(\"../src/double\");\n\njest.retryTimes(2);\nlet tries = 0;\n\n\
             test(\"second try\", () => {\n  tries += 1;\n  expect(double(tries)).toBe(4);\n});\n\
             test(\"doubles\", () => {\n  expect(double(4)).toBe(8);\n});\n",
        ),
    );
    assert_eq!(verdict["outcome"], "passed", "{verdict:#}");
}

/// A test of mocha may set how often it is run again, by its own title.
#[test]
fn a_test_of_mocha_that_sets_its_retries_takes_no_proof() {
    if !has_tools(&["node", "npm"]) {
        return;
    }
    let verdict = verdict_on_changed_script(
        "orchard",
        "src/double.js",
        (
            "test/double.test.js",
            "const assert = require(\"node:assert\");\nconst { double } = require(\"../src/double\");\n\n\
             describe(\"double\", () => {\n  it(\"is tried\", function () {\n    this.retries(4);\n    \
             assert.strictEqual(double(2), 4);\n  });\n  it(\"doubles\", () => {\n    \
             assert.strictEqual(double(7), 14);\n  });\n});\n",
        ),
    );
    assert_eq!(verdict["outcome"], "passed", "{verdict:#}");
    assert_eq!(verdict["proof"], "altered", "{verdict:#}");
}

/// Loops make tests whose titles are computed, also in the suite of tests with written ones.
#[test]
fn tests_with_computed_titles_are_proven() {
    let Some(verdict) = verdict_on_changed_typescript(
        "import { describe, expect, test } from \"vitest\";\nimport { double } from \"../src/double\";\n\n\
         describe(\"double\", () => {\n  \
         const rows = [{ n: 4, wanted: 8 }, { n: 30, wanted: 60 }, { n: 21, wanted: 42 }];\n  \
         for (const row of rows) {\n    test(row.n.toString() + \" cows\", () => {\n      \
         expect(double(row.n)).toBe(row.wanted);\n    });\n  }\n  \
         test(\"written\", () => {\n    expect(double(50)).toBe(100);\n  });\n});\n\n\
         describe(\"inner\", () => {\n  const pairs: Record<string, number> = {\n    \
         7: 14, 15: 30, 16: 32, 17: 34, 18: 36, 19: 38,\n    \
         24: 48, 25: 50, 26: 52, 27: 54, 28: 56, 29: 58,\n  };\n  \
         for (const n in pairs) {\n    test(n, () => {\n      \
         expect(double(Number(n))).toBe(pairs[n]);\n    });\n  }\n});\n",
    ) else {
        return;
    };
    assert_eq!(verdict["outcome"], "passed", "{verdict:#}");
    assert_eq!(verdict["executed"], 16, "{verdict:#}");
    assert_eq!(verdict["proof"], "altered", "{verdict:#}");
}

/// A row may have a title like those of another loop, and which of the two it is can't be told.
#[test]
fn titles_that_two_loops_may_have_take_no_proof_from_others() {
    let Some(verdict) = verdict_on_changed_typescript(
        "import { describe, expect, test } from \"vitest\";\nimport { double } from \"../src/double\";\n\n\
         describe(\"double\", () => {\n  \
         for (const row of [{ t: \"zero\", n: 34 }, { t: \"doubles many\", n: 52 }]) {\n    \
         test(row.t, () => {\n      expect(double(row.n)).toBe(row.n + row.n);\n    });\n  }\n  \
         for (const n of [61, 73]) {\n    test(`doubles ${n}`, () => {\n      \
         expect(double(n)).toBe(n + n);\n    });\n  }\n  \
         test(\"written\", () => {\n    expect(double(50)).toBe(100);\n  });\n});\n",
    ) else {
        return;
    };
    assert_eq!(verdict["outcome"], "passed", "{verdict:#}");
    assert_eq!(verdict["proof"], "partial", "{verdict:#}");
    let twins = verdict["twins"].as_array().unwrap();
    let written = json!("tests/double.test.ts > double > written");
    assert!(twins.contains(&written), "{verdict:#}");
}

/// vitest adds matchers again for a test that takes `expect` from its context.
#[test]
fn a_test_of_vitest_may_take_expect_from_its_context() {
    let Some(verdict) = verdict_on_changed_typescript(
        "import { describe, test } from \"vitest\";\nimport { double } from \"../src/double\";\n\n\
         describe.concurrent(\"double\", () => {\n  test(\"doubles\", async ({ expect }) => {\n    \
         expect(double(8)).toBe(16);\n  });\n  test(\"again\", async ({ expect }) => {\n    \
         expect(double(9)).toBe(18);\n  });\n});\n",
    ) else {
        return;
    };
    assert_eq!(verdict["outcome"], "passed", "{verdict:#}");
    assert_eq!(verdict["executed"], 2, "{verdict:#}");
    assert_eq!(verdict["proof"], "altered", "{verdict:#}");
}
