"""Compares models on holes of the demos, in finished files and as they were written.

    python3 tests/models.py FILLRATE [--gguf NAME=FILE[,FAMILY]]... [--models NAME,...] [--holes N]
                            [--view NAME,...] [--threads N] [--context-tokens N] [--out DIR]

The models are the embedded one, SmolLM2-135M (tests/setup/smollm2), and each GGUF that is named,
such as `--gguf qwen2.5-coder-0.5b=qwen.gguf`; the name determines the template, or FAMILY does.
Each GGUF is served by llama-server (tests/setup/llama-server) with the compute library that
GGML_BACKEND_PATH names. Everything is greedy, with the server's default context.

Prints a table in Markdown: pass@1 with its 95 % interval, the paired differences from the
embedded model and from the finished file, the characters that are shown at a hole, and the median
latency. The runs stay in `--out`; the same command continues where it was stopped.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

HERE = Path(__file__).resolve().parent
CORPUS = HERE.parent / "corpora/demo.toml"
PORT = 18090
#: The limit for one completion, in seconds.
TIMEOUT = 600


def main():
    options = arguments()
    out = options.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    tasks = out / "tasks.jsonl"
    if not tasks.exists():
        fillrate(options, "mine", CORPUS, "--holes", options.holes, "-o", tasks)
    runs = {}
    for name, file, family in models(options):
        with Served(options, file, name, family, out) as settings:
            for view in options.view:
                # One after the other: prompts of a hole begin alike in all views, so that a view
                # played beside another one would find them in the server's cache.
                runs[name, view] = out / f"{name}-{view}"
                fillrate(
                    options,
                    *("replay", CORPUS, "--tasks", tasks, "--model", settings, "--view", view),
                    *("--request-timeout", TIMEOUT, "--jobs", "1", "--out", runs[name, view]),
                )
    print(table(options, runs))


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("fillrate", type=Path)
    parser.add_argument("--gguf", action="append", default=[], metavar="NAME=FILE[,FAMILY]")
    parser.add_argument("--models", default="embedded,smollm2-135m", type=lambda text: text.split(","))
    parser.add_argument("--holes", default=60, type=int)
    parser.add_argument("--view", default="finished,as-written", type=lambda text: text.split(","))
    parser.add_argument("--threads", default=2, type=int)
    parser.add_argument("--context-tokens", default=2048, type=int)
    parser.add_argument("--out", default=Path("runs/models"), type=Path)
    return parser.parse_args()


def models(options):
    """Yield name, file and family of each model; the embedded one has no file."""
    for name in options.models:
        if name == "embedded":
            yield name, None, None
        elif name == "smollm2-135m":
            yield name, setup("smollm2"), "left-to-right"
        else:
            sys.exit(f"--models names `{name}`; it knows embedded and smollm2-135m, see --gguf")
    for named in options.gguf:
        name, _, rest = named.partition("=")
        file, _, family = rest.partition(",")
        if not Path(file).is_file():
            sys.exit(f"--gguf {named}: there is no file `{file}`")
        yield name, Path(file), family or None


def setup(name):
    run = subprocess.run([HERE / "setup" / name], check=True, stdout=subprocess.PIPE, text=True)
    return Path(run.stdout.strip())


def fillrate(options, *words):
    """Run a command of fillrate and return its output."""
    command = [options.fillrate.resolve(), *map(str, words)]
    run = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if run.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))} ended with {run.returncode}\n{run.stdout}")
    return run.stdout


class Served:
    """A llama-server with one model; gives the settings by which `replay` asks it."""

    def __init__(self, options, file, name, family, out):
        self.file, self.server = file, None
        if file is None:
            self.settings = "embedded"
            return
        self.settings = out / f"{name}.toml"
        family = f'family = "{family}"\n' if family else ""
        self.settings.write_text(
            f'[model]\nprotocol = "llama-completion"\nurl = "http://127.0.0.1:{PORT}"\n'
            f'name = "{name}"\n{family}context_tokens = {options.context_tokens}\n'
            f"max_tokens = 64\ntimeout_ms = {TIMEOUT * 1000}\n"
        )
        size = options.context_tokens * 3
        command = [setup("llama-server"), "-m", file, "--host", "127.0.0.1", "--port", str(PORT)]
        # It would keep the prompts of one view for the next, whose latencies were lower.
        command += ["--cache-ram", "0"]
        command += ["-c", str(size), "-np", "1", "-t", str(options.threads)]
        self.log = (out / f"{name}.log").open("wb")
        self.server = subprocess.Popen(list(map(str, command)), stdout=self.log, stderr=self.log)

    def __enter__(self):
        while self.server is not None and not self.is_ready():
            if self.server.poll() is not None:
                sys.exit(f"llama-server ended; its output is in {self.log.name}")
            time.sleep(0.2)
        return self.settings

    def is_ready(self):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{PORT}/health", timeout=5) as answer:
                return answer.status == 200
        except (urllib.error.URLError, OSError):
            return False

    def __exit__(self, *_):
        if self.server is not None:
            self.server.kill()
            self.server.wait()


def table(options, runs):
    """The figures of runs by model and view."""
    lines = [
        "| model | view | pass@1, % | Δ from `embedded` | Δ from `finished` | characters | latency |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for (name, view), run in runs.items():
        row = figures(options, run)
        against = {"embedded": "", "finished": ""}
        for base, key in (("embedded", ("embedded", view)), ("finished", (name, "finished"))):
            if key in runs and runs[key] != run:
                difference = compared(options, runs[key], run)["against_first"]["pass@1"]
                against[base] = interval(difference["difference"], signed=True)
        attempts = exported(options, run)
        shown = statistics.mean(len(one.get("completion") or "") for one in attempts)
        latency = row["metrics"]["latency_ms/median"]["value"]
        passed = row["metrics"]["pass@1"]
        lines.append(
            f"| {name} | `{view}` | {interval(passed)}, n {passed['n']} | {against['embedded']} "
            f"| {against['finished']} | {shown:.0f} | {latency / 1000:.2f} s |"
        )
    return "\n".join(lines)


def figures(options, run):
    """The figures of a run over all of its projects."""
    rows = json.loads(fillrate(options, "show", run, "--json"))["rows"]
    return next(row for row in rows if row["project"] == "*")


def compared(options, first, run):
    """The figures of a run, and how they differ from those of the first."""
    shown = fillrate(options, "show", first, "--compare-with", run, "--json")
    return json.loads(shown)["contexts"][1]


def exported(options, run):
    file = run.parent / f"{run.name}.jsonl"
    fillrate(options, "export", run, "-o", file)
    with file.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def interval(estimate, signed=False):
    """A share in per cent with its interval."""
    sign = "+" if signed else ""
    text = f"{100 * estimate['value']:{sign}.1f}"
    if estimate.get("low") is None:
        return text
    return f"{text} [{100 * estimate['low']:{sign}.1f}, {100 * estimate['high']:{sign}.1f}]"


if __name__ == "__main__":
    main()
