"""Runs a command and interrupts it: `at-once COMMAND...` finds SIGINT waiting, `with-a-plan COMMAND...` gets it when its
progress tells of a plan. It ends as the command does."""
import os
import signal
import subprocess
import sys

when, command = sys.argv[1], sys.argv[2:]
if when == "at-once":
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    os.kill(os.getpid(), signal.SIGINT)
    os.execvp(command[0], command)
process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={**os.environ, "PARPLAN_PROGRESS": "1"})
isInterrupted = False
for line in process.stderr:
    if not isInterrupted and line.startswith("planning ") and ": best " in line:
        process.send_signal(signal.SIGINT)
        isInterrupted = True
    sys.stderr.write(line)
sys.exit(process.wait())
