"""Bots are started from the settings page of an open study, by a job."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from accounts.models import Role, User
from jobs.actions.jobs import run_job
from jobs.models import Job
from studyapp.actions.studies import close_study
from studyapp.models import Mode, Study
from tests import workspaces
from tests.html import join_lines
from tests.studyapp.factories import make_link, make_study

pytestmark = [pytest.mark.django_db, pytest.mark.database]


@pytest.fixture
def study() -> Study:
    return make_study(items=2)


@pytest.fixture
def researcher(client: Client) -> Client:
    client.force_login(workspaces.give(User.objects.create(username="ada"), Role.RESEARCHER))
    return client


def start(client: Client, study: Study, **fields: Any) -> Any:
    return client.post(f"/staff/studies/{study.slug}/bots/", {"n": 3, "behaviour": "honest", **fields})


def test_it_works(researcher: Client, study: Study) -> None:
    response = start(researcher, study)
    job = Job.objects.get()
    assert response.url == f"/jobs/{job.pk}/"
    assert (job.kind, job.options["n"], job.options["study"]) == ("simulate_participants", 3, study.pk)
    assert f"/staff/studies/{study.slug}/results/" in researcher.get(response.url).text


def test_links_of_bots_name_their_behaviour_in_the_language_of_the_page(
    researcher: Client, study: Study
) -> None:
    make_link(study=study, mode=Mode.BOT, behaviour="speeder")
    page = researcher.get(f"/staff/studies/{study.slug}/settings/", headers={"accept-language": "de"})
    assert "Bot (zu schnell)" in join_lines(page.text)


@pytest.mark.parametrize("fields", [{"n": 0}, {"n": 201}, {"n": "many"}, {"behaviour": "lazy"}])
def test_a_wrong_wish_starts_nothing(researcher: Client, study: Study, fields: dict[str, Any]) -> None:
    assert start(researcher, study, **fields).status_code == 422
    assert not Job.objects.exists()


def test_a_closed_study_takes_no_bots(researcher: Client, study: Study) -> None:
    close_study(study=study, by=None)
    assert (
        "Bots can take part while the study is open."
        in researcher.get(f"/staff/studies/{study.slug}/settings/").text
    )
    start(researcher, study)
    run_job(job_id=Job.objects.get().pk)
    job = Job.objects.get()
    assert (job.status, job.error) == ("failed", "This study is closed. Thank you for your interest.")
    assert not study.links.exists()
