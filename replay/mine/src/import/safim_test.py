import resource
import subprocess
import sys
from decimal import Decimal, InvalidOperation

import pytest

CASES = [
    CASES
]
WORDS = {"yes", "no", "true", "false"}


def limit_processor_time():
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))


def same_word(one, other):
    try:
        return abs(Decimal(one) - Decimal(other)) <= Decimal("1e-12")
    except InvalidOperation:
        one, other = (w.lower() if w.lower() in WORDS else w for w in (one, other))
        return one == other


def same(one, other):
    one, other = one.strip(), other.strip()
    lines = [[line.strip() for line in text.split("\n")] for text in (one, other)]
    if lines[0] == lines[1]:
        return True
    one, other = one.split(), other.split()
    return len(one) == len(other) and all(map(same_word, one, other))


@pytest.mark.parametrize("case", range(len(CASES)))
def test_case(case):
    given, right = CASES[case]
    done = subprocess.run(
        [sys.executable, "PROGRAM"],
        input=given,
        capture_output=True,
        text=True,
        preexec_fn=limit_processor_time,
        timeout=10 * SECONDS,
    )
    assert done.returncode == 0, done.stderr
    assert any(same(done.stdout, text) for text in right), done.stdout
