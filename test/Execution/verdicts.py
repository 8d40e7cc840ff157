"""Counts what held and what did not."""
import sys

from forced import Difference


class Verdicts:
    """Of the cases of one script; each prints a line."""

    def __init__(self):
        self.count = self.failures = 0

    def check(self, name, run):
        """`run` says in a few words what it has seen, or raises what was otherwise than expected."""
        self.count += 1
        try:
            verdict = f"ok: {run()}"
        except (Difference, OSError, KeyError, ValueError) as problem:
            self.failures += 1
            verdict = f"FAILED: {problem if isinstance(problem, Difference) else repr(problem)}"
        print(f"{name}: {verdict}", flush=True)

    def end(self):
        """Ends the script, with 1 when a case failed or there was none."""
        print(f"{self.count - self.failures} passed, {self.failures} failed")
        sys.exit(1 if self.failures or not self.count else 0)
