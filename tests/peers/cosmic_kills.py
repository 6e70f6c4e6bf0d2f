"""Has cosmic-ray judge mutants of a Python file that ours are the same as.

The arguments are the project's folder, the module's path in it, the command that runs its tests,
and the most seconds of a run. Reads {"most", "mutants": [{"operator", "start", "end",
"replacement"}]} on standard input, places in bytes, and writes {"ours", "theirs", "shared",
"wall", "cpu", "verdicts": [{"index", "operator", "killed", "timeout"}]}: the verdicts of the
mutants that both have, `most` of them at most and these spread over the file, by the index of
ours. Two are the same if the syntax trees of the whole file are. The seconds are those of judging
alone.
"""

import ast
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

from cosmic_ray import mutating, plugins
from cosmic_ray.work_db import WorkDB, use_db
from cosmic_ray.work_item import TestOutcome, WorkerOutcome, WorkResult


def tree(text):
    try:
        return ast.dump(ast.parse(text))
    except SyntaxError:
        return None


def main():
    project, module, command, timeout = sys.argv[1:]
    os.chdir(project)
    asked = json.load(sys.stdin)
    text = pathlib.Path(module).read_bytes()
    ours = {}
    for index, each in enumerate(asked["mutants"]):
        mutated = text[: each["start"]] + each["replacement"].encode() + text[each["end"] :]
        ours.setdefault(tree(mutated), index)

    folder = tempfile.TemporaryDirectory()
    settings = pathlib.Path(folder.name, "session.toml")
    # TOML's strings are JSON's, as far as paths and commands go.
    settings.write_text(
        "[cosmic-ray]\n"
        f"module-path = {json.dumps(module)}\n"
        f"timeout = {float(timeout)}\n"
        "excluded-modules = []\n"
        f"test-command = {json.dumps(command)}\n"
        '[cosmic-ray.distributor]\nname = "local"\n'
    )
    session = str(pathlib.Path(folder.name, "session.sqlite"))
    cosmic_ray = str(pathlib.Path(sys.executable).with_name("cosmic-ray"))
    subprocess.run([cosmic_ray, "init", str(settings), session], check=True, stdout=sys.stderr)

    shared = {}
    with use_db(session, WorkDB.Mode.open) as database:
        items = list(database.work_items)
        for item in items:
            (mutation,) = item.mutations
            operator = plugins.get_operator(mutation.operator_name)
            mutated = mutating.mutate_code(
                text.decode(), operator(**(mutation.operator_args or {})), mutation.occurrence
            )
            index = mutated and ours.get(tree(mutated))
            if index is not None and index not in (found for found, _ in shared.values()):
                shared[item.job_id] = (index, mutation.operator_name)
        in_order = sorted(shared, key=shared.get)
        most = asked["most"] or len(in_order)
        step = max(1, len(in_order) // most)
        judged = set(in_order[::step][:most])
        skipped = WorkResult(worker_outcome=WorkerOutcome.SKIPPED)
        database.set_multiple_results(
            [item.job_id for item in items if item.job_id not in judged], skipped
        )

    def cpu():
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime

    begin, used = time.monotonic(), cpu()
    subprocess.run([cosmic_ray, "exec", str(settings), session], check=True, stdout=sys.stderr)
    wall, used = time.monotonic() - begin, cpu() - used

    verdicts = []
    with use_db(session, WorkDB.Mode.open) as database:
        for job, result in database.results:
            if job in judged:
                index, operator = shared[job]
                verdicts.append(
                    {
                        "index": index,
                        "operator": operator,
                        "killed": result.test_outcome == TestOutcome.KILLED,
                        "timeout": result.output == "timeout",
                    }
                )
    verdicts.sort(key=lambda verdict: verdict["index"])
    json.dump(
        {
            "ours": len(asked["mutants"]),
            "theirs": len(items),
            "shared": len(shared),
            "wall": wall,
            "cpu": used,
            "verdicts": verdicts,
        },
        sys.stdout,
    )


main()
