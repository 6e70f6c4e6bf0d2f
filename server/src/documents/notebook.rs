//! Notebooks: the order of their cells, and the code in them.

use std::collections::HashMap;
use std::sync::Arc;

use super::{Documents, Snapshot};
use crate::text::{ByteOffset, Text};

/// A document as models see it. A notebook's cell is preceded by the code of the cells before it,
/// in the order in which they run. Any other document is unchanged.
#[derive(Clone, Debug)]
pub struct ModelView {
    /// The whole text, under the document's own URI and version.
    pub document: Arc<Snapshot>,
    /// Offset at which the document's own text begins.
    pub start: ByteOffset,
}

/// The code cells of open notebooks.
#[derive(Debug, Default)]
pub(super) struct Notebooks {
    /// By the notebook's URI, the URIs of its code cells in order.
    cells: HashMap<String, Vec<String>>,
}

/// Magics that run the rest of their cell as Python, so that it counts as code.
const PYTHON_MAGICS: [&str; 4] = ["%%time", "%%timeit", "%%capture", "%%prun"];

impl ModelView {
    /// Converts an offset of the document's own text into one of the whole text.
    pub fn offset(&self, own: ByteOffset) -> ByteOffset {
        ByteOffset(self.start.0 + own.0)
    }
}

impl Documents {
    /// Opens a notebook with these code cells, in order. Their documents are opened afterwards.
    pub fn open_notebook(&mut self, uri: &str, cells: Vec<String>) {
        self.notebooks.cells.insert(uri.to_owned(), cells);
    }

    /// Replaces some of a notebook's code cells. Returns true if the notebook is open.
    pub fn splice_cells(
        &mut self,
        uri: &str,
        start: usize,
        removed: usize,
        inserted: Vec<String>,
    ) -> bool {
        let Some(cells) = self.notebooks.cells.get_mut(uri) else {
            return false;
        };
        // `splice` panics if the range exceeds the list.
        let start = start.min(cells.len());
        let end = start.saturating_add(removed).min(cells.len());
        cells.splice(start..end, inserted);
        true
    }

    /// Closes a notebook. The client closes its cells' documents separately.
    pub fn close_notebook(&mut self, uri: &str) {
        self.notebooks.cells.remove(uri);
    }

    /// Returns an open document as models see it.
    pub fn model_view(&self, uri: &str) -> Option<ModelView> {
        let document = self.snapshot(uri)?;
        let mut text = String::new();
        for cell in self.notebooks.before(uri) {
            let cell = self.open.get(cell);
            // A cell in another language runs separately.
            let alike = cell.filter(|cell| {
                cell.language.map(|language| language.id)
                    == document.language.map(|language| language.id)
            });
            if let Some(code) = alike.and_then(|cell| code(&cell.text.to_string())) {
                text.push_str(&code);
                text.push('\n');
            }
        }
        if text.is_empty() {
            return Some(ModelView {
                document,
                start: ByteOffset(0),
            });
        }
        let start = ByteOffset(text.len());
        text.push_str(&document.text.to_string());
        let view = document.with_text(Text::new(&text));
        Some(ModelView {
            document: Arc::new(view),
            start,
        })
    }
}

impl Notebooks {
    /// Returns the notebook that has this cell.
    pub(super) fn holding(&self, cell: &str) -> Option<&str> {
        self.position(cell).map(|(notebook, _)| notebook)
    }

    /// Returns the cells before this one, in order; none for a document that is not a cell.
    fn before(&self, cell: &str) -> &[String] {
        self.position(cell)
            .and_then(|(notebook, index)| self.cells.get(notebook)?.get(..index))
            .unwrap_or_default()
    }

    fn position(&self, cell: &str) -> Option<(&str, usize)> {
        self.cells.iter().find_map(|(notebook, cells)| {
            let index = cells.iter().position(|other| other == cell)?;
            Some((notebook.as_str(), index))
        })
    }
}

/// Returns the code of a cell, each line with its end. Omits IPython's magics, shell commands and
/// help queries, which a Python parser rejects. `None` if a magic runs the cell in another
/// language, or no code remains.
fn code(cell: &str) -> Option<String> {
    let magic = cell.split_whitespace().next();
    let foreign =
        magic.is_some_and(|word| word.starts_with("%%") && !PYTHON_MAGICS.contains(&word));
    if foreign {
        return None;
    }
    let lines = cell
        .trim_end()
        .lines()
        .filter(|line| !line.trim_start().starts_with(['%', '!', '?']))
        .map(|line| format!("{line}\n"));
    let code: String = lines.collect();
    (!code.trim().is_empty()).then_some(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notebook(cells: &[&str]) -> Documents {
        let mut documents = Documents::default();
        let uris = (0..cells.len()).map(|index| format!("cell:{index}"));
        documents.open_notebook("file:///w/a.ipynb", uris.collect());
        for (index, text) in cells.iter().enumerate() {
            documents.open(&format!("cell:{index}"), "python", 1, text);
        }
        documents
    }

    fn seen(documents: &Documents, uri: &str) -> (String, usize) {
        let view = documents.model_view(uri).expect("it is open");
        (view.document.text.to_string(), view.start.0)
    }

    #[test]
    fn a_cell_follows_the_code_of_the_cells_before_it() {
        let cells = [
            "import math\n%matplotlib inline\n!pip install x\n",
            "%%bash\nrm -r /\n",
            "%%time\nx = math.pi",
            "y = x",
            "z = y",
        ];
        let mut documents = notebook(&cells);
        assert_eq!(
            seen(&documents, "cell:3"),
            ("import math\n\nx = math.pi\n\ny = x".to_owned(), 26)
        );
        assert_eq!(seen(&documents, "cell:0"), (cells[0].to_owned(), 0));
        let view = documents.model_view("cell:3").expect("it is open");
        assert_eq!(view.offset(ByteOffset(5)).0, view.document.text.len().0);
        assert_eq!(
            view.document.path.as_deref(),
            Some(std::path::Path::new("/w/a.ipynb"))
        );

        // The last cell goes to the top.
        assert!(documents.splice_cells("file:///w/a.ipynb", 4, 1, Vec::new()));
        assert!(documents.splice_cells("file:///w/a.ipynb", 0, 0, vec!["cell:4".to_owned()]));
        assert_eq!(seen(&documents, "cell:4"), ("z = y".to_owned(), 0));
        assert_eq!(
            seen(&documents, "cell:0").0,
            format!("z = y\n\n{}", cells[0])
        );
        assert!(!documents.splice_cells("file:///w/b.ipynb", 0, 0, Vec::new()));
        documents.close_notebook("file:///w/a.ipynb");
        assert_eq!(seen(&documents, "cell:3"), ("y = x".to_owned(), 0));
    }

    #[test]
    fn a_file_is_seen_as_it_is() {
        let mut documents = notebook(&["x = 1"]);
        documents.open("file:///w/a.py", "python", 1, "y = 2\n");
        assert_eq!(
            seen(&documents, "file:///w/a.py"),
            ("y = 2\n".to_owned(), 0)
        );
        assert!(documents.model_view("file:///w/b.py").is_none());
    }
}
