"""Pages of a study with 100,000 responses open quickly, wherever the reader is in the table."""

from __future__ import annotations

import time
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from accounts.models import Role
from studyapp.models import Participant, Study, Trial
from tests.studyapp import factories

pytestmark = [pytest.mark.django_db, pytest.mark.service]

PEOPLE, ITEMS = 12_500, 8
BAR = 0.3  # seconds at the 95th percentile
ROOM = 3  # times the bar: test machines do other work, too


@pytest.fixture
def study() -> Study:
    study = factories.make_study(conditions=2, items=ITEMS)
    version, now = study.versions.get(), timezone.now()
    conditions, items = list(version.conditions.all()), list(version.items.all())
    people = Participant.objects.bulk_create(
        (
            Participant(
                version=version, public_id=f"p{number:06}", mode="live", status="completed", outcome="done",
                completion_code="c", group=conditions[number % 2].name, condition=conditions[number % 2],
                consented_at=now, last_seen_at=now, items_submitted=ITEMS,
            )
            for number in range(PEOPLE)
        ),
        batch_size=2000,
    )  # fmt: skip
    answers = {"rated_correct": True, "known_before": False, "certainty": 4, "helpfulness": 3}
    Trial.objects.bulk_create(
        (
            Trial(
                participant=person, item=item, condition=person.condition, position=position, shown_at=now,
                submitted_at=now + timedelta(seconds=20), client_total_ms=14_000 + 100 * (person.pk % 40),
                answers=answers, changes={},
            )
            for person in people
            for position, item in enumerate(items, start=1)
        ),
        batch_size=5000,
    )  # fmt: skip
    return study


def test_a_page_of_100_000_responses(study: Study, client: Client):
    client.force_login(factories.make_user(Role.RESEARCHER))
    condition = study.versions.get().conditions.latest("position").name
    keys = Participant.objects.filter(version__study=study).order_by("pk").values_list("pk", flat=True)
    last = keys[PEOPLE - 20]
    queries = ["", *(f"after={keys[place]}.3" for place in range(0, PEOPLE, PEOPLE // 12)), f"after={last}.1"]
    queries += [f"condition={condition}", "excluded=yes", f"excluded=no&after={last}.1", "mode=bot"]
    queries += ["column=item_id&column=certainty", "participant=p000123", "state=completed&answered=yes"]
    seconds = []
    for query in queries:
        started = time.perf_counter()
        assert client.get(f"/staff/studies/{study.slug}/responses/?{query}").status_code == 200
        seconds.append(time.perf_counter() - started)
    slowest = sorted(seconds)[int(0.95 * len(seconds))]
    assert slowest < BAR * ROOM, [f"{each:.2f}" for each in seconds]
