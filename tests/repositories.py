"""Replays public repositories without a manifest, and prints what came of each.

    python3 tests/repositories.py FILLRATE [--only NAME,...] [--holes N] [--jobs N] [--work DIR]

For each repository of `tests/repositories.toml` this fetches the pinned source, unpacks it, and
runs `fillrate replay FOLDER` with the models `reference` and `empty`, and `fillrate audit` on the
first run. It fails if a repository gives holes, but its references do not all pass, or an empty
completion passes, or a verdict of the audit differs; and if a repository gives no holes without a
sentence that says why.

Nothing is fetched again that is in `--work`, by default a folder in fillrate's cache.
"""

import argparse
import hashlib
import json
import os
import sqlite3
import subprocess
import sys
import tarfile
import time
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
DOWNLOAD_SDIST = HERE.parent / "replay/verdict/src/corpus/download_sdist.py"
#: The limit of one command, in seconds.
TIME_LIMIT = 3600


def fetch(repository, work):
    """Return the folder of a repository's unpacked source."""
    if "git" in repository:
        return check_out(repository, work)
    folder = work / "sources" / repository["sha256"][:16]
    if not folder.is_dir():
        archive = download(repository, work)
        if hashlib.sha256(archive.read_bytes()).hexdigest() != repository["sha256"]:
            sys.exit(f"{archive} is not what is pinned")
        part = folder.with_suffix(".part")
        with tarfile.open(archive) as tar:
            tar.extractall(part, filter="data")
        part.rename(folder)
    (only,) = folder.iterdir()
    return only


def check_out(repository, work):
    """Fetch one commit of a repository, without its history; return its folder."""
    folder = work / "sources" / repository["revision"][:16]
    if not folder.is_dir():
        part = folder.with_suffix(".part")
        part.mkdir(parents=True, exist_ok=True)
        for arguments in (
            ["init", "--quiet", "--template="],
            ["fetch", "--quiet", "--depth=1", "--", repository["git"], repository["revision"]],
            ["-c", "advice.detachedHead=false", "checkout", "--quiet", "FETCH_HEAD"],
        ):
            subprocess.run(["git", *arguments], cwd=part, check=True)
        part.rename(folder)
    return folder


def download(repository, work):
    """Fetch a source distribution with pip, without running code of it."""
    into = work / "archives" / repository["sha256"][:16]
    into.mkdir(parents=True, exist_ok=True)
    known = list(into.glob("*.tar.gz"))
    if known:
        return known[0]
    requirements = into / "requirements.txt"
    requirements.write_text(f"{repository['pypi']} --hash=sha256:{repository['sha256']}\n")
    command = [sys.executable, "-c", DOWNLOAD_SDIST.read_text(), "download", "--quiet"]
    command += ["--no-input", "--disable-pip-version-check", "--no-deps", "--no-binary", ":all:"]
    command += ["--require-hashes", "--requirement", str(requirements), "--dest", str(into)]
    subprocess.run(command, check=True)
    return next(into.glob("*.tar.gz"))


def run(arguments, folder):
    """Run fillrate; return its status, its output and the last line of its errors."""
    try:
        done = subprocess.run(
            arguments, cwd=folder, capture_output=True, text=True, timeout=TIME_LIMIT
        )
    except subprocess.TimeoutExpired:
        return 124, "", f"it took more than {TIME_LIMIT} s"
    lines = [line for line in done.stderr.splitlines() if line.startswith("fillrate: ")]
    return done.returncode, done.stdout, lines[-1][len("fillrate: ") :] if lines else ""


def replay(options, folder, model, out):
    """Replay a folder with a model; return the report, the events and the error."""
    out.parent.mkdir(parents=True, exist_ok=True)
    events = out.with_suffix(".events")
    arguments = [options.fillrate, "replay", str(folder), "--model", model, "--json"]
    arguments += ["--holes", str(options.holes), "--jobs", str(options.jobs), "--out", str(out)]
    arguments += ["--events", f"jsonl={events}"]
    status, text, error = run(arguments, options.work)
    report = json.loads(text) if text.strip().startswith("{") else None
    seen = [json.loads(line) for line in events.read_text().splitlines()] if events.exists() else []
    return status, report, seen, error


def row_of(report):
    """The figures of all projects."""
    return report["rows"][-1]


def try_one(options, repository):
    """Return the table's row of one repository, and what is wrong, if anything is."""
    started = time.monotonic()
    folder = fetch(repository, options.work)
    before = state(folder)
    runs = options.work / "runs" / f"{repository['name']}-{os.getpid()}"
    row = {"name": repository["name"]}
    status, report, events, error = replay(options, folder, "reference", runs / "reference")
    for event in events:
        if event["event"] == "project-ready":
            row["tests"] = event["tests"]
            row["aside"] = len(event["set_aside"])
            row["engine"] = event["readiness"]
    if report is None:
        row["says"] = error or f"it ended with {status} and said nothing"
        row["seconds"] = round(time.monotonic() - started)
        return row, None if error and status != 124 else row["says"]
    figures = row_of(report)
    row["holes"] = figures["holes"]
    faults = []
    outcomes = figures["outcomes"]
    executed = sum(outcomes.values()) - outcomes.get("unjudged", 0)
    row["reference"] = f"{outcomes.get('passed', 0)}/{executed}"
    if outcomes.get("passed", 0) != executed:
        faults.append(f"references do not all pass: {outcomes}")
    _, report, _, error = replay(options, folder, "empty", runs / "empty")
    row["verdicts"] = seconds(runs / "reference") + seconds(runs / "empty")
    outcomes = row_of(report)["outcomes"] if report else {}
    row["empty"] = outcomes.get("passed", 0)
    if not report or row["empty"]:
        faults.append(f"an empty completion passes: {outcomes} {error}")
    if executed:
        # All of them: a sample of few verdicts may be empty.
        audit = [options.fillrate, "audit", str(runs / "reference"), "--sample", "1"]
        status, text, error = run(audit, options.work)
        row["audit"] = text.strip().splitlines()[-1] if text.strip() else error
        if status != 0:
            faults.append(f"the audit differs: {row['audit']}")
    if state(folder) != before:
        faults.append("the repository was changed")
    row["seconds"] = round(time.monotonic() - started)
    return row, "; ".join(faults) or None


def seconds(run):
    """Return how long each verdict of a run took."""
    database = sqlite3.connect(f"file:{run}/run.db?mode=ro", uri=True)
    records = [json.loads(record) for (record,) in database.execute("SELECT record FROM attempts")]
    return [record["verdict"]["seconds"] for record in records if record["verdict"]["seconds"]]


def state(folder):
    """Every file of a folder with its size and time."""
    return {
        str(path): (path.lstat().st_size, path.lstat().st_mtime_ns)
        for path in sorted(folder.rglob("*"))
    }


def cell(row, key):
    """A value of the table."""
    if key == "s/verdict":
        verdicts = row.get("verdicts")
        return f"{sum(verdicts) / len(verdicts):.2f}" if verdicts else "-"
    return str(row.get(key, "-"))


def main():
    """Try the repositories and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("fillrate", type=os.path.abspath)
    parser.add_argument("--only", help="names, with commas between them")
    parser.add_argument("--holes", type=int, default=6)
    parser.add_argument("--jobs", type=int, default=2)
    default = Path(os.environ.get("FILLRATE_CACHE", Path.home() / ".cache/fillrate"))
    parser.add_argument("--work", type=Path, default=default / "repositories")
    options = parser.parse_args()
    options.work = options.work.absolute()
    (options.work / "sources").mkdir(parents=True, exist_ok=True)
    with open(HERE / "repositories.toml", "rb") as file:
        repositories = tomllib.load(file)["repository"]
    names = [repository["name"] for repository in repositories]
    only = options.only.split(",") if options.only else names
    unknown = set(only) - set(names)
    if unknown:
        sys.exit(f"not in the list: {', '.join(sorted(unknown))}")
    columns = ["name", "tests", "aside", "holes", "reference", "empty", "s/verdict"]
    columns += ["engine", "seconds", "audit", "says"]
    print("\t".join(columns), flush=True)
    wrong = []
    for repository in repositories:
        if repository["name"] not in only:
            continue
        row, fault = try_one(options, repository)
        print("\t".join(cell(row, key) for key in columns), flush=True)
        if fault:
            wrong.append(f"{repository['name']}: {fault}")
    for fault in wrong:
        print(fault)
    print(f"{len(only) - len(wrong)} passed, {len(wrong)} failed")
    sys.exit(1 if wrong else 0)


main()
