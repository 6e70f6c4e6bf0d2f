//! How a server is reached: proxies, authorities, keys.

use std::path::Path;

use super::exchanges::exchange;
use super::*;

const PROTOCOL: Protocol = Protocol::OpenAiChat;

fn good() -> server::Script {
    exchange(PROTOCOL).expect("it goes over HTTP").script(false)
}

#[tokio::test]
async fn a_proxy_that_is_set_is_gone_through() {
    let server = Server::start(vec![good()]).await;
    let settings = ModelSettings {
        proxy: Some(server.url.clone()),
        ..settings(PROTOCOL, "http://model.invalid:81")
    };
    completes(&settings, &UnlimitedListener).await;
    let request = &server.requests()[0];
    assert!(
        request.starts_with("POST http://model.invalid:81/v1/chat/completions HTTP/1.1\r\n"),
        "{request}"
    );
}

#[tokio::test]
async fn a_command_gives_the_key() {
    let server = Server::start(vec![good()]).await;
    let settings = ModelSettings {
        key_env: None,
        key_command: Some(vec!["echo".to_owned(), KEY.to_owned()]),
        ..settings(PROTOCOL, &server.url)
    };
    // The settings are no secret, so this shows what the model and its response keep to themselves.
    completes(&settings, &UnlimitedListener).await;
    let request = server.requests()[0].to_lowercase();
    assert!(
        request.contains(&format!("authorization: bearer {KEY}\r\n")),
        "{request}"
    );
}

#[test]
fn what_cannot_be_reached_is_told_in_one_sentence() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str, contents: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, contents).expect("the folder is writable");
        Some(path)
    };
    let chat = ModelSettings {
        key_env: None,
        ..settings(PROTOCOL, "https://127.0.0.1:1")
    };
    let command = |words: &[&str]| Some(words.iter().map(|&word| word.to_owned()).collect());
    let faulty = [
        ModelSettings {
            proxy: Some("localhost:3128".to_owned()),
            ..chat.clone()
        },
        ModelSettings {
            proxy: Some("http://me:pw@proxy".to_owned()),
            ..chat.clone()
        },
        ModelSettings {
            proxy: Some("socks5://proxy".to_owned()),
            ..chat.clone()
        },
        ModelSettings {
            ca_file: Some(folder.path().join("none.pem")),
            ..chat.clone()
        },
        ModelSettings {
            ca_file: file("empty.pem", "no certificate"),
            ..chat.clone()
        },
        ModelSettings {
            ca_file: file(
                "faulty.pem",
                "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
            ),
            ..chat.clone()
        },
        ModelSettings {
            key_command: command(&["sh", "-c", "echo sk-very-secret; exit 1"]),
            ..chat.clone()
        },
        ModelSettings {
            key_command: command(&[]),
            ..chat.clone()
        },
        ModelSettings {
            key_command: command(&["printf", "sk\\nvery\\nsecret"]),
            ..chat.clone()
        },
        ModelSettings {
            key_command: command(&["true"]),
            key_env: Some("MODEL_KEY".to_owned()),
            ..chat.clone()
        },
    ];
    let told: String = faulty
        .iter()
        .map(|settings| match open(settings, &environment) {
            Err(ModelError::Settings(sentence)) => format!("{sentence}\n"),
            other => format!("{other:?}\n"),
        })
        .collect();
    let told = told.replace(&folder.path().display().to_string(), "FOLDER");
    assert!(!told.contains("secret"), "{told}");
    insta::assert_snapshot!(told, @r"
    model: the setting proxy is not an address of the form http://host:port: the scheme is neither http nor https.
    model: the setting proxy is not an address of the form http://host:port: it holds a user name or password, use the environment variable HTTPS_PROXY.
    model: the setting proxy is not an address of the form http://host:port: the scheme is neither http nor https.
    model: the file FOLDER/none.pem, which ca_file names, can't be read: No such file or directory (os error 2).
    model: the file FOLDER/empty.pem, which ca_file names, holds no certificate in PEM form.
    model: the file FOLDER/faulty.pem, which ca_file names, can't be used: builder error: invalid peer certificate: BadEncoding.
    model: the command that key_command names (sh) failed: exit status: 1.
    model: the command that key_command names is empty.
    model: the key has a character that can't be in an HTTP header.
    model: key_env and key_command are both set, and only one of them can give the key.
    ");
}

/// A server over TLS whose certificate no system trusts, and the file of its authority.
async fn server_over_tls(folder: &Path) -> (Server, String, std::path::PathBuf) {
    let server = Server::start(vec![good()]).await;
    let identity = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()])
        .expect("a name is all it needs");
    let path = folder.join("authority.pem");
    std::fs::write(&path, identity.cert.pem()).expect("the folder is writable");
    let _ = rustls::crypto::ring::default_provider().install_default();
    let key = rustls::pki_types::PrivateKeyDer::try_from(identity.signing_key.serialize_der())
        .expect("it was just made");
    let configuration = rustls::ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(vec![identity.cert.der().clone()], key)
        .expect("they belong together");
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(configuration));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
        .await
        .expect("a free port");
    let port = listener.local_addr().expect("it is bound").port();
    let behind = server
        .url
        .strip_prefix("http://")
        .expect("it is HTTP")
        .to_owned();
    tokio::spawn(async move {
        loop {
            let (outer, _) = listener.accept().await.expect("a connection");
            // A client that trusts no certificate ends the handshake.
            let Ok(mut outer) = acceptor.accept(outer).await else {
                continue;
            };
            let mut inner = tokio::net::TcpStream::connect(&behind)
                .await
                .expect("the server listens");
            let _ = tokio::io::copy_bidirectional(&mut outer, &mut inner).await;
        }
    });
    (server, format!("https://localhost:{port}"), path)
}

#[tokio::test]
async fn an_authority_of_ones_own_can_be_trusted() {
    let folder = tempfile::tempdir().expect("a folder");
    let (server, url, authority) = server_over_tls(folder.path()).await;
    let stranger = settings(PROTOCOL, &url);
    let error = fails(&stranger).await;
    assert!(
        matches!(error, ModelError::Unreachable { .. })
            && error.to_string().contains("certificate"),
        "{error}"
    );
    assert_eq!(server.requests().len(), 0, "nothing was sent");
    let trusting = ModelSettings {
        ca_file: Some(authority),
        ..stranger
    };
    let answer = completes(&trusting, &UnlimitedListener).await;
    assert_eq!(texts(&answer), [("ab", Finish::Stop)]);
}
