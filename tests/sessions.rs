//! A server that serves one session after the other, or finds an index that another one kept,
//! answers as one that was just started and read everything.

use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant, SystemTime};

use fillrate_engine::developer::{Developer, ServerCommand};
use fillrate_server::context::{GivenContext, Window};
use fillrate_syntax::text::ByteOffset;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::json;

/// Number of sessions for each profile; twice as many times, two servers are killed. CI runs few.
fn number_of_sessions() -> usize {
    std::env::var("FILLRATE_SESSIONS").map_or(20, |number| number.parse().unwrap())
}

/// Response of a server at a hole: the windows with their scores' bits, and the completions.
type Seen = (Vec<(String, usize, String, u64)>, Vec<String>);

fn server(profile: &str) -> ServerCommand {
    ServerCommand {
        program: env!("CARGO_BIN_EXE_fillrate").into(),
        arguments: ["serve", "--context", profile].map(Into::into).into(),
        start_timeout: Duration::from_secs(60),
        telemetry: None,
        keeps_index: false,
    }
}

/// The demos' sources in one workspace, with their paths.
fn workspace() -> (tempfile::TempDir, Vec<PathBuf>) {
    let folder = tempfile::tempdir().unwrap();
    let mut paths = Vec::new();
    for demo in ["demo-python", "demo-typescript", "demo-go"] {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../corpora")
            .join(demo);
        let mut folders = vec![root.clone()];
        while let Some(current) = folders.pop() {
            for entry in std::fs::read_dir(current).unwrap() {
                let path = entry.unwrap().path();
                let known = path.extension().and_then(|extension| extension.to_str());
                if path.is_dir() {
                    folders.push(path);
                } else if matches!(known, Some("py" | "ts" | "go")) {
                    let copy = folder
                        .path()
                        .join(demo)
                        .join(path.strip_prefix(&root).unwrap());
                    std::fs::create_dir_all(copy.parent().unwrap()).unwrap();
                    std::fs::copy(&path, &copy).unwrap();
                    paths.push(copy);
                }
            }
        }
    }
    paths.sort();
    (folder, paths)
}

/// The byte offsets of a text's line starts and its end.
fn line_starts(text: &str) -> Vec<usize> {
    let ends = text.match_indices('\n').map(|(at, _)| at + 1);
    std::iter::once(0).chain(ends).collect()
}

/// Cuts some lines out of a text; returns what is before and after them.
fn cut(text: &str, random: &mut ChaCha8Rng) -> (String, String) {
    let starts = line_starts(text);
    let first = random.random_range(0..starts.len());
    let last = (first + random.random_range(1..8)).min(starts.len() - 1);
    let last = last.max(first);
    (
        text[..starts[first]].to_owned(),
        text[starts[last]..].to_owned(),
    )
}

/// Opens a file with a hole, types into it, and asks for windows and a completion.
async fn play(developer: &mut Developer, path: &Path, before: &str, after: &str) -> Seen {
    // Settings that the next session must not keep.
    let settings = json!({"cleanup": {"extent": "anything"}});
    let language = match path.extension().unwrap().to_str() {
        Some("py") => "python",
        Some("go") => "go",
        _ => "typescript",
    };
    let text = format!("{before}{after}");
    let mut file = developer.open(path, language, &text).await.unwrap();
    let cursor = ByteOffset(before.len());
    let given = || Some(GivenContext::default());
    let windows = developer.retrieve(&file, cursor, given()).await.unwrap();
    let bits = |window: &Window| {
        let score = window.score.to_bits();
        (
            window.path.clone(),
            window.first_line,
            window.text.clone(),
            score,
        )
    };
    let windows = windows.windows.iter().map(bits).collect();
    let timeout = Duration::from_secs(60);
    let reply = developer
        .request_completion(&file, cursor, timeout, given())
        .await
        .unwrap();
    assert!(reply.answered);
    // An answer that failed has no candidates either.
    let trace = reply.trace.expect("the server explains its answer");
    assert_eq!(trace.fault, None);
    if let Some(text) = reply.candidates.first() {
        developer.accept(&mut file, cursor, text).await.unwrap();
    }
    developer.configure(&settings).await.unwrap();
    developer.close(file).await.unwrap();
    (windows, reply.candidates)
}

/// Returns the response of a server that was just started.
async fn play_fresh(profile: &str, root: &Path, path: &Path, before: &str, after: &str) -> Seen {
    let mut developer = Developer::start(&server(profile), root).await.unwrap();
    let seen = play(&mut developer, path, before, after).await;
    developer.shut_down().await.unwrap();
    seen
}

#[tokio::test]
async fn sessions_of_one_server_learn_nothing_from_each_other() {
    let sessions = number_of_sessions();
    for (seed, profile) in (7..).zip(["editor", "cceval", "repocoder"]) {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let (folder, paths) = workspace();
        let root = folder.path();
        let mut kept = Developer::start(&server(profile), root).await.unwrap();
        let mut changed: Vec<PathBuf> = Vec::new();
        let (mut found, mut completed) = (0, 0);
        for session in 0..sessions {
            // Now and then other files change for good.
            if random.random_bool(0.3) {
                let path = paths.choose(&mut random).unwrap();
                let text = std::fs::read_to_string(path).unwrap();
                let (before, after) = cut(&text, &mut random);
                std::fs::write(path, before + &after).unwrap();
                changed.push(path.clone());
            }
            let path = paths.choose(&mut random).unwrap();
            let whole = std::fs::read_to_string(path).unwrap();
            let (before, after) = cut(&whole, &mut random);
            std::fs::write(path, format!("{before}{after}")).unwrap();
            changed.push(path.clone());
            kept.begin_session(&changed).await.unwrap();
            changed.clear();
            let seen = play(&mut kept, path, &before, &after).await;
            let expected = play_fresh(profile, root, path, &before, &after).await;
            assert_eq!(seen, expected, "{profile}, session {session}, {path:?}");
            found += usize::from(!seen.0.is_empty());
            completed += usize::from(!seen.1.is_empty());
            std::fs::write(path, whole).unwrap();
            changed.push(path.clone());
        }
        assert!(found > sessions / 2, "{profile}: {found}");
        assert!(completed > sessions / 4, "{profile}: {completed}");
        kept.shut_down().await.unwrap();
    }
}

/// A server that keeps its index in a cache.
fn keeping_server(cache: &Path) -> ServerCommand {
    let variable = format!("FILLRATE_CACHE={}", cache.display());
    ServerCommand {
        program: "/usr/bin/env".into(),
        arguments: [&variable, env!("CARGO_BIN_EXE_fillrate"), "serve"]
            .map(Into::into)
            .into(),
        keeps_index: true,
        ..server("editor")
    }
}

/// Dates a file back, so that its time of change counts.
fn settle(path: &Path, seconds: u64) {
    let file = std::fs::File::options().write(true).open(path).unwrap();
    let earlier = SystemTime::now() - Duration::from_secs(10_000 - seconds);
    file.set_modified(earlier).unwrap();
}

#[tokio::test]
async fn an_index_kept_by_servers_that_are_killed_finds_what_a_new_one_finds() {
    let mut random = ChaCha8Rng::seed_from_u64(3);
    let (folder, paths) = workspace();
    let cache = tempfile::tempdir().unwrap();
    let command = keeping_server(cache.path());
    let root = folder.path();
    for path in &paths {
        settle(path, 0);
    }
    // The index and what the embedded model has learnt.
    let kept = || {
        let folder = cache.path().join("index");
        std::fs::read_dir(folder).is_ok_and(|all| {
            let finished = all.flatten().filter(|one| one.path().extension().is_none());
            finished.count() == 2
        })
    };
    let kills = 2 * number_of_sessions();
    let mut found = 0;
    for kill in 0..kills {
        let path = paths.choose(&mut random).unwrap();
        let text = std::fs::read_to_string(path).unwrap();
        let (before, after) = cut(&text, &mut random);
        if random.random_bool(0.5) {
            std::fs::write(path, format!("{before}{after}")).unwrap();
            settle(path, 1 + kill as u64);
        }
        // Two at once, each killed at any moment of its start, some after it.
        let mut start = || {
            let timeout = Duration::from_millis(random.random_range(0..400));
            tokio::time::timeout(timeout, Developer::start(&command, root))
        };
        // A server is killed when its developer is dropped.
        let _ = tokio::join!(start(), start());
        let path = paths.choose(&mut random).unwrap();
        let text = std::fs::read_to_string(path).unwrap();
        let (before, after) = cut(&text, &mut random);
        let mut developer = Developer::start(&command, root).await.unwrap();
        let seen = play(&mut developer, path, &before, &after).await;
        if random.random_bool(0.5) {
            developer.shut_down().await.unwrap();
            assert!(kept(), "kill {kill}");
        }
        let expected = play_fresh("editor", root, path, &before, &after).await;
        assert_eq!(seen, expected, "kill {kill}, {path:?}");
        found += usize::from(!seen.0.is_empty());
    }
    assert!(found > kills / 2, "{found}");
}

/// It runs for 20 seconds or two kills; the soak itself is
/// `FILLRATE_SOAK_SECONDS=600 cargo test --release --test system sessions`.
#[tokio::test]
async fn servers_of_one_index_find_what_a_new_one_finds_while_they_are_killed() {
    let seconds: u64 =
        std::env::var("FILLRATE_SOAK_SECONDS").map_or(20, |seconds| seconds.parse().unwrap());
    let until = Instant::now() + Duration::from_secs(seconds);
    let between_kills = Duration::from_secs((seconds / 5).min(10));
    let mut random = ChaCha8Rng::seed_from_u64(4);
    let (folder, paths) = workspace();
    let root = folder.path();
    let cache = tempfile::tempdir().unwrap();
    let texts: Vec<String> = paths
        .iter()
        .map(|path| std::fs::read_to_string(path).unwrap())
        .collect();
    let command = keeping_server(cache.path());
    let start = || async { Developer::start(&command, root).await.unwrap() };
    let mut servers = [start().await, start().await];
    let mut changed = [Vec::new(), Vec::new()];
    // A folder without tests, whose holes are found by syntax.
    let source = root.join("demo-python/src");
    let replay = |number: usize| {
        std::process::Command::new(env!("CARGO_BIN_EXE_fillrate"))
            .env("FILLRATE_CACHE", cache.path())
            .arg("replay")
            .arg(&source)
            .args([
                "--model", "embedded", "--holes", "8", "--jobs", "1", "--out",
            ])
            .arg(cache.path().join(format!("runs/{number}")))
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    };
    let mut replaying = replay(0);
    let (mut kills, mut replays, mut found) = (0, 0, 0);
    let mut last_kill = Instant::now();
    // A busy machine takes longer for the first kills.
    while Instant::now() < until || kills < 2 || found == 0 {
        // Some lines vanish from a file, or return.
        let which = random.random_range(0..paths.len());
        let (before, after) = match random.random_bool(0.7) {
            true => cut(&texts[which], &mut random),
            false => (texts[which].clone(), String::new()),
        };
        std::fs::write(&paths[which], before + &after).unwrap();
        for changed in &mut changed {
            changed.push(paths[which].clone());
        }
        if last_kill.elapsed() > between_kills {
            last_kill = Instant::now();
            kills += 1;
            if random.random_bool(0.3) {
                damage(&cache.path().join("index"), &mut random);
            }
            // Dropping it kills it.
            let which = random.random_range(0..2);
            changed[which].clear();
            servers[which] = start().await;
        }
        let which = random.random_range(0..2);
        let path = paths.choose(&mut random).unwrap();
        let text = std::fs::read_to_string(path).unwrap();
        let (before, after) = cut(&text, &mut random);
        let begun = std::mem::take(&mut changed[which]);
        servers[which].begin_session(&begun).await.unwrap();
        let seen = play(&mut servers[which], path, &before, &after).await;
        let expected = play_fresh("editor", root, path, &before, &after).await;
        assert_eq!(seen, expected, "after {kills} kills, {path:?}");
        found += usize::from(!seen.0.is_empty());
        if replaying.try_wait().unwrap().is_some() {
            assert_replayed(replaying);
            replays += 1;
            replaying = replay(replays);
        }
    }
    assert_replayed(replaying);
    println!("{kills} kills, {replays} replays, {found} positions with windows");
}

/// Waits for a replay, which succeeds unless a file changed at the moment it was copied.
fn assert_replayed(replaying: Child) {
    let ended = replaying.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&ended.stderr);
    let was_late = said.contains("changed while it was copied; run this again");
    assert!(ended.status.success() || was_late, "{said}");
}

/// Overwrites some bytes of a kept index, if there is one.
fn damage(index: &Path, random: &mut ChaCha8Rng) {
    let kept: Vec<PathBuf> = std::fs::read_dir(index)
        .unwrap()
        .map(|one| one.unwrap().path())
        .collect();
    let Some(path) = kept.choose(random) else {
        return;
    };
    // A server may remove it meanwhile.
    let Ok(mut bytes) = std::fs::read(path) else {
        return;
    };
    if !bytes.is_empty() {
        let at = random.random_range(0..bytes.len());
        bytes[at] ^= 0x55;
        let _ = std::fs::write(path, bytes);
    }
}
