//! prompt.
