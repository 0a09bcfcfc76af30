"""Participants who act at the same moment, on both databases.

They are many participants, or one participant twice, over HTTP.
"""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from threading import Barrier
from typing import Any, TypeVar

import httpx
import pytest

from scripts.load.walkers import fill_form
from scripts.sites.example import load_example, make_link
from tests.site import EmptySite, Site

T = TypeVar("T")

ARRIVALS = 50

COUNT = """
import json
from collections import Counter
from studyapp.models import Event, Participant, Trial
people = Participant.objects.filter(version__study__slug={slug!r}, mode={mode!r})
trials = Trial.objects.filter(participant__in=people, answers__isnull=False)
print(json.dumps({{
    "conditions": Counter(people.values_list("condition__name", flat=True)),
    "answers": [trial.answers for trial in trials],
    "events": Counter(Event.objects.filter(participant__in=people).values_list("kind", flat=True)),
}}))
"""


@pytest.fixture(scope="module")
def study_site(postgres_or_sqlite: str | None, empty_site: EmptySite) -> Iterator[Site]:
    with empty_site(postgres=postgres_or_sqlite, worker=False) as site:
        load_example(site, items=5, systems=3)
        yield site


def count(site: Site, mode: str) -> dict[str, Any]:
    code = COUNT.format(slug="example", mode=mode)
    return json.loads(site.manage("shell", "--no-imports", "--command", code))


def at_once(calls: Sequence[Callable[[], T]]) -> list[T]:
    """Call all of them at the same moment, each on a thread of its own."""
    barrier = Barrier(len(calls))

    def call(act: Callable[[], T]) -> T:
        barrier.wait(30)
        return act()

    with ThreadPoolExecutor(len(calls)) as threads:
        return list(threads.map(call, calls))


class Person:
    """One browser's cookies and the page it has open."""

    def __init__(self, link: str) -> None:
        self.client = httpx.Client(
            timeout=60, follow_redirects=True, headers={"Origin": link[: link.index("/join")]}
        )
        self.page = self.client.get(link)

    def send(self) -> httpx.Response:
        return self.client.post(self.page.url, data=form(self.page))


@pytest.fixture
def person() -> Iterator[Callable[[str], Person]]:
    """Makes somebody who has opened a link."""
    with ExitStack() as stack:

        def arrive(link: str) -> Person:
            somebody = Person(link)
            stack.callback(somebody.client.close)
            return somebody

        yield arrive


def form(page: httpx.Response, **changed: str) -> dict[str, str]:
    return fill_form(page.content, random.Random(str(page.url))) | changed


def test_fifty_consents_at_once_are_spread_evenly(study_site: Site, person: Callable[[str], Person]):
    link = make_link(study_site)
    people = [person(link) for _number in range(ARRIVALS)]
    pages = at_once([participant.send for participant in people])
    assert {page.url.path for page in pages} == {"/study/example/item/1/"}
    sizes = count(study_site, "live")["conditions"]
    assert sum(sizes.values()) == ARRIVALS
    assert len(sizes) == 4
    assert max(sizes.values()) - min(sizes.values()) <= 1


def test_one_item_sent_twice_at_once_is_stored_once(study_site: Site, person: Callable[[str], Person]):
    somebody = person(make_link(study_site, mode="pilot"))
    page = somebody.send()
    first = form(page, certainty="1")
    second = form(page, certainty="5")
    cookies = dict(somebody.client.cookies)

    def send(data: dict[str, str]) -> httpx.Response:
        return httpx.post(
            str(page.url), data=data, cookies=cookies, headers=dict(somebody.client.headers), timeout=60
        )

    answers = at_once([partial(send, data) for data in (first, second) * 4])
    assert {answer.status_code for answer in answers} == {302}
    # One is stored; the others see that another tab was faster.
    redirects = Counter(answer.headers["location"].partition("?") for answer in answers)
    assert redirects.pop(("/study/example/item/2/", "", "")) == 1
    assert {mark for _address, _sign, mark in redirects} == {"answered-before"}
    stored = count(study_site, "pilot")
    assert len(stored["answers"]) == 1
    assert stored["answers"][0]["certainty"] in (1, 5)
    assert stored["events"]["item_submitted"] == 1


def test_looking_at_a_link_three_times_makes_no_participant(study_site: Site):
    link = make_link(study_site, mode="bot")
    for _number in range(3):
        answer = httpx.get(link, follow_redirects=True)  # without cookies: a mail scanner, a link preview
        assert answer.status_code in (200, 403)
    assert count(study_site, "bot")["conditions"] == {}


def test_a_single_use_link_admits_one_of_ten_at_once(study_site: Site, person: Callable[[str], Person]):
    link = study_site.manage("study_link", "example", "--mode", "bot", "--single-use").split()[-1]
    people = [person(link) for _number in range(10)]
    pages = at_once([participant.send for participant in people])
    assert sorted(page.status_code for page in pages) == [200] + [410] * 9
    assert sum(count(study_site, "bot")["conditions"].values()) == 1


def test_an_unknown_link_says_so(study_site: Site):
    link = make_link(study_site)
    unknown = httpx.get(re.sub(r"/join/.*", "/join/nothing/", link))
    assert unknown.status_code == 404
    assert "This study link does not exist" in unknown.text
