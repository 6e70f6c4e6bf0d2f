//! cleanup.
