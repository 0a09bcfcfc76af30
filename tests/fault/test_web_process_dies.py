"""A web process that dies ends nothing but its own requests.

Another one takes its place.
"""

import os
import signal
import time
from pathlib import Path

from scripts.sites.processes import is_url_answering
from scripts.sites.site import run_site
from tests.waiting import eventually

# granian ends, for a supervisor to act, if a process dies within this time of a start.
CRASH_LOOP_SECONDS = 6.0


def web_processes(parent: int) -> list[int]:
    """The process ids of the children that serve pages."""
    children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    return [
        int(pid) for pid in children if b"resource_tracker" not in Path(f"/proc/{pid}/cmdline").read_bytes()
    ]


def test_the_site_goes_on_when_one_of_its_processes_is_killed():
    with run_site(worker=False) as site:
        web = site.parts.pids["web server"]
        for killed in web_processes(web):
            os.kill(killed, signal.SIGKILL)
            eventually(lambda gone=killed: gone not in web_processes(web) and len(web_processes(web)) == 2)
            # A connection may have waited for the process that died, or for the one that starts.
            eventually(lambda: is_url_answering(f"{site.url}/accounts/login/"))
            time.sleep(CRASH_LOOP_SECONDS)
        site.parts.check()
