//! Connections to a server: proxies, authorities, keys.

use std::path::Path;

use super::exchanges::exchange;
use super::server::Script;
use super::*;

const PROTOCOL: Protocol = Protocol::OpenAiChat;

fn good() -> server::Script {
    exchange(PROTOCOL).expect("it goes over HTTP").script(false)
}

#[tokio::test]
async fn configured_proxy_is_used() {
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
async fn key_command_provides_the_key() {
    let server = Server::start(vec![good()]).await;
    let settings = ModelSettings {
        key_env: None,
        key_command: Some(vec!["echo".to_owned(), KEY.to_owned()]),
        ..settings(PROTOCOL, &server.url)
    };
    // The settings are no secret, so this checks that the model and its response hide the key.
    completes(&settings, &UnlimitedListener).await;
    let request = server.requests()[0].to_lowercase();
    assert!(
        request.contains(&format!("authorization: bearer {KEY}\r\n")),
        "{request}"
    );
}

#[test]
fn unreachable_settings_are_reported_in_one_sentence() {
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
            proxy: Some("ftp://proxy".to_owned()),
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
    let messages: String = faulty
        .iter()
        .map(|settings| match open(settings, &environment) {
            Err(ModelError::Settings(sentence)) => format!("{sentence}\n"),
            other => format!("{other:?}\n"),
        })
        .collect();
    let messages = messages.replace(&folder.path().display().to_string(), "FOLDER");
    assert!(!messages.contains("secret"), "{messages}");
    insta::assert_snapshot!(messages, @r"
    model: the setting proxy is not an address of the form http://host:port: the scheme is none of http, https, socks4, socks4a, socks5 and socks5h.
    model: the setting proxy is not an address of the form http://host:port: it holds a user name or password, use the environment variable HTTPS_PROXY.
    model: the setting proxy is not an address of the form http://host:port: the scheme is none of http, https, socks4, socks4a, socks5 and socks5h.
    model: the file FOLDER/none.pem, which ca_file names, can't be read: No such file or directory (os error 2).
    model: the file FOLDER/empty.pem, which ca_file names, holds no certificate in PEM form.
    model: the file FOLDER/faulty.pem, which ca_file names, can't be used: invalid peer certificate: BadEncoding.
    model: the command that key_command names (sh) failed: exit status: 1.
    model: the command that key_command names is empty.
    model: the key has a character that can't be in an HTTP header.
    model: key_env and key_command are both set, and only one of them can give the key.
    ");
}

/// Starts a TLS server whose certificate no system trusts. Returns it with the file of its
/// authority.
async fn server_over_tls(folder: &Path) -> (Server, String, std::path::PathBuf) {
    let names = vec!["localhost".to_owned()];
    let parameters = rcgen::CertificateParams::new(names).expect("a name is all it needs");
    server_with_certificate(folder, parameters).await
}

/// Starts a TLS server with its own certificate. Returns it with the file of that certificate.
async fn server_with_certificate(
    folder: &Path,
    parameters: rcgen::CertificateParams,
) -> (Server, String, std::path::PathBuf) {
    let server = Server::start(vec![good()]).await;
    let key = rcgen::KeyPair::generate().expect("a key");
    let certificate = parameters.self_signed(&key).expect("a certificate");
    let path = folder.join("authority.pem");
    std::fs::write(&path, certificate.pem()).expect("the folder is writable");
    let _ = rustls::crypto::ring::default_provider().install_default();
    let key =
        rustls::pki_types::PrivateKeyDer::try_from(key.serialize_der()).expect("it was just made");
    let configuration = rustls::ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key)
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
            // A client that does not trust the certificate ends the handshake.
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
async fn own_authority_can_be_trusted() {
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

/// A server's own certificate as `openssl req -x509` makes it, which is also an authority's.
fn own_certificate(name: &str) -> rcgen::CertificateParams {
    let names = vec![name.to_owned()];
    let mut parameters = rcgen::CertificateParams::new(names).expect("a name is all it needs");
    parameters.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    parameters
}

#[tokio::test]
async fn self_signed_certificate_of_server_can_be_trusted() {
    let folder = tempfile::tempdir().expect("a folder");
    let (_server, url, own) =
        server_with_certificate(folder.path(), own_certificate("localhost")).await;
    let trusting = ModelSettings {
        ca_file: Some(own),
        ..settings(PROTOCOL, &url)
    };
    let answer = completes(&trusting, &UnlimitedListener).await;
    assert_eq!(texts(&answer), [("ab", Finish::Stop)]);
}

#[tokio::test]
async fn trusted_certificate_needs_matching_name_and_time() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut expired = own_certificate("localhost");
    expired.not_after = rcgen::date_time_ymd(2001, 1, 1);
    for (parameters, words) in [
        (
            own_certificate("elsewhere"),
            "that the server's certificate has",
        ),
        (expired, "Renew the server's certificate"),
    ] {
        let (server, url, own) = server_with_certificate(folder.path(), parameters).await;
        let trusting = ModelSettings {
            ca_file: Some(own),
            ..settings(PROTOCOL, &url)
        };
        let error = fails(&trusting).await;
        assert!(
            error.advice().contains(words),
            "{error}: {}",
            error.advice()
        );
        assert_eq!(server.requests().len(), 0, "nothing was sent");
    }
}

/// Returns the https address of a server without TLS that rejects the handshake at once.
async fn plain_server() -> String {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
        .await
        .expect("a free port");
    let port = listener.local_addr().expect("it is bound").port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let _ = stream.read(&mut [0; 1024]).await;
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await;
        }
    });
    format!("https://127.0.0.1:{port}")
}

#[tokio::test]
async fn transport_faults_say_what_to_set() {
    let plain = plain_server().await;
    let folder = tempfile::tempdir().expect("a folder");
    let (_server, untrusted, _) = server_over_tls(folder.path()).await;
    let proxied = ModelSettings {
        proxy: Some("http://127.0.0.1:1".to_owned()),
        ..settings(PROTOCOL, "https://model.invalid")
    };
    for (settings, words) in [
        (settings(PROTOCOL, &untrusted), "`model.ca_file`"),
        (settings(PROTOCOL, &plain), "Write http://"),
        (proxied, "Check the proxy"),
    ] {
        let error = fails(&settings).await;
        assert!(
            error.advice().contains(words),
            "{error}: {}",
            error.advice()
        );
    }
}

/// Resolving an unknown host may take as long as the system's resolver allows.
#[test]
fn unknown_host_says_what_to_check() {
    let reason =
        "error sending request: client error (Connect): dns error: failed to lookup address";
    let advice = ReachFault::from_reason(reason).advice();
    assert!(advice.contains("Check the host"), "{advice}");
}

/// A body is a server's own words, of any length.
#[test]
fn causes_have_at_most_five_words_and_none_of_the_body() {
    let status = |status| ModelError::Status {
        url: "http://127.0.0.1:1".to_owned(),
        status,
        body: "secret".to_owned(),
        retry_after: None,
    };
    let unreachable = |fault| ModelError::Unreachable {
        url: "http://127.0.0.1:1".to_owned(),
        reason: "os error".to_owned(),
        fault,
    };
    let statuses = [302, 400, 401, 403, 404, 422, 429, 500, 503, 529].map(status);
    let faults = [
        ReachFault::WrongName,
        ReachFault::Expired,
        ReachFault::Untrusted,
        ReachFault::PlainServer,
        ReachFault::UnknownHost,
        ReachFault::Proxy,
        ReachFault::ProxyScheme,
        ReachFault::Other,
    ];
    let others = [
        ModelError::Settings("secret".to_owned()),
        ModelError::Failed("secret".to_owned()),
        ModelError::Timeout(Duration::from_secs(1)),
    ];
    let errors = statuses.into_iter().chain(faults.map(unreachable));
    for error in errors.chain(others) {
        let cause = error.cause();
        assert!(cause.split(' ').count() <= 5, "{cause}");
        assert!(!cause.contains("secret") && !cause.contains("127.0.0.1"));
    }
    assert_eq!(status(401).cause(), "the key was refused");
}

#[tokio::test]
async fn redirect_names_its_target_without_its_query() {
    let head = "location: https://other.example/v1/x?key=secret\r\n";
    let server = Server::start(vec![Script::ModelOutput("308 Moved", head, Vec::new())]).await;
    let error = fails(&settings(PROTOCOL, &server.url)).await;
    let said = error.to_string();
    assert!(
        said.contains("it redirects to https://other.example/v1/x ("),
        "{said}"
    );
    assert!(error.advice().contains("`model.url`"), "{error}");
}

#[tokio::test]
async fn socks_proxy_is_used() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
        .await
        .expect("a free port");
    let port = listener.local_addr().expect("it is bound").port();
    let asked = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("a connection");
        let mut greeting = [0; 3];
        let _ = stream.read_exact(&mut greeting).await;
        let _ = stream.write_all(&[5, 0]).await;
        let mut head = [0; 5];
        let _ = stream.read_exact(&mut head).await;
        let mut name = vec![0; usize::from(head[4])];
        let _ = stream.read_exact(&mut name).await;
        String::from_utf8(name).expect("a name")
    });
    let proxied = ModelSettings {
        proxy: Some(format!("socks5h://127.0.0.1:{port}")),
        ..settings(PROTOCOL, "http://model.invalid")
    };
    fails(&proxied).await;
    assert_eq!(asked.await.expect("it was asked"), "model.invalid");
}

#[tokio::test]
async fn header_values_are_read_from_the_environment() {
    let server = Server::start(vec![
        good(),
        Script::ModelOutput("500 Oops", "", KEY.as_bytes().to_vec()),
    ])
    .await;
    let headers = [
        ("X-Team", "compilers"),
        ("authorization", "Token ${MODEL_KEY}"),
    ];
    let settings = ModelSettings {
        key_env: None,
        headers: headers
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into(),
        ..settings(PROTOCOL, &server.url)
    };
    completes(&settings, &UnlimitedListener).await;
    let request = &server.requests()[0];
    assert!(request.contains("x-team: compilers\r\n"), "{request}");
    assert!(
        request.contains(&format!("authorization: Token {KEY}\r\n")),
        "{request}"
    );
    // A value from the environment is hidden like a key.
    fails(&settings).await;
    for (name, value, words) in [
        ("x", "${NO_SUCH}", "NO_SUCH is not set"),
        ("x", "${MODEL_KEY", "has no `}`"),
        ("a b", "c", "not the name of an HTTP header"),
        ("Content-Length", "1", "own to write"),
    ] {
        let faulty = ModelSettings {
            headers: [(name.to_owned(), value.to_owned())].into(),
            ..settings.clone()
        };
        let error = open(&faulty, &environment).expect_err("the header is faulty");
        assert!(error.to_string().contains(words), "{error}");
    }
}

#[tokio::test]
async fn compressed_responses_are_read_or_refused() {
    use std::io::Write;
    let whole = exchange(PROTOCOL).expect("it goes over HTTP").whole;
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(whole.as_bytes()).expect("memory takes it");
    let gzip = gzip.finish().expect("memory takes it");
    for head in ["content-encoding: gzip\r\n", ""] {
        let script = Script::ModelOutput("200 OK", head, gzip.clone());
        let server = Server::start(vec![script]).await;
        let answer = completes(&settings(PROTOCOL, &server.url), &UnlimitedListener).await;
        assert_eq!(texts(&answer), [("ab", Finish::Stop)]);
        assert!(server.requests()[0].contains("accept-encoding: identity\r\n"));
    }
    let head = "content-encoding: br\r\n";
    let server = Server::start(vec![
        Script::ModelOutput("200 OK", head, gzip.clone()),
        Script::ModelOutput("200 OK", "content-encoding: gzip\r\n", gzip[..20].to_vec()),
        Script::ModelOutput("500 Oops", "content-encoding: gzip\r\n", gzip),
    ])
    .await;
    let settings = settings(PROTOCOL, &server.url);
    let said = fails(&settings).await.to_string();
    assert!(said.contains("compressed as br"), "{said}");
    let said = fails(&settings).await.to_string();
    assert!(said.contains("can't be read"), "{said}");
    // The body of an error is decompressed too.
    let said = fails(&settings).await.to_string();
    assert!(
        said.contains("\"content\": \"ab\"") || said.contains("\"ab\""),
        "{said}"
    );
}
