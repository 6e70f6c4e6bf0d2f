import resource
import subprocess
import sys

BEFORE = "import os\nimport asyncio\n"
PLOTS = "import matplotlib\nmatplotlib.use('Agg')\nimport matplotlib.pyplot as plt\n"
ASSERTIONS = ASSERTED


def limit_processor_time():
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))


def test_program(tmp_path):
    with open("programs/PROGRAM.py") as file:
        program = file.read() + "\n# Run assertions\n" + ASSERTIONS + "\n"
    plots = PLOTS if "plt" in program or "matplotlib" in program else ""
    (tmp_path / "program.py").write_text(plots + BEFORE + program)
    done = subprocess.run(
        [sys.executable, "program.py"],
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        preexec_fn=limit_processor_time,
        timeout=LONGEST,
    )
    assert done.returncode == 0, done.stderr
