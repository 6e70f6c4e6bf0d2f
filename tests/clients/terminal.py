"""Runs a program in a terminal, presses keys and waits for what it draws.

terminal.py STEPS PROGRAM ARGUMENT…: STEPS is a JSON list of `{"keys": "…", "until": "…"}`, each of
which presses keys and waits until the program draws a text. With `"again": true` it presses them
every five seconds until then. Afterwards the program must end by itself.
"""

import fcntl
import json
import os
import pty
import select
import struct
import sys
import termios
import time

# A machine that runs other tests at the same time is slow.
TIMEOUT = 60.0
# An editor cancels its request when a key asks again: the answer needs time to come.
BETWEEN_PRESSES = 5.0


class Terminal:
    """A program in a terminal."""

    def __init__(self, command):
        self.process, self.terminal = pty.fork()
        if self.process == 0:
            # Before the program can ask: in a terminal without a size it draws nothing.
            size = struct.pack("HHHH", 30, 100, 0, 0)
            fcntl.ioctl(sys.stdin.fileno(), termios.TIOCSWINSZ, size)
            os.environ["TERM"] = "xterm-256color"
            os.execvp(command[0], command)
        self.drawn = b""

    def read(self, seconds):
        """Reads what is drawn, for some time at most; False once the program has ended."""
        ready, _, _ = select.select([self.terminal], [], [], seconds)
        if not ready:
            return True
        try:
            drawn = os.read(self.terminal, 65536)
        except OSError:
            return False
        self.drawn += drawn
        return bool(drawn)

    def play(self, keys, until, again=False):
        """Presses keys until a text is drawn."""
        self.drawn = b""
        end = time.monotonic() + TIMEOUT
        os.write(self.terminal, keys.encode())
        press = time.monotonic() + BETWEEN_PRESSES
        while until.encode() not in self.drawn:
            now = time.monotonic()
            if again and now >= press:
                os.write(self.terminal, keys.encode())
                press = now + BETWEEN_PRESSES
            if now > end or not self.read(0.05):
                sys.exit(f"{until!r} was not drawn, but {self.drawn[-3000:]!r}")

    def ends(self):
        """Waits until the program ends, and returns its exit status."""
        until = time.monotonic() + TIMEOUT
        while self.read(0.05):
            if time.monotonic() > until:
                sys.exit(f"the program goes on: {self.drawn[-3000:]!r}")
        return os.waitstatus_to_exitcode(os.waitpid(self.process, 0)[1])


terminal = Terminal(sys.argv[2:])
for step in json.loads(sys.argv[1]):
    terminal.play(**step)
sys.exit(terminal.ends())
