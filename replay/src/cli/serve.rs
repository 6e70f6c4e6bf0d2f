//! `fillrate serve`.

use std::ffi::OsString;
use std::io::IsTerminal as _;
use std::path::PathBuf;

use clap::Args;
use fillrate_server::configuration::{Layers, Profile, user_file};
use fillrate_server::lsp;
use serde_json::{Map, Value, json};

use super::{CliError, Success, write_error};

/// The clients of a server, for a person who looks for them.
const EDITORS: &str = concat!(
    "An editor starts this program, and talks with it by LSP:\n",
    "  VS Code  by the extension: code --install-extension fillrate-*.vsix\n",
    "  Neovim   by the plugin, with this in init.lua: require(\"fillrate\").setup()\n",
    "  others   by `fillrate serve` as a language server\n",
    "How each is installed: ",
    env!("CARGO_PKG_REPOSITORY"),
    "/tree/main/editors"
);

/// Give inline completions to an editor, over standard input and output.
#[derive(Args)]
#[command(after_help = EDITORS)]
pub(super) struct ServeArguments {
    #[command(flatten)]
    server: ServerFlags,
    /// Accepted for editors that pass it; standard input and output are always used
    #[arg(long, hide = true)]
    stdio: bool,
}

/// Settings of the server.
#[derive(Args)]
pub(super) struct ServerFlags {
    /// A settings file, in place of the user's and the workspace's fillrate.toml
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Context profile, which finds windows of other files, e.g. `editor` or `none`
    #[arg(long, value_name = "NAME")]
    context: Option<Profile>,
    /// Protocol of the model, e.g. `embedded`, `openai-completions`, `llama-infill`
    #[arg(long, value_name = "NAME")]
    protocol: Option<String>,
    /// The address of the model's server
    #[arg(long)]
    url: Option<String>,
    /// The model: the name of its table under `[models]`, or else its name as its server knows it
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
}

pub(super) fn run(arguments: ServeArguments) -> Result<Success, CliError> {
    if std::io::stdin().is_terminal() {
        write_error(format_args!(
            "{EDITORS}\nIt waits for an editor's messages here; Ctrl-C ends it.\n"
        ));
    }
    let options = lsp::ServerOptions {
        flags: arguments.server.settings(),
        configuration_file: arguments.server.config,
    };
    let runtime = tokio::runtime::Runtime::new().map_err(CliError::file("the runtime"))?;
    // On a worker of the runtime, what a request starts runs on the same thread; from here, another
    // one would have to wake for each.
    let served = runtime.block_on(runtime.spawn(lsp::serve(options)));
    // A read of standard input can't be interrupted; its thread is not joined.
    runtime.shutdown_background();
    let end = served.unwrap_or_else(|panicked| std::panic::resume_unwind(panicked.into_panic()))?;
    match end {
        lsp::SessionEnd::Orderly => Ok(Success::Whole),
        lsp::SessionEnd::WithoutShutdown => Err(CliError::Refused(
            "the client sent `exit` without `shutdown`".to_owned(),
        )),
    }
}

impl ServerFlags {
    /// The flags as a layer of settings.
    fn settings(&self) -> Value {
        let mut model = Map::new();
        let settings = [
            ("protocol", &self.protocol),
            ("url", &self.url),
            ("name", &self.model),
        ];
        for (key, value) in settings {
            if let Some(value) = value {
                model.insert(key.to_owned(), json!(value));
            }
        }
        let mut whole = Map::new();
        if !model.is_empty() {
            whole.insert("model".to_owned(), Value::Object(model));
            // Flags are about the model that answers: no other one, and none of several.
            whole.insert("use".to_owned(), Value::Null);
            whole.insert("trial".to_owned(), Value::Null);
        }
        if let Some(profile) = &self.context {
            whole.insert("context".to_owned(), json!({"profile": profile}));
        }
        Value::Object(whole)
    }

    /// The flags for a server with one settings file, without windows of other files.
    pub(super) fn without_context(config: PathBuf) -> Self {
        Self {
            config: Some(config),
            context: Some(Profile::None),
            protocol: None,
            url: None,
            model: None,
        }
    }

    /// The same flags for a server in another folder. The settings are read, so that an error in
    /// them is reported as such and not as a server that ended.
    ///
    /// # Errors
    /// A settings file can't be read, or a setting is unknown or invalid.
    pub(super) fn for_child(&self) -> Result<Vec<OsString>, CliError> {
        // The child reports a faulty file in its log; this process reports it at once.
        let mut layers = Layers::default();
        let user = || user_file().filter(|path| path.is_file());
        if let Some(path) = self.config.clone().or_else(user) {
            layers.file(&path)?;
        }
        layers.flags(&self.settings())?;
        layers.merged()?;
        let config = self.config.as_ref().map(|path| {
            let path = std::path::absolute(path).map_err(CliError::file(path))?;
            Ok::<_, CliError>(path.into())
        });
        let flags = [
            ("--config=", config.transpose()?),
            ("--context=", self.context.map(|it| it.to_string().into())),
            ("--protocol=", self.protocol.as_ref().map(OsString::from)),
            ("--url=", self.url.as_ref().map(OsString::from)),
            ("--model=", self.model.as_ref().map(OsString::from)),
        ];
        let words = flags
            .into_iter()
            .filter_map(|(flag, value): (_, Option<OsString>)| {
                // A flag and its value are one word, so a value that begins with `-` is no other flag.
                let mut word = OsString::from(flag);
                word.push(value?);
                Some(word)
            });
        Ok(words.collect())
    }
}
