"""A timer that counts down."""


def parse(text):
    """Read `MINUTES:SECONDS` or plain seconds."""
    minutes, separator, seconds = text.rpartition(":")
    if separator:
        return int(minutes) * 60 + int(seconds)
    return int(seconds)


class Timer:
    """Counts whole seconds down to zero."""

    def __init__(self, seconds):
        self.left = seconds
        self.rung = 0

    def tick(self, seconds=1):
        """Let time pass; rings once when it reaches zero."""
        before = self.left
        self.left = max(before - seconds, 0)
        if before > 0 and self.left == 0:
            self.rung += 1
        return self.left

    def face(self):
        """Write what is left as `MM:SS`."""
        minutes, seconds = divmod(self.left, 60)
        return f"{minutes:02}:{seconds:02}"
