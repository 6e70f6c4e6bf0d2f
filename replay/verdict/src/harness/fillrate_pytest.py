"""A pytest plugin that reports every test, and its line coverage, out of band.

As a script it runs pytest; give it ``-p fillrate_pytest``, with this directory
on ``PYTHONPATH``.  The working directory must be the root of the repository.
See fillrate_harness.
"""

import os
import sys

import fillrate_harness

if __name__ == "__main__":
    fillrate_harness.run(sys.argv[1:], os.getcwd())

#: pytest registers the module, and a module's functions are its hooks; these
#: are the instance's bound methods under the names that pytest looks for.
_plugin = fillrate_harness.plugin()
for _name in dir(_plugin):
    if _name.startswith("pytest_"):
        globals()[_name] = getattr(_plugin, _name)
