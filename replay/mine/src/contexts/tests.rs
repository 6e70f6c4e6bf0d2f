use fillrate_language::task::HoleKind;
use fillrate_server::context::Window;
use fillrate_server::prompt::approximate_tokens;
use fillrate_syntax::Language;
use proptest::prelude::*;

use super::mrg_bench::{window, within};
use super::*;

fn source(path: &str, contents: &str) -> SourceFile {
    SourceFile {
        path: path.into(),
        contents: contents.into(),
        language: Language::for_path(std::path::Path::new(path)).expect("it is in the table"),
    }
}

fn files() -> Vec<SourceFile> {
    let errors = "class InputError(TypeError):\n    \"\"\"Not a string.\"\"\"\n\n    code = 3\n\n    def __init__(self, data):\n        \"\"\"With data.\"\"\"\n        super().__init__(str(data))\n";
    let checks = "import re\n\nDIGITS = re.compile(r\"[0-9]\")\n\n\ndef is_string(text) -> bool:\n    \"\"\"Whether it is one.\"\"\"\n    return isinstance(text, str)\n";
    let main = "import sys\nfrom .errors import InputError\nfrom .checks import is_string, DIGITS\n\nLIMIT = 3\n\n\ndef other():\n    return sys.path\n\n\nclass Box:\n    size = 3\n\n    def reverse(self, text):\n        \"\"\"Reverses.\"\"\"\n        if not is_string(text):\n            raise InputError(text)\n        return helper(text)[::-1][:LIMIT] + DIGITS + self.again()\n\n    def again(self):\n        return 1\n\n\ndef helper(text):\n    # REFERENCES are elsewhere.\n    return text\n";
    vec![
        source("text/checks.py", checks),
        source("text/errors.py", errors),
        source("text/main.py", main),
        source("other/main.py", "def far():\n    return 1\n"),
    ]
}

fn repoexec(level: ContextLevel) -> PaperContext {
    PaperContext::RepoExec(level, PromptForm::Base)
}

fn mrg(context: MrgContext) -> PaperContext {
    PaperContext::MrgBench(context)
}

fn view(paper: PaperContext) -> HoleView {
    let files = files();
    let main = &files[2];
    let start = main.contents.find("if not").expect("it is there");
    let end = main.contents.find(" + DIGITS").expect("it is there");
    let hole = Hole::new(
        "demo",
        "python",
        "text/main.py",
        HoleKind::Block,
        start..end,
        &main.contents,
    );
    let view = paper.view(&DependencyIndex::new(&files), main, &hole);
    view.expect("the function is documented")
}

fn rendered_view(paper: PaperContext) -> String {
    let HoleView {
        prefix,
        suffix,
        windows,
    } = view(paper);
    let windows: String = windows
        .iter()
        .map(|window| format!("[{}:{}]\n{}\n", window.path, window.first_line, window.text))
        .collect();
    format!("{windows}[shown]\n{prefix}$0{suffix}")
}

#[test]
fn repoexec_shows_imports_dependencies_and_the_function() {
    insta::assert_snapshot!(rendered_view(repoexec(ContextLevel::Full)), @r#"
[shown]
import sys
from .errors import InputError
from .checks import is_string, DIGITS

class InputError(TypeError):
    """Not a string."""

    code = 3

    def __init__(self, data):
        """With data."""
        super().__init__(str(data))

DIGITS = re.compile(r"[0-9]")

def is_string(text) -> bool:
    """Whether it is one."""
    return isinstance(text, str)

LIMIT = 3

def helper(text):
    # REFERENCES are elsewhere.
    return text

class Box:
    def again(self):
        return 1

    def reverse(self, text):
        """Reverses."""
        $0 + DIGITS + self.again()
"#);
    insta::assert_snapshot!(rendered_view(repoexec(ContextLevel::Medium)), @r#"
[shown]
import sys
from .errors import InputError
from .checks import is_string, DIGITS

class InputError(TypeError):
    """Not a string."""

    def __init__(self, data):
        """With data."""

DIGITS = re.compile(r"[0-9]")

def is_string(text) -> bool:
    """Whether it is one."""

LIMIT = 3

def helper(text):

class Box:
    def again(self):

    def reverse(self, text):
        """Reverses."""
        $0 + DIGITS + self.again()
"#);
    insta::assert_snapshot!(rendered_view(repoexec(ContextLevel::Small)), @r#"
[shown]
import sys
from .errors import InputError
from .checks import is_string, DIGITS

class InputError(TypeError):

    def __init__(self, data):

DIGITS = re.compile(r"[0-9]")

def is_string(text) -> bool:

LIMIT = 3

def helper(text):

class Box:
    def again(self):

    def reverse(self, text):
        """Reverses."""
        $0 + DIGITS + self.again()
"#);
}

#[test]
fn repoexec_medium_has_the_released_form() {
    let files = [
        source(
            "shop/base.py",
            "class Item:\n    \"\"\"What is sold.\n\n      Indented.\n    \"\"\"\n\n    @property\n    def price(\n        self,\n        rate=1,\n    ) -> float:\n        \"\"\"Its price.\"\"\"\n        return rate\n\n\nSIZE = 3\n",
        ),
        source("shop/__init__.py", "from .base import Item\n"),
        source(
            "shop/main.py",
            "from shop import Item\nfrom .base import SIZE\n\n\ndef sort(items):  # type: ignore\n    \"\"\"Sorts them.\n\n    @param items:\n        what to sort\n    \"\"\"\n    return sorted(items)\n\n\nclass Own:\n    \"\"\"Is\n\n    own.\n    \"\"\"\n\n    size = 3\n\n    def get(self, a,\n            b):\n        return a\n\n\nLIMIT = 4\n\n\ndef cached(function):\n    return function\n\n\n@cached\ndef best(items: Item):\n    \"\"\"The best.\n\n      Of them.\n    \"\"\"\n    return sort(items)[:LIMIT][SIZE], Own()\n",
        ),
    ];
    let main = &files[2];
    let body = main.contents.find("    return sort(").expect("it is there");
    let end = main.contents.trim_end().len();
    let hole = Hole::new(
        "demo",
        "python",
        &main.path,
        HoleKind::Body,
        body..end,
        &main.contents,
    );
    let repository = DependencyIndex::new(&files);
    let view = repoexec(ContextLevel::Medium).view(&repository, main, &hole);
    let view = view.expect("it has no instruction");
    insta::assert_snapshot!(view.prefix, @r#"
from shop import Item
from .base import SIZE

class Item:
    """What is sold.

    Indented.
    """

    def price(
            self,
            rate=1,
        ) -> float:
        """Its price."""

SIZE = 3

def sort(items):
    """Sorts them.
    what to sort
    """

class Own:
    """Is
    own.
    """

    def get(self, a,
                b):

LIMIT = 4

def best(items: Item):
    """The best.

      Of them.
    """
"#);
}

#[test]
fn instructions_state_the_task_of_a_documented_function() {
    let files = [source(
        "main.py",
        "import re\n\nLIMIT = 4\n\n\n@cached\ndef best(items,\n         size=1):\n    \"\"\"The best.\"\"\"\n    own = items[:LIMIT]\n    return own\n\n\ndef plain():\n    return LIMIT\n",
    )];
    let main = &files[0];
    let repository = DependencyIndex::new(&files);
    let show = |text: &str, form| {
        let start = main.contents.find(text).expect("it is there");
        let end = start + text.len();
        let hole = Hole::new(
            "a",
            "python",
            "main.py",
            HoleKind::Body,
            start..end,
            &main.contents,
        );
        PaperContext::RepoExec(ContextLevel::Full, form).view(&repository, main, &hole)
    };
    let body = "own = items[:LIMIT]\n    return own";
    let shown = show(body, PromptForm::Instruct1).expect("it is documented");
    insta::assert_snapshot!(shown.prefix + "$0" + &shown.suffix, @r#"
### Instruction:
Write a Python function `best(items, size=1)` to solve the following problem:
"""The best."""

### Response:
import re

LIMIT = 4

def best(items,
         size=1):
    """The best."""
    $0
"#);
    let shown = show(body, PromptForm::Instruct2).expect("it is documented");
    insta::assert_snapshot!(shown.prefix + "$0" + &shown.suffix, @r#"
### Instruction:
import re

LIMIT = 4

The provided code snippet includes necessary dependencies for implementing the `best` function. Write a Python function `best(items, size=1)` to solve the following problem:
"""The best."""

### Response:
def best(items,
         size=1):
    """The best."""
    $0
"#);
    // The same as tuning data has it, which ends with the documentation.
    let functions = repository.documented_functions("main.py");
    let prompts = TaskPrompts {
        repository: &repository,
        file: main,
    };
    for form in PromptForm::VARIANTS {
        let shown = show(body, *form).expect("it is documented");
        let rendered = prompts.render(&functions[0], ContextLevel::Full, *form);
        assert_eq!(shown.prefix.trim_end(), rendered);
    }
    let refusal = show("return LIMIT", PromptForm::Instruct1).expect_err("it is not documented");
    insta::assert_snapshot!(refusal, @"--context repoexec-full-instruct-1 describes a function by its documentation, but none is before the hole a/main.py:15:body:5d589d18; choose tasks that are bodies of documented functions, or a context without instruction");
}

/// A called class may have the function itself as its constructor.
#[test]
fn callees_are_others_than_the_function() {
    let text = "class Node:\n    def __init__(self, depth):\n        self.child = Leaf(depth - 1) if depth else note()\n\n\nclass Leaf(Node):\n    pass\n\n\ndef note():\n    return 1\n";
    let files = vec![source("a.py", text)];
    let reference = "self.child = Leaf(depth - 1) if depth else note()";
    let start = text.find(reference).expect("it is there");
    let range = start..start + reference.len();
    let hole = Hole::new("demo", "python", "a.py", HoleKind::Body, range, text);
    let index = DependencyIndex::new(&files);
    let view = mrg(MrgContext::CalleeBodies).view(&index, &files[0], &hole);
    let windows = view.expect("it is in a function").windows;
    let texts: Vec<&str> = windows.iter().map(|window| window.text.as_str()).collect();
    assert_eq!(texts, ["def note():\n    return 1"]);
}

#[test]
fn mrg_shows_the_function_and_windows() {
    insta::assert_snapshot!(rendered_view(mrg(MrgContext::None)), @r#"
[shown]
class Box:
    def reverse(self, text):
        """Reverses."""
        $0 + DIGITS + self.again()
"#);
    insta::assert_snapshot!(rendered_view(mrg(MrgContext::CalleeBodies)), @r#"
[text/checks.py:5]
def is_string(text) -> bool:
    """Whether it is one."""
    return isinstance(text, str)
[text/errors.py:5]
def __init__(self, data):
    """With data."""
    super().__init__(str(data))
[text/main.py:24]
def helper(text):
    # REFERENCES are elsewhere.
    return text
[text/main.py:20]
def again(self):
    return 1
[shown]
class Box:
    def reverse(self, text):
        """Reverses."""
        $0 + DIGITS + self.again()
"#);
    insta::assert_snapshot!(rendered_view(mrg(MrgContext::CalleeSignatures)), @r#"
[text/checks.py:5]
def is_string(text) -> bool:
[text/errors.py:5]
def __init__(self, data):
[text/main.py:24]
def helper(text):
[text/main.py:20]
def again(self):
[shown]
class Box:
    def reverse(self, text):
        """Reverses."""
        $0 + DIGITS + self.again()
"#);
    let file = view(mrg(MrgContext::InFile));
    assert_eq!(file.windows.len(), 1);
    assert!(file.windows[0].text.starts_with("import sys\n"));
    let folder = view(mrg(MrgContext::Folder));
    let paths: Vec<_> = folder.windows.iter().map(|window| &*window.path).collect();
    assert_eq!(paths, ["text/checks.py", "text/errors.py", "text/main.py"]);
}

#[test]
fn no_context_has_the_reference_in_it() {
    for paper in PaperContext::all() {
        assert_eq!(paper.to_string().parse(), Ok(paper));
        assert!(
            !rendered_view(paper).contains("raise InputError(text)"),
            "{paper}"
        );
    }
}

#[test]
fn a_method_in_typescript_is_shown_within_its_class() {
    let contents = "import { rate } from './rates';\n\nexport class Cart<T> extends Base {\n  size = 3;\n\n  /** Its price. */\n  price(): number {\n    return rate(this.size);\n  }\n}\n";
    let files = [
        source("cart.ts", contents),
        source(
            "rates.ts",
            "/** What it costs. */\nexport function rate(size: number): number {\n  return size;\n}\n",
        ),
    ];
    let start = contents.find("return").expect("it is there");
    let hole = Hole::new(
        "demo",
        "typescript",
        "cart.ts",
        HoleKind::Line,
        start..start + 23,
        contents,
    );
    let view = repoexec(ContextLevel::Medium).view(&DependencyIndex::new(&files), &files[0], &hole);
    let HoleView { prefix, suffix, .. } = view.expect("it has no instruction");
    insta::assert_snapshot!(format!("{prefix}$0{suffix}"), @r#"
import { rate } from './rates';

/** What it costs. */
export function rate(size: number): number

export class Cart<T> extends Base {
  size = 3

  /** Its price. */
  price(): number {
    $0
  }
}
"#);
}

proptest! {
    #[test]
    fn windows_stay_within_their_tokens(
        texts in prop::collection::vec("[a-z\n]{0,40}", 0..6),
        tokens in 0_usize..60,
    ) {
        let windows: Vec<Window> =
            texts.iter().map(|text| window("a.py", 0, text.clone())).collect();
        let kept = within(windows.clone(), tokens);
        let spent: usize = kept.iter().map(|one| approximate_tokens(&one.text)).sum();
        prop_assert!(spent <= tokens);
        for (kept, whole) in kept.iter().zip(&windows) {
            prop_assert!(whole.text.starts_with(&kept.text));
        }
    }
}
