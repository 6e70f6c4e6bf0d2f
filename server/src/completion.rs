//! completion.
