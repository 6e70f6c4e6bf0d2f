//! corpus.
