"""Tells what became of mutmut's mutants of the project in the working directory, once it has run:
[{"status", "diff"}] on standard output."""

import json
import sys

from mutmut import __main__ as mutmut
from mutmut.mutation.diff_apply import get_diff_for_mutant

verdicts = []
for path in mutmut.walk_mutatable_files():
    data = mutmut.SourceFileMutationData(path=path)
    data.load()
    for name, code in data.exit_code_by_key.items():
        status = mutmut.status_by_exit_code[code]
        verdicts.append({"status": status, "diff": get_diff_for_mutant(name, path=data.path)})
json.dump(verdicts, sys.stdout)
