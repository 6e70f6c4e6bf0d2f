use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use fillrate_language::LANGUAGES;
use flate2::Compression;
use flate2::write::GzEncoder;
use tempfile::TempDir;

use super::*;

/// A cache with an entry of all kinds of nodes, and a file.
fn cache(folder: &TempDir) -> Cache {
    let cache = Cache::at(&folder.path().join("cache"));
    let entry = cache.root().join("environments/python-1");
    let deep = entry.join("root").join("a folder's long name/".repeat(9));
    fs::create_dir_all(&deep).unwrap();
    fs::write(deep.join("module.py"), "x = 1\n").unwrap();
    fs::write(entry.join("record.json"), "{}").unwrap();
    let program = entry.join("root/program");
    fs::write(&program, [0, 159, 146, 150]).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    symlink("program", entry.join("root/link")).unwrap();
    symlink("/usr/bin/env", entry.join("root/outside")).unwrap();
    symlink("nothing", entry.join("root/broken")).unwrap();
    fs::create_dir_all(cache.root().join("baselines")).unwrap();
    fs::write(cache.root().join("baselines/a.json"), "[]").unwrap();
    let sealed = entry.join("root/sealed");
    fs::create_dir(&sealed).unwrap();
    fs::write(sealed.join("file"), "").unwrap();
    fs::set_permissions(&sealed, fs::Permissions::from_mode(0o555)).unwrap();
    cache
}

fn contents<'a>(cache: &Cache, environments: Vec<&'a Environment>) -> PackContents<'a> {
    let files = [
        (PathBuf::from("kitchen.toml"), b"schema = 1\n".to_vec()),
        (PathBuf::from("tasks.jsonl"), b"{}\n".to_vec()),
    ];
    let tasks = Some(Path::new("tasks.jsonl"));
    PackContents {
        corpus: PackedCorpus::keep(cache, &files, tasks).unwrap(),
        environments,
        items: ["environments/python-1", "baselines/a.json"]
            .map(PathBuf::from)
            .into(),
    }
}

/// All below a folder: the path, the permissions, the time and the contents or the target.
fn state(root: &Path) -> BTreeSet<(PathBuf, u32, i64, Vec<u8>)> {
    let mut found = BTreeSet::new();
    let mut pending = vec![root.to_owned()];
    while let Some(path) = pending.pop() {
        let metadata = path.symlink_metadata().unwrap();
        let contents = if metadata.is_dir() {
            pending.extend(fs::read_dir(&path).unwrap().map(|one| one.unwrap().path()));
            Vec::new()
        } else if metadata.is_symlink() {
            let target = fs::read_link(&path).unwrap();
            target.into_os_string().into_encoded_bytes()
        } else {
            fs::read(&path).unwrap()
        };
        // A link's own time says nothing.
        let time = if metadata.is_symlink() {
            0
        } else {
            metadata.mtime()
        };
        found.insert((path, metadata.mode(), time, contents));
    }
    found
}

#[test]
fn items_come_back_as_they_were() {
    let folder = TempDir::new().unwrap();
    let cache = cache(&folder);
    let file = folder.path().join("pack.tar.gz");
    let size = pack(&cache, &contents(&cache, Vec::new()), &file).unwrap();
    assert_eq!((size.items, size.bytes), (3, 28));
    let kinds = ["environments", "baselines", "packs"];
    let states = || {
        kinds.map(|kind| {
            state(
                &cache
                    .root()
                    .join(kind)
                    .read_dir()
                    .unwrap()
                    .next()
                    .unwrap()
                    .unwrap()
                    .path(),
            )
        })
    };
    let before = states();
    // An entry that was never finished is made anew; what is there stays.
    fs::remove_file(cache.root().join("environments/python-1/record.json")).unwrap();
    fs::write(cache.root().join("baselines/a.json"), "[1]").unwrap();
    let unpacked = unpack(&cache, &file, &|_| {}).unwrap();
    assert_eq!((unpacked.items, unpacked.known), (3, 2));
    assert_eq!(states()[0], before[0]);
    assert_eq!(
        fs::read_to_string(cache.root().join("baselines/a.json")).unwrap(),
        "[1]"
    );
    fs::rename(cache.root(), folder.path().join("old")).unwrap();
    let unpacked = unpack(&cache, &file, &|_| {}).unwrap();
    assert_eq!((unpacked.items, unpacked.known), (3, 0));
    assert_eq!(states(), before);
    assert_eq!(
        fs::read_to_string(unpacked.manifest).unwrap(),
        "schema = 1\n"
    );
    assert_eq!(fs::read_to_string(unpacked.tasks.unwrap()).unwrap(), "{}\n");
}

#[test]
fn missing_interpreters_are_named() {
    let folder = TempDir::new().unwrap();
    let cache = cache(&folder);
    let environment = Environment {
        interpreter: "/nowhere/python3.99".into(),
        version: "3.99.1".to_owned(),
        ..Environment::none(LANGUAGES[0])
    };
    let file = folder.path().join("pack.tar.gz");
    pack(&cache, &contents(&cache, vec![&environment]), &file).unwrap();
    let error = unpack(&cache, &file, &|_| {}).unwrap_err().to_string();
    assert!(
        error.contains("for /nowhere/python3.99 (3.99.1), which"),
        "{error}"
    );
}

/// A pack of one item with an entry at this path, in the cache.
fn forged(cache: &Cache, file: &Path, item: &str, entry: &str) {
    let header = PackHeader {
        pack: SCHEMA,
        program: String::new(),
        cache: cache.root().to_owned(),
        corpus: PackedCorpus {
            folder: PathBuf::new(),
            manifest: PathBuf::new(),
            tasks: None,
        },
        interpreters: BTreeSet::new(),
        items: vec![PackedItem {
            path: item.into(),
            bytes: 0,
            sha256: String::new(),
        }],
    };
    let out = fs::File::create(file).unwrap();
    let mut tar = Builder::new(GzEncoder::new(out, Compression::fast()));
    let text = serde_json::to_vec(&header).unwrap();
    let mut first = plain_header(EntryType::Regular, 0o644, 0, text.len() as u64);
    tar.append_data(&mut first, HEADER, text.as_slice())
        .unwrap();
    let mut second = plain_header(EntryType::Regular, 0o644, 0, 1);
    // `append_data` refuses such paths.
    second.as_old_mut().name[..entry.len()].copy_from_slice(entry.as_bytes());
    second.set_cksum();
    tar.append(&second, b"x".as_slice()).unwrap();
    tar.into_inner().unwrap().finish().unwrap();
}

#[test]
fn packs_write_nothing_outside_the_cache() {
    let folder = TempDir::new().unwrap();
    let cache = Cache::at(&folder.path().join("cache"));
    let file = folder.path().join("pack.tar.gz");
    for (item, entry) in [
        ("../outside", "../outside"),
        ("baselines/a", "baselines/a/../../../../outside"),
        ("/tmp/outside", "/tmp/outside"),
        ("baselines/a", "baselines/b"),
    ] {
        forged(&cache, &file, item, entry);
        let error = unpack(&cache, &file, &|_| {}).unwrap_err();
        assert!(
            matches!(error, PackError::Damaged { .. }),
            "{item}: {error}"
        );
        let entries = fs::read_dir(folder.path()).unwrap();
        let names: BTreeSet<_> = entries.map(|one| one.unwrap().file_name()).collect();
        assert!(
            !names.contains(std::ffi::OsStr::new("outside")),
            "{names:?}"
        );
    }
}
