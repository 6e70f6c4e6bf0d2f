"""Takes a project's own modules out of an environment, and prints what was generated.

Arguments: the project's name, its source, a folder for generated files, and the source's folders
in which packages are looked for.

Tests run on the project's source, so that no second copy of it may be importable.  What else its
installation brought stays: metadata, entry points, scripts.  Files of its packages that the source
lacks were made by the build (a version, compiled modules): they are moved into the folder for
generated files, at the place that they would have in the source.  A path file leads to the source's
folders, as after an editable installation: tests start other processes with a search path of their
own.
"""

import importlib.metadata
import os
import shutil
import sys

#: The source's place as seen from site-packages, where tests run: see ``layout.rs``.
SOURCE = os.path.join(*[os.pardir] * 4, "repo")


def place_of(relative, source, folders):
    """Return the path that a module's file has or would have in the source."""
    for folder in folders:
        if os.path.lexists(os.path.join(source, folder, relative)):
            return os.path.normpath(os.path.join(folder, relative)), True
    parts = relative.split("/")
    # Beside what is there of its package, the deepest folder first.
    for depth in range(len(parts) - 1, 0, -1):
        for folder in folders:
            if os.path.isdir(os.path.join(source, folder, *parts[:depth])):
                return os.path.normpath(os.path.join(folder, relative)), False
    return os.path.normpath(os.path.join(folders[0], relative)), False


def main():
    name, source, generated, *folders = sys.argv[1:]
    distribution = importlib.metadata.distribution(name)
    emptied = set()
    roots = set()
    for file in distribution.files or []:
        relative = file.as_posix()
        if ".dist-info/" in relative or relative.startswith("../"):
            continue
        path = str(distribution.locate_file(file))
        if not os.path.isfile(path):
            continue
        place, exists = place_of(relative, source, folders)
        if exists or relative.endswith(".pyc"):
            os.remove(path)
        else:
            target = os.path.join(generated, place)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            shutil.move(path, target)
            print(place)
        emptied.add(os.path.dirname(path))
        # Without the path within its package, the folder that it is looked for in.
        roots.add(place[: -len(relative)].rstrip("/"))
    for folder in sorted(emptied, key=len, reverse=True):
        while os.path.basename(folder) != "site-packages":
            shutil.rmtree(os.path.join(folder, "__pycache__"), ignore_errors=True)
            if not os.path.isdir(folder) or os.listdir(folder):
                break
            os.rmdir(folder)
            folder = os.path.dirname(folder)
    with open(distribution.locate_file("fillrate_project.pth"), "w", encoding="utf-8") as file:
        file.writelines(f"{os.path.join(SOURCE, root)}\n" for root in sorted(roots))


main()
