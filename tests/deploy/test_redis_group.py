"""Queue and cache of a site survive the death of the Redis master.

They use TLS, and the replica takes over.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.sites.processes import ROOT, Supervisor
from tests.deploy.certificates import make_certificate
from tests.deploy.redis_group import RedisGroup

pytestmark = pytest.mark.service

# A process of the site: what it does in turn, told line by line.
CLIENT = """
import json, sys, time
import django
django.setup()
from django.core.cache import cache
from jobs.queue import count_queued, publish
from jobs.tasks import run_job

def again(act):
    end = time.monotonic() + 30
    while True:
        try:
            return act()
        except Exception as error:
            failures.append(type(error).__name__)
            if time.monotonic() > end:
                raise
            time.sleep(0.05)

for line in sys.stdin:
    failures, number = [], int(line)
    again(lambda: cache.set(f"key-{number}", number, timeout=None))
    again(lambda: publish(run_job, [(number,)]))
    kept = again(lambda: [cache.get(f"key-{key}") for key in range(number + 1)])
    waiting = again(count_queued)
    print(json.dumps({"kept": kept, "waiting": waiting, "failures": failures}), flush=True)
"""


def test_the_replica_takes_over(tmp_path: Path) -> None:
    with Supervisor() as parts:
        group = RedisGroup(tmp_path, parts, make_certificate(tmp_path))
        group.start()
        env = {
            **os.environ, **group.settings, "VAR_DIR": str(tmp_path),
            "DJANGO_SETTINGS_MODULE": "config.settings",
        }  # fmt: skip
        client = subprocess.Popen(
            [sys.executable, "-c", CLIENT], cwd=ROOT, env=env, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip

        def ask(number: int) -> dict[str, object]:
            assert client.stdin
            assert client.stdout
            print(number, file=client.stdin, flush=True)
            answer: dict[str, object] = json.loads(client.stdout.readline())
            return answer

        try:
            assert ask(0) == {"kept": [0], "waiting": 1, "failures": []}
            first = group.master()
            parts.stop_one(first, kill=True)
            after = ask(1)
            assert (after["kept"], after["waiting"]) == ([0, 1], 2)
            assert after["failures"]
            assert group.master() != first
            parts.start(group.parts[first])  # it becomes a replica
            assert ask(2) == {"kept": [0, 1, 2], "waiting": 3, "failures": []}
        finally:
            client.kill()
            client.communicate()
