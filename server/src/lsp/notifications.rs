//! One file per notification. Handlers change the state before any await.

pub(super) mod did_change;
pub(super) mod did_change_configuration;
pub(super) mod did_change_watched_files;
pub(super) mod did_change_workspace_folders;
pub(super) mod did_close;
pub(super) mod did_open;
pub(super) mod event;
pub(super) mod notebook;
