"""A foreign agent in one screen: asks a model, runs the shell commands it asks for; imports nothing
of ours.

    agent.py RETRIES [--again]

RETRIES: how often a failed model call is made again, below the agent's own loop. `--again`: whoever
keeps it running starts it over, from the beginning, when it dies.
"""

import json
import os
import subprocess
import sys
import urllib.request
from http.client import HTTPException

TASK = [{"role": "user", "content": "Do the task."}]


def complete(messages, retries):
    body = json.dumps({"model": "rehearsal-primary", "messages": messages}).encode()
    url = f"{os.environ['OPENAI_BASE_URL']}/chat/completions"
    for left in range(retries, -1, -1):
        try:
            request = urllib.request.Request(url, body, {"content-type": "application/json"})
            with urllib.request.urlopen(request, timeout=10) as answer:
                return json.load(answer)["choices"][0]["message"]
        except (OSError, HTTPException, ValueError):
            if not left:
                raise
    raise AssertionError


def work(retries):
    messages = list(TASK)
    while True:
        message = complete(messages, retries)
        messages.append(message)
        for call in message.get("tool_calls") or []:
            command = json.loads(call["function"]["arguments"])["command"]
            done = subprocess.run(command, shell=True, text=True, capture_output=True, check=False)
            if "COMPLETE_TASK" in done.stdout:
                return
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": done.stdout})


def main():
    retries, again = int(sys.argv[1]), "--again" in sys.argv
    while True:
        try:
            return work(retries)
        except (OSError, HTTPException):
            if not again:
                sys.exit(7)


if __name__ == "__main__":
    main()
