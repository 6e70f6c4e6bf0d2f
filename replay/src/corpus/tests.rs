#![allow(clippy::unwrap_used)] // A test stops at the first surprise.

use super::*;

#[test]
fn tmp_real() {
    let dir = std::env::var_os("TMP_CACHE").unwrap();
    let corpus = Corpus {
        cache: Cache::at(Path::new(&dir)),
        toolchain: Toolchain::default(),
    };
    for m in ["real", "demo"] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../corpora/{m}.toml"));
        let manifest = Manifest::read(&path).unwrap();
        let start = std::time::Instant::now();
        for result in corpus.prepare(&manifest, &|name, step| {
            eprintln!("{:?} {name} {step:?}", start.elapsed())
        }) {
            match result {
                Ok(p) => {
                    let into = Path::new(&dir)
                        .join("mat")
                        .join(&p.project.name)
                        .join("repo");
                    let _ = std::fs::remove_dir_all(&into);
                    tree::materialise(&p, &into).unwrap();
                    eprintln!(
                        "{} {} {} {:?} visible {} holes {}",
                        p.project.name,
                        p.source.display(),
                        p.digest,
                        p.environment,
                        tree::visible_files(&p).unwrap().len(),
                        tree::hole_files(&p).unwrap().len()
                    );
                }
                Err(error) => eprintln!("ERR {error}"),
            }
        }
    }
    for p in environment::probe(&corpus.toolchain) {
        eprintln!("{p:?}");
    }
}
