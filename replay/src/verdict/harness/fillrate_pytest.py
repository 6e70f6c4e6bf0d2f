"""A pytest plugin that reports every test, and its line coverage, out of band.

Load it with ``-p fillrate_pytest`` and this directory on ``PYTHONPATH``; the
working directory must be the root of the repository.  See fillrate_harness.
"""

import fillrate_harness

#: pytest registers the module, and a module's functions are its hooks; these
#: are the instance's bound methods under the names that pytest looks for.
_plugin = fillrate_harness.plugin()
for _name in dir(_plugin):
    if _name.startswith("pytest_"):
        globals()[_name] = getattr(_plugin, _name)
