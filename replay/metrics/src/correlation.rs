//! Association between two figures of the same models, few models at a time.

pub(crate) mod bootstrap;
pub(crate) mod coefficient;
pub(crate) mod latent;
