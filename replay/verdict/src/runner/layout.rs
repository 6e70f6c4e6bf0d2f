//! Paths inside the sandbox.

/// The project: next to the environment, whose path file for it is relative.
pub(crate) const REPOSITORY: &str = "/box/repo";
/// The scripts that run with the tests.
pub(crate) const HARNESS: &str = "/box/harness";
/// The packages of a project in JavaScript or TypeScript: next to the repository and the harness,
/// so that both find them.
pub(super) const PACKAGES: &str = "/box/node_modules";
/// The files that a [`Transformer`](super::warm::transformer::Transformer) made of the project's.
pub(super) const TRANSFORMED: &str = "/box/transformed";

/// The prefix of the names of files that are not the project's.
pub(crate) const OUTSIDE_PROJECT: &str = "../";
