"""An environment for Harbor that needs no containers, for tasks of `fillrate export-tasks`.

    harbor run -p TASKS -a oracle -e harbor_environment:FolderEnvironment

Each task gets a root of its own, in which `/app`, `/tests`, `/solution`, `/logs` and `/packages` are
folders of the task and all else is this machine's. Packages are installed once for equal lists, by
the commands of the task's build file. It isolates nothing: run only code that you trust.
"""

import asyncio
import hashlib
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from harbor.environments.base import BaseEnvironment, ExecResult

PLACES = ["app", "tests", "solution", "logs", "packages"]
#: This machine's folders that a root shows.
SHOWN = ["usr", "bin", "sbin", "lib", "lib64", "etc", "dev", "proc", "root", "home", "opt", "tmp", "var"]
PACKAGES = Path(os.environ.get("HARBOR_PACKAGES", "/tmp/harbor-packages"))


class FolderEnvironment(BaseEnvironment):
    """A root made of folders."""

    @staticmethod
    def type():
        return "folders"

    def _validate_definition(self):
        if not (self.environment_dir / "Dockerfile").is_file():
            raise FileNotFoundError(self.environment_dir / "Dockerfile")

    @property
    def root(self):
        return (self.trial_paths.trial_dir / "root").resolve()

    async def start(self, force_build):
        root = self.root
        for place in [*PLACES, *SHOWN]:
            (root / place).mkdir(parents=True, exist_ok=True)
        for place in ["verifier", "agent", "artifacts"]:
            (root / "logs" / place).mkdir(exist_ok=True)
        shutil.copytree(self.environment_dir / "project", root / "app", dirs_exist_ok=True, symlinks=True)
        packages = install(self.environment_dir)
        if packages and (packages / "node_modules").is_dir():
            (root / "app/node_modules").symlink_to(packages / "node_modules")
        self.programs = [str(packages / "venv/bin")] if packages and (packages / "venv").is_dir() else []
        if go := os.environ.get("HARBOR_GO"):
            self.programs.append(go)

    async def stop(self, delete):
        shutil.rmtree(self.root, ignore_errors=True)

    def inside(self, path):
        return self.root / str(path).lstrip("/")

    async def upload_file(self, source_path, target_path):
        target = self.inside(target_path)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source_path, target)

    async def upload_dir(self, source_dir, target_dir):
        shutil.copytree(source_dir, self.inside(target_dir), dirs_exist_ok=True, symlinks=True)

    async def download_file(self, source_path, target_path):
        shutil.copy(self.inside(source_path), target_path)

    async def download_dir(self, source_dir, target_dir):
        shutil.copytree(self.inside(source_dir), target_dir, dirs_exist_ok=True, symlinks=True)

    async def exec(self, command, cwd=None, env=None, timeout_sec=None, user=None):
        root = shlex.quote(str(self.root))
        binds = "; ".join(f"mount --rbind /{name} {root}/{name}" for name in SHOWN if Path("/", name).exists())
        inner = f"cd {shlex.quote(cwd or '/app')} && {command}"
        script = f"{binds}; exec chroot {root} bash -c {shlex.quote(inner)}"
        path = os.pathsep.join([*self.programs, os.environ["PATH"]])
        process = await asyncio.create_subprocess_exec(
            "unshare", "--user", "--map-root-user", "--mount", "bash", "-c", script,
            env={**os.environ, "PATH": path, **(env or {})},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        out, err = await asyncio.wait_for(process.communicate(), timeout_sec)
        return ExecResult(stdout=out.decode(errors="replace"), stderr=err.decode(errors="replace"),
                          return_code=process.returncode)


def install(environment):
    """Return the folder of the installed packages of a task, or None if it has none."""
    lists = environment / "packages"
    if not lists.is_dir():
        return None
    text = b"".join(path.read_bytes() for path in sorted(lists.iterdir()))
    folder = PACKAGES / hashlib.sha256(text).hexdigest()[:20]
    if (folder / "complete").exists():
        return folder
    shutil.copytree(lists, folder, dirs_exist_ok=True)
    if (folder / "requirements.txt").exists():
        python = os.environ.get("HARBOR_PYTHON", sys.executable)
        subprocess.run([python, "-m", "venv", folder / "venv"], check=True)
        pip = [folder / "venv/bin/pip", "install", "--quiet", "--no-deps"]
        subprocess.run([*pip, "-r", folder / "requirements.txt"], check=True)
    else:
        subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=folder, check=True)
    (folder / "complete").touch()
    return folder
