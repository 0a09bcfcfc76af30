"""Tests of the progress API."""

import pytest

from accounts.models import Role
from tests.studyapp import factories
from tests.tokens import bearer

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    return factories.make_study(conditions=2, items=2)


def test_it_works(client, study):
    participant = factories.make_participant(study=study, completed=True)
    headers = bearer(factories.make_user())
    [listed] = client.get("/api/studies/", headers=headers).json()
    assert (listed["slug"], listed["status"], listed["assigned"], listed["completed"]) == (
        study.slug,
        "open",
        1,
        1,
    )
    progress = client.get(listed["progress"], headers=headers).json()
    assert (progress["study"], progress["status"]) == (study.slug, "open")
    [live] = progress["modes"]
    assert live["mode"] == "live"
    counts = {row["condition"]: (row["assigned"], row["completed"]) for row in live["conditions"]}
    assert counts.pop(participant.condition.name) == (1, 1)
    assert list(counts.values()) == [(0, 0)]


def test_a_session_will_do(client, study):
    client.force_login(factories.make_user())
    assert client.get(f"/api/studies/{study.slug}/progress/").status_code == 200


@pytest.mark.parametrize("address", ["/api/studies/", "/api/studies/{}/progress/"])
def test_others_are_refused(client, study, address):
    address = address.format(study.slug)
    assert client.get(address).status_code in (401, 403)
    response = client.get(address, headers=bearer(factories.make_user(None)))
    if address == "/api/studies/":
        assert (response.status_code, response.json()) == (200, [])
    else:
        assert response.status_code == 404
        assert response.json() == {"detail": "There is nothing here for you under this address."}


def test_a_role_that_sees_no_studies_is_refused_with_a_sentence(client, study):
    response = client.get(
        f"/api/studies/{study.slug}/progress/", headers=bearer(factories.make_user(Role.ANNOTATOR))
    )
    assert response.status_code == 403
    assert "With the role Annotator you may not see the progress" in response.json()["detail"]


def test_it_only_reads(client, study):
    headers = bearer(factories.make_user())
    for act in (client.post, client.put, client.delete):
        assert act("/api/studies/", headers=headers).status_code == 405
        assert act(f"/api/studies/{study.slug}/progress/", headers=headers).status_code == 405


def test_an_unknown_study_is_not_found(client):
    assert (
        client.get("/api/studies/nothing/progress/", headers=bearer(factories.make_user())).status_code == 404
    )
