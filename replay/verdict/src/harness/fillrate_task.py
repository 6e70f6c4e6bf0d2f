"""Plugin of pytest for tests that run outside of the sandbox, as in exported tasks.

Options of the project that a run of single tests can't honour have no effect, as in the
sandbox; see fillrate_options.
"""

import fillrate_options
import pytest


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_load_initial_conftests(early_config, parser):
    """Keep plugins that start now from measuring lines, and accept what none knows."""
    fillrate_options.neutralise(early_config.known_args_namespace)
    fillrate_options.accept_unknown(early_config, parser)
    yield


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_cmdline_main(config):
    """Give options that can't be honoured the values without effect."""
    fillrate_options.neutralise(config.option)
    yield
