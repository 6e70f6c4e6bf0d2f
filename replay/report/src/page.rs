//! The HTML document around every page that the program writes.
//!
//! Text that a person or a model wrote reaches a page only through [`maud`], which escapes it.

use maud::{DOCTYPE, Markup, html};

/// A page, whose [`Render`](maud::Render)ed parts are escaped already.
pub struct Page<'a> {
    /// What the page is of.
    pub kind: PageKind,
    /// The document's title.
    pub title: &'a str,
    /// Sources that the page may load and run, as a Content-Security-Policy.
    pub policy: &'a str,
    /// The rest of the head: styles and scripts.
    pub head: Markup,
    /// The body.
    pub body: Markup,
}

/// What a page is of, which it says of itself: it replaces no page of another kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageKind {
    /// Runs.
    Report,
    /// A study.
    Study,
    /// Telemetry.
    Statistics,
}

impl PageKind {
    /// Returns whether a document is a page of this kind.
    pub fn wrote(self, document: &str) -> bool {
        document.contains(&self.mark().into_string())
    }

    fn mark(self) -> Markup {
        let generator = match self {
            Self::Report => "fillrate report",
            Self::Study => "fillrate study",
            Self::Statistics => "fillrate telemetry stats",
        };
        html! { meta name="generator" content=(generator); }
    }
}

impl Page<'_> {
    /// Writes the document: English, light or dark as the reader's system is.
    pub fn render(&self) -> String {
        let document = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta http-equiv="Content-Security-Policy" content=(self.policy);
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    meta name="referrer" content="no-referrer";
                    (self.kind.mark())
                    title { (self.title) }
                    (self.head)
                }
                body { (self.body) }
            }
        };
        document.into_string()
    }
}
