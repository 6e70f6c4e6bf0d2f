"""Options of pytest and its plugins that a run for evidence can't honour.

They change which tests run, in which order or in which processes, or measure the
lines that tests run themselves.  A project may set them anywhere: in ``addopts``,
in a configuration file, in the manifest.  Here they are given the values that
have no effect.  Options of plugins that are not installed are accepted and
ignored, as are settings that only such plugins know.
"""

#: Options by the attribute that holds them: the value without effect, and the name to report
#: if the project set another; without a name, the change is not reported.
NEUTRAL = {
    "benchmark_disable": (True, None),
    "cov_fail_under": (None, None),
    "cov_source": ([], "--cov"),
    "dist": ("no", None),
    "htmlpath": (None, "--html"),
    "hypothesis_seed": ("0", None),
    "looponfail": (False, "--looponfail"),
    "maxfail": (0, "--maxfail"),
    "no_cov": (True, None),
    "numprocesses": (None, "-n"),
    "random_order_bucket": ("none", None),
    "randomly_reorganize": (False, None),
    "randomly_seed": (0, None),
    "reruns": (None, "--reruns"),
    "strict_config": (False, "--strict-config"),
    "strict_markers": (False, "--strict-markers"),
    "tx": ([], None),
    "usepdb": (False, "--pdb"),
    "xmlpath": (None, "--junitxml"),
}

#: Options of plugins that may be missing: those with a value, and flags.
VALUES = (
    "--asyncio-mode",
    "--benchmark-columns",
    "--benchmark-group-by",
    "--benchmark-min-rounds",
    "--benchmark-sort",
    "--cov-config",
    "--cov-context",
    "--cov-fail-under",
    "--cov-precision",
    "--cov-report",
    "--dist",
    "--html",
    "--last-failed-no-failures",
    "--lfnf",
    "--max-worker-restart",
    "--maxprocesses",
    "--numprocesses",
    "--only-rerun",
    "--random-order-bucket",
    "--random-order-seed",
    "--randomly-seed",
    "--reruns",
    "--reruns-delay",
    "--timeout",
    "--timeout-method",
    "--tx",
    "-n",
)
FLAGS = (
    "--benchmark-autosave",
    "--benchmark-disable",
    "--benchmark-enable",
    "--benchmark-only",
    "--benchmark-skip",
    "--black",
    "--cache-clear",
    "--cov-append",
    "--cov-branch",
    "--cov-reset",
    "--failed-first",
    "--ff",
    "--flake8",
    "--instafail",
    "--isort",
    "--last-failed",
    "--lf",
    "--looponfail",
    "--mypy",
    "--new-first",
    "--nf",
    "--no-cov",
    "--no-cov-on-fail",
    "--pylint",
    "--random-order",
    "--randomly-dont-reorganize",
    "--ruff",
    "--self-contained-html",
    "--stepwise",
    "--stepwise-skip",
    "--sw",
    "--sw-skip",
)


def accept_unknown(config, parser):
    """Register what only missing plugins know, after all that are there have registered."""
    groups = [parser._anonymous, *parser._groups]
    known = {name for group in groups for option in group.options for name in option.names()}
    group = parser.getgroup("fillrate")
    for name in VALUES:
        if name not in known:
            group._addoption(name, action="append", dest=unused(name))
    for name in FLAGS:
        if name not in known:
            group._addoption(name, action="store_true", dest=unused(name))
    if "--cov" not in known:
        group._addoption("--cov", action="append", nargs="?", const=True, dest=unused("--cov"))
    for name in config.inicfg:
        if name not in parser._inidict:
            parser.addini(name, "a setting of a plugin that is not installed", default=None)


def unused(name):
    """Return the attribute of an option that nothing reads."""
    return "fillrate_unused_" + name.strip("-").replace("-", "_")


def neutralise(options):
    """Give options the values without effect; return the names of those that were set."""
    changed = set()
    for attribute, (value, name) in NEUTRAL.items():
        if not hasattr(options, attribute):
            continue
        if name and getattr(options, attribute) not in (value, None, [], 0, False):
            changed.add(name)
        setattr(options, attribute, value)
    for attribute, value in vars(options).items():
        if attribute.startswith("fillrate_unused_") and value:
            name = attribute[len("fillrate_unused_") :].replace("_", "-")
            changed.add(f"-{name}" if len(name) == 1 else f"--{name}")
    return changed
