"""The web server dies at any moment while people take part.

No answer that it accepted is lost or doubled. `tests/soak/test_kills.py` kills any program, on either
database.
"""

from __future__ import annotations

import asyncio
import json
import random
import threading
import time
from collections.abc import Iterator

import pytest

from scripts.load.walkers import Tally, run_crowd
from scripts.sites.example import load_example, make_link
from tests.site import Site, run_site

USERS, ITEMS = 12, 5
KILLED_AT = (3, 20, 40)  # accepted items of the 60 that there are

STORED = """
import json
from studyapp.models import Participant, Trial
rows = Trial.objects.filter(answers__isnull=False).values_list("pk", "answers")
people = Participant.objects.values_list("status", "items_submitted")
print(json.dumps({"answers": {pk: answers for pk, answers in rows}, "people": list(people)}))
"""


@pytest.fixture
def study_site(postgres_server: str) -> Iterator[Site]:
    with run_site(postgres=postgres_server, worker=False) as site:
        load_example(site, items=ITEMS)
        yield site


def kill_while(site: Site, working: threading.Thread, tally: Tally, rng: random.Random) -> int:
    """Kill and restart the web server at some counts of accepted items.

    Return how often it was killed.
    """
    kills = 0
    for accepted in KILLED_AT:
        while working.is_alive() and tally.items < accepted:
            time.sleep(0.01)
        time.sleep(rng.uniform(0.0, 0.1))
        if not working.is_alive():
            break
        site.parts.stop_one("web server", kill=True)
        kills += 1
        site.parts.start(site.stack.web())
    return kills


def written(answer: object) -> str:
    """An answer as its form has it."""
    return {True: "yes", False: "no"}[answer] if isinstance(answer, bool) else str(answer)


@pytest.mark.soak  # tests/soak/test_kills.py kills this program and all others, in every run
@pytest.mark.service
def test_no_accepted_answer_is_lost_or_doubled(study_site: Site):
    tally, link = Tally(), make_link(study_site)
    walking = run_crowd(link, tally, users=USERS, think=0.3, patience=60.0)
    working = threading.Thread(target=asyncio.run, args=(walking,))
    working.start()
    kills = kill_while(study_site, working, tally, random.Random(1))
    working.join(timeout=120)
    assert not working.is_alive()
    assert kills == len(KILLED_AT)
    assert tally.repeated >= kills
    stored = json.loads(study_site.manage("shell", "--no-imports", "--command", STORED).splitlines()[-1])
    assert sorted(stored["people"]) == [["completed", ITEMS]] * USERS
    assert (tally.consents, tally.items, tally.completed) == (USERS, USERS * ITEMS, USERS)
    # The key of a page is "item-PK" with a signature.
    sent = {key.partition(".")[0].removeprefix("item-"): form for key, form in tally.answers.items()}
    assert sent.keys() == stored["answers"].keys()
    for trial, answers in stored["answers"].items():
        assert {key: written(value) for key, value in answers.items()}.items() <= sent[trial].items()
