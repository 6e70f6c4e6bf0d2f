//! Conversion between the protocol's positions and those of [`crate::text`].

use tower_lsp::lsp_types;

use crate::text::Position;

pub(super) fn from_protocol(position: lsp_types::Position) -> Position {
    Position {
        line: position.line,
        character: position.character,
    }
}

pub(super) fn to_protocol(position: Position) -> lsp_types::Position {
    lsp_types::Position::new(position.line, position.character)
}
