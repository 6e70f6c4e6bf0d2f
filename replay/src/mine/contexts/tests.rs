use fillrate_server::context::Window;
use fillrate_server::prompt::approximate_tokens;
use fillrate_server::syntax::Language;
use proptest::prelude::*;

use super::*;
use crate::task::HoleKind;

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
    paper.view(&DependencyIndex::new(&files), main, &hole)
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
    insta::assert_snapshot!(rendered_view(PaperContext::RepoExecFull), @r#"
[shown]
import sys
from .errors import InputError
from .checks import is_string, DIGITS

DIGITS = re.compile(r"[0-9]")

LIMIT = 3

class InputError(TypeError):
    """Not a string."""

    code = 3

    def __init__(self, data):
        """With data."""
        super().__init__(str(data))

def is_string(text) -> bool:
    """Whether it is one."""
    return isinstance(text, str)

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
    insta::assert_snapshot!(rendered_view(PaperContext::RepoExecMedium), @r#"
[shown]
import sys
from .errors import InputError
from .checks import is_string, DIGITS

DIGITS = re.compile(r"[0-9]")

LIMIT = 3

class InputError(TypeError):
    """Not a string."""

    def __init__(self, data):
        """With data."""

def is_string(text) -> bool:
    """Whether it is one."""

def helper(text):

class Box:
    def again(self):

    def reverse(self, text):
        """Reverses."""
        $0 + DIGITS + self.again()
"#);
    insta::assert_snapshot!(rendered_view(PaperContext::RepoExecSmall), @r#"
[shown]
import sys
from .errors import InputError
from .checks import is_string, DIGITS

DIGITS = re.compile(r"[0-9]")

LIMIT = 3

class InputError(TypeError):
    def __init__(self, data):

def is_string(text) -> bool:

def helper(text):

class Box:
    def again(self):

    def reverse(self, text):
        """Reverses."""
        $0 + DIGITS + self.again()
"#);
}

#[test]
fn mrg_shows_the_function_and_windows() {
    insta::assert_snapshot!(rendered_view(PaperContext::MrgNone), @r#"
[shown]
class Box:
    def reverse(self, text):
        """Reverses."""
        $0 + DIGITS + self.again()
"#);
    insta::assert_snapshot!(rendered_view(PaperContext::MrgCalleeBodies), @r#"
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
    insta::assert_snapshot!(rendered_view(PaperContext::MrgCalleeSignatures), @r#"
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
    let file = view(PaperContext::MrgInFile);
    assert_eq!(file.windows.len(), 1);
    assert!(file.windows[0].text.starts_with("import sys\n"));
    let folder = view(PaperContext::MrgFolder);
    let paths: Vec<_> = folder.windows.iter().map(|window| &*window.path).collect();
    assert_eq!(paths, ["text/checks.py", "text/errors.py", "text/main.py"]);
}

#[test]
fn no_context_has_the_reference_in_it() {
    for paper in PaperContext::VARIANTS.iter().copied() {
        assert_eq!(paper.name().parse(), Ok(paper));
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
    let HoleView { prefix, suffix, .. } =
        PaperContext::RepoExecMedium.view(&DependencyIndex::new(&files), &files[0], &hole);
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
