//! What papers give a model beside the function that it is to write, made for any hole.
//!
//! In both papers a model sees the function alone, and around it only what the context is: never
//! the rest of its file. So a hole is shown in a text of its own, as if it were the file: the
//! function's head, its lines before and after the hole, and around a method the line that begins
//! its class. Nothing is shown that has the reference in it.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use fillrate_server::context::Window;
use fillrate_server::prompt::approximate_tokens;

use super::SourceFile;
use super::dependencies::{Dependency, Form, Repository, Sort, outermost};
use crate::task::Hole;

/// A context of a paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Paper {
    /// The function's dependencies, whole.
    RepoExecFull,
    /// Their signatures and documentation.
    RepoExecMedium,
    /// Their signatures.
    RepoExecSmall,
    /// Nothing.
    MrgNone,
    /// The rest of the file.
    MrgInFile,
    /// The functions of the repository that the function calls.
    MrgCalleeBodies,
    /// Their signatures.
    MrgCalleeSignatures,
    /// The files of the function's folder.
    MrgFolder,
}

/// A hole as a model is to see it.
#[derive(Clone, Debug, PartialEq)]
pub struct Shown {
    /// The text before the cursor.
    pub prefix: String,
    /// The text after the cursor.
    pub suffix: String,
    /// What goes into the prompt as windows.
    pub windows: Vec<Window>,
}

/// The most tokens of the file, in MRG-Bench's context of it. §5.2.1 of
/// [its paper](https://arxiv.org/abs/2508.02998) counts them by the tokenizer of GPT-3.5-Turbo,
/// here they are [approximate](approximate_tokens).
pub const FILE_TOKENS: usize = 6_000;

/// The most tokens of the folder, in MRG-Bench's context of it, likewise.
pub const FOLDER_TOKENS: usize = 100_000;

impl Paper {
    /// Every context, in the order of the reference page.
    pub const ALL: [Self; 8] = [
        Self::RepoExecFull,
        Self::RepoExecMedium,
        Self::RepoExecSmall,
        Self::MrgNone,
        Self::MrgInFile,
        Self::MrgCalleeBodies,
        Self::MrgCalleeSignatures,
        Self::MrgFolder,
    ];

    /// The name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::RepoExecFull => "repoexec-full",
            Self::RepoExecMedium => "repoexec-medium",
            Self::RepoExecSmall => "repoexec-small",
            Self::MrgNone => "mrg-none",
            Self::MrgInFile => "mrg-in-file",
            Self::MrgCalleeBodies => "mrg-callee-bodies",
            Self::MrgCalleeSignatures => "mrg-callee-signatures",
            Self::MrgFolder => "mrg-folder",
        }
    }

    /// A hole of a file as a model is to see it.
    ///
    /// RepoExec's contexts are its BasePrompt, §5.1 and appendix E of
    /// [its paper](https://arxiv.org/abs/2406.11927): the file's imports, the dependencies, the
    /// function, one below the other. Variables come first, then functions and classes in the
    /// order of the imports, the file's own last. Other members of a method's own class, which the
    /// paper does not have, stand in the class before the method.
    ///
    /// MRG-Bench's contexts, §5.2.1 of [its paper](https://arxiv.org/abs/2508.02998), go before
    /// the function as windows. The folder is the file's own with all below it.
    pub fn show(self, repository: &Repository<'_>, file: &SourceFile, hole: &Hole) -> Shown {
        let around = hole.start.0..hole.end.0;
        let function = repository
            .function_around(&file.path, &around)
            .unwrap_or(0..file.contents.len());
        let mut shown = alone(repository, file, &function, &around, "");
        let dependencies = || repository.dependencies(&file.path, &function, &function, 1);
        match self {
            Self::RepoExecFull | Self::RepoExecMedium | Self::RepoExecSmall => {
                let form = match self {
                    Self::RepoExecFull => Form::Whole,
                    Self::RepoExecMedium => Form::Documented,
                    _ => Form::Signature,
                };
                shown = base_prompt(repository, file, &function, &around, &dependencies(), form);
            }
            Self::MrgNone => {}
            Self::MrgInFile => {
                let text = cut(&file.contents, &around);
                shown.windows = within(vec![window(&file.path, 0, text)], FILE_TOKENS);
            }
            Self::MrgCalleeBodies | Self::MrgCalleeSignatures => {
                let form = match self {
                    Self::MrgCalleeBodies => Form::Whole,
                    _ => Form::Signature,
                };
                shown.windows = callees(repository, &dependencies(), form);
            }
            Self::MrgFolder => {
                let folder = &file.path[..file.path.rfind('/').map_or(0, |end| end + 1)];
                let files = repository
                    .files()
                    .filter(|other| other.path.starts_with(folder))
                    .map(|other| {
                        let text = match other.path == file.path {
                            true => cut(&other.contents, &around),
                            false => other.contents.clone(),
                        };
                        window(&other.path, 0, text)
                    });
                shown.windows = within(files.collect(), FOLDER_TOKENS);
            }
        }
        shown
    }
}

impl fmt::Display for Paper {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl FromStr for Paper {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|paper| paper.name() == name)
            .ok_or_else(|| {
                let known = Self::ALL.map(Self::name).join(", ");
                format!("the contexts of papers are {known}")
            })
    }
}

/// A function with a hole and nothing else of its file, but the heads of the classes it is in,
/// and the `members` of the innermost before it.
fn alone(
    repository: &Repository<'_>,
    file: &SourceFile,
    function: &Range<usize>,
    hole: &Range<usize>,
    members: &str,
) -> Shown {
    let contents = &file.contents;
    let line = contents[..function.start]
        .rfind('\n')
        .map_or(0, |end| end + 1);
    let start = match contents[line..function.start].trim() {
        "" => line,
        _ => function.start,
    };
    let mut prefix = String::new();
    let mut suffix = contents[hole.end..function.end.max(hole.end)].to_owned();
    suffix.push('\n');
    for head in repository.heads_around(&file.path, function) {
        prefix += head.trim_end();
        prefix.push('\n');
        if !file.language.indented_blocks {
            suffix += "}\n";
        }
    }
    prefix += members;
    prefix += &contents[start.min(hole.start)..hole.start];
    Shown {
        prefix,
        suffix,
        windows: Vec::new(),
    }
}

/// RepoExec's BasePrompt.
fn base_prompt(
    repository: &Repository<'_>,
    file: &SourceFile,
    function: &Range<usize>,
    hole: &Range<usize>,
    dependencies: &[Dependency],
    form: Form,
) -> Shown {
    let imports = repository.imports(&file.path);
    let from = |path: &str| {
        let place = repository.import_of(&file.path, path);
        // What the file itself defines comes after all that it imports.
        place.unwrap_or(usize::MAX - usize::from(path != file.path))
    };
    let mut ordered = outermost(dependencies);
    ordered.sort_by_cached_key(|one| {
        let variable = one.sort == Sort::Variable;
        (
            !variable,
            from(&one.path),
            one.path.clone(),
            one.range.start,
        )
    });
    let mut texts: Vec<String> = Vec::new();
    let lines: Vec<&str> = imports
        .iter()
        .filter(|import| !function.contains(&import.start))
        .map(|import| file.contents[(*import).clone()].trim_end())
        .collect();
    if !lines.is_empty() {
        texts.push(lines.join("\n"));
    }
    let mut members = String::new();
    for dependency in ordered {
        let text = repository.text(dependency, form);
        if repository.shares_class(dependency, &file.path, function) {
            let line = file.contents[..dependency.range.start]
                .rfind('\n')
                .map_or(0, |end| end + 1);
            let indentation = &file.contents[line..dependency.range.start];
            for line in text.lines() {
                let indentation = if line.is_empty() { "" } else { indentation };
                members += &format!("{indentation}{line}\n");
            }
            members.push('\n');
        } else if !texts.contains(&text) {
            // A statement that defines several names is shown once.
            texts.push(text);
        }
    }
    let above: String = texts.iter().map(|text| format!("{text}\n\n")).collect();
    let mut shown = alone(repository, file, function, hole, &members);
    shown.prefix.insert_str(0, &above);
    shown
}

/// The functions that are called, each once, in the order of the calls.
fn callees(repository: &Repository<'_>, dependencies: &[Dependency], form: Form) -> Vec<Window> {
    let mut windows: Vec<Window> = Vec::new();
    for dependency in dependencies.iter().filter(|one| one.called) {
        let Some(callee) = repository.callee(dependency) else {
            continue;
        };
        let text = repository.text(&callee, form);
        let window = window(&callee.path, repository.line_of(&callee), text);
        if !windows.contains(&window) {
            windows.push(window);
        }
    }
    windows
}

/// The file without what is missing.
fn cut(contents: &str, hole: &Range<usize>) -> String {
    [&contents[..hole.start], &contents[hole.end..]].concat()
}

fn window(path: &str, first_line: usize, text: String) -> Window {
    Window {
        path: path.to_owned(),
        first_line,
        text,
        score: 0.0,
    }
}

/// The windows up to so many tokens, the last that begins within them cut at a line's end.
fn within(windows: Vec<Window>, tokens: usize) -> Vec<Window> {
    let mut left = tokens;
    let mut kept = Vec::new();
    for mut window in windows {
        let needed = approximate_tokens(&window.text);
        if needed <= left {
            left -= needed;
            kept.push(window);
            continue;
        }
        let mut text = String::new();
        for line in window.text.split_inclusive('\n') {
            let longer = [&text, line].concat();
            if approximate_tokens(&longer) > left {
                break;
            }
            text = longer;
        }
        if !text.trim().is_empty() {
            window.text = text;
            kept.push(window);
        }
        break;
    }
    kept
}

#[cfg(test)]
mod tests {
    use fillrate_server::syntax::Language;
    use proptest::prelude::*;

    use super::*;
    use crate::task::Kind;

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

    fn show(paper: Paper) -> Shown {
        let files = files();
        let main = &files[2];
        let start = main.contents.find("if not").expect("it is there");
        let end = main.contents.find(" + DIGITS").expect("it is there");
        let hole = Hole::new(
            "demo",
            "python",
            "text/main.py",
            Kind::Block,
            start..end,
            &main.contents,
        );
        paper.show(&Repository::new(&files), main, &hole)
    }

    fn shown(paper: Paper) -> String {
        let Shown {
            prefix,
            suffix,
            windows,
        } = show(paper);
        let windows: String = windows
            .iter()
            .map(|window| format!("[{}:{}]\n{}\n", window.path, window.first_line, window.text))
            .collect();
        format!("{windows}[shown]\n{prefix}$0{suffix}")
    }

    #[test]
    fn repoexec_shows_imports_dependencies_and_the_function() {
        insta::assert_snapshot!(shown(Paper::RepoExecFull), @r#"
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
        insta::assert_snapshot!(shown(Paper::RepoExecMedium), @r#"
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
        insta::assert_snapshot!(shown(Paper::RepoExecSmall), @r#"
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
        insta::assert_snapshot!(shown(Paper::MrgNone), @r#"
[shown]
class Box:
    def reverse(self, text):
        """Reverses."""
        $0 + DIGITS + self.again()
"#);
        insta::assert_snapshot!(shown(Paper::MrgCalleeBodies), @r#"
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
        insta::assert_snapshot!(shown(Paper::MrgCalleeSignatures), @r#"
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
        let file = show(Paper::MrgInFile);
        assert_eq!(file.windows.len(), 1);
        assert!(file.windows[0].text.starts_with("import sys\n"));
        let folder = show(Paper::MrgFolder);
        let paths: Vec<_> = folder.windows.iter().map(|window| &*window.path).collect();
        assert_eq!(paths, ["text/checks.py", "text/errors.py", "text/main.py"]);
    }

    #[test]
    fn no_context_has_the_reference_in_it() {
        for paper in Paper::ALL {
            assert_eq!(paper.name().parse(), Ok(paper));
            assert!(!shown(paper).contains("raise InputError(text)"), "{paper}");
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
            Kind::Line,
            start..start + 23,
            contents,
        );
        let Shown { prefix, suffix, .. } =
            Paper::RepoExecMedium.show(&Repository::new(&files), &files[0], &hole);
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
}
