#!/usr/bin/env python3
"""exits.py CODE PROGRAM ..: runs the program and fails unless it ends with this exit code (`not` tells no codes apart).

With --file-size-limit N before CODE, no file can become larger than N bytes, as on a full disk.
"""
import resource
import signal
import subprocess
import sys

words = sys.argv[1:]
if words[0] == "--file-size-limit":
    limit = int(words[1])
    words = words[2:]
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
code = subprocess.run(words[1:], check=False, restore_signals=False).returncode
if code != int(words[0]):
    sys.exit(f"exits.py: ended with {code} instead of {words[0]}")
