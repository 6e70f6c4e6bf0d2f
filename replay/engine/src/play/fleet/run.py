#!/usr/bin/env python3
"""Runs the parts of plan.json, the file beside this one, by HyperQueue and merges them.

Started again, it runs the parts that are missing. It needs the package `hyperqueue`.
"""

import argparse
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent


def main():
    arguments = parse_arguments()
    plan = json.loads((FOLDER / "plan.json").read_text())
    if Path(plan["run"], "run.db").exists():
        print(f"run: {plan['run']}")
        return
    missing = missing_parts(plan)
    if missing:
        say(f"running {len(missing)} of {plan['parts']} parts")
    with Scheduler(plan, arguments) as scheduler:
        failed = scheduler.run([part_task(plan, part) for part in missing])
        for name, error in failed.items():
            say(f"part {name}: {error}; its output is in {log(part_name(name), 'err')}")
        again = missing_parts(plan, reasons=True) if missing else []
        if again:
            stop(
                f"{len(again)} of {plan['parts']} parts are missing; read their output in "
                f"{FOLDER}, and run them again by {command_line()}"
            )
        for error in scheduler.run([merge_task(plan)]).values():
            stop(
                f"all parts are finished and not merged: {error}; read {log('merge', 'err')}, "
                f"and merge by {command_line()}"
            )
    print(f"run: {plan['run']}")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "--local",
        type=positive,
        metavar="WORKERS",
        help="start a server and this number of workers here, each of which runs a part at a time",
    )
    where.add_argument(
        "--server-dir",
        default=os.environ.get("HQ_SERVER_DIR"),
        metavar="DIR",
        help="the folder of the running server [default: $HQ_SERVER_DIR, else ~/.hq-server]",
    )
    return parser.parse_args()


def positive(text):
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number


def missing_parts(plan, reasons=False):
    """The parts to run, as `k/n`; why each is missing goes to standard error if `reasons`."""
    everything = [f"{part}/{plan['parts']}" for part in range(1, plan["parts"] + 1)]
    if not any(Path(plan["out"], "parts").glob("*/*.jsonl")):
        return everything
    found = subprocess.run(
        plan["missing"],
        stdout=subprocess.PIPE,
        stderr=None if reasons else subprocess.PIPE,
        text=True,
    )
    # 3: some are missing.
    if found.returncode not in (0, 3):
        sys.stderr.write(found.stderr or "")
        stop(f"it is unknown which parts are missing: {shlex.join(plan['missing'])} fails")
    missing = found.stdout.split()
    if not set(missing) <= set(everything):
        stop(
            f"{plan['out']} holds parts of another division, of which {missing[0]} is missing; "
            "write the fleet with as many parts, or with another --out"
        )
    return missing


def part_name(part):
    """The name of a part's output."""
    return f"part-{part.split('/')[0]}"


def log(name, stream):
    return FOLDER / f"{name}.{stream}"


def part_task(plan, part):
    command = [part if word == "{part}" else word for word in plan["part"]]
    return part, part_name(part), command


def merge_task(plan):
    return "merge", "merge", plan["merge"]


class Scheduler:
    """The running server of HyperQueue, or one on this machine."""

    def __init__(self, plan, arguments):
        try:
            import hyperqueue
            from hyperqueue.cluster import WorkerConfig
        except ImportError as error:
            stop(
                f"HyperQueue is unavailable to {sys.executable} ({error}); install it by "
                "`pip install hyperqueue`, or start this file by the Python that has it"
            )
        self.plan = plan
        self.hyperqueue = hyperqueue
        self.cluster = None
        try:
            if arguments.local:
                self.cluster = hyperqueue.LocalCluster()
                for _ in range(arguments.local):
                    self.cluster.start_worker(WorkerConfig(cores=plan["processors"]))
                self.client = self.cluster.client()
            else:
                self.client = hyperqueue.Client(arguments.server_dir)
        except Exception as error:
            stop(
                f"no server of HyperQueue answers ({first_words(error)}); start one by "
                "`hq server start`, or run the parts on this machine by --local WORKERS"
            )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.cluster:
            self.cluster.stop()

    def run(self, tasks):
        """Runs tasks (a name, the name of the output, a command) until all have ended; returns why
        each that failed did so, by name."""
        from hyperqueue.ffi.protocol import ResourceRequest

        if not tasks:
            return {}
        # One that fails does not stop the others.
        job = self.hyperqueue.Job(name="fillrate", max_fails=None, default_env=self.plan["variables"])
        limit = ["timeout", "--kill-after=30", str(self.plan["minutes"] * 60)]
        names = {}
        for name, output, command in tasks:
            task = job.program(
                limit + command,
                name=name,
                cwd=self.plan["folder"],
                stdout=log(output, "out"),
                stderr=log(output, "err"),
                resources=ResourceRequest(cpus=self.plan["processors"]),
            )
            names[task.task_id] = name
        try:
            submitted = self.client.submit(job)
            if self.client.wait_for_jobs([submitted], raise_on_error=False):
                return {}
            failed = self.client.get_failed_tasks(submitted)
        except Exception as error:
            stop(
                f"the server of HyperQueue is lost ({first_words(error)}); once it runs again, "
                f"continue by {command_line()}"
            )
        return {names[task]: reason(failed[task].error, self.plan) for task in sorted(failed)}


def reason(error, plan):
    # The status by which `timeout` says that it ended the command.
    if "exit code 124" in error:
        return f"it took more than {plan['minutes']} minutes"
    return first_words(error).rstrip(".")


def first_words(error):
    """Returns an error's message up to its stack backtrace, as one line."""
    return " ".join(str(error).split("Stack backtrace")[0].split())


def command_line():
    return shlex.join([sys.executable, *sys.argv])


def say(text):
    print(f"run.py: {text}", file=sys.stderr)


def stop(text):
    sys.exit(f"run.py: {text}")


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        stop(f"interrupted; parts of a running server go on; continue by {command_line()}")
