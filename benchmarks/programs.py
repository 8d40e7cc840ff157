"""Running parplan and the programs that it builds."""
import json
import os
import signal
import subprocess
import sys


class Failure(Exception):
    """A command that did not end well, with the end of its output."""


def execute(command, time_limit=None):
    """Runs a command in a process group of its own, so that no rank outlives it. Returns its output."""
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", start_new_session=True) as process:
        try:
            output, _ = process.communicate(timeout=time_limit)
        except subprocess.TimeoutExpired:
            raise Failure(f"{' '.join(command)} did not end within {time_limit} s") from None
        finally:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
    if process.returncode != 0:
        raise Failure(f"{' '.join(command)} ended with {process.returncode}:\n{output.strip()[-2000:]}")
    return output


def read_json(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def write_json(path, document):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(document, file, indent=1)
        file.write("\n")


def describe_tree():
    """The commit of the tree that this file lies in, with a mark where it has changes; None outside of a repository."""
    try:
        describe = ["git", "-C", os.path.dirname(os.path.abspath(__file__)), "describe", "--always", "--dirty", "--abbrev=12"]
        return subprocess.run(describe, check=True, capture_output=True, text=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None


def report(text):
    print(text, file=sys.stderr, flush=True)
