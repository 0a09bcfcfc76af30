"""All that is stored about one participant, in a file.

It is for people who ask what the site knows about them.
"""

from __future__ import annotations

import json
from io import StringIO

import pytest
from django.core.management import call_command

from accounts.models import AuditEntry, Role
from studyapp.models import ExternalIds, Participant
from studyapp.queries.participants.privacy import read_stored_data
from tests.studyapp import factories

pytestmark = pytest.mark.django_db


@pytest.fixture
def participant() -> Participant:
    participant = factories.make_participant(completed=True)
    study = participant.version.study
    ExternalIds.objects.create(participant=participant, study=study, platform="prolific", person_id="p-17")
    return participant


def test_it_works(client, participant: Participant):
    study = participant.version.study
    client.force_login(factories.make_user(Role.RESEARCHER))
    page = client.get(f"/staff/studies/{study.slug}/participants/{participant.public_id}/")
    address = f"/staff/studies/{study.slug}/participants/{participant.public_id}/file/"
    assert address in page.content.decode()
    response = client.get(address)
    assert response["Content-Disposition"] == f'attachment; filename="{participant.public_id}.json"'
    content = response.json()
    assert content["studyapp.ExternalIds"][0]["person_id"] == "p-17"
    assert len(content["studyapp.Trial"]) == 3
    assert all(trial["answers"] for trial in content["studyapp.Trial"])
    [consent] = content["consent"]
    assert consent["text"] == "You take part in a study of explanations.\n\nYou may stop at any time."
    assert (consent["version"], bool(consent["consented_at"])) == (1, True)
    items = set(participant.trials.values_list("item__external_id", flat=True))
    assert {trial["item"] for trial in content["studyapp.Trial"]} == items
    assert content["studyapp.Participant"][0]["condition"] == participant.group
    assert AuditEntry.objects.filter(data__page="participant_file").exists()


def test_the_command_prints_the_same(participant: Participant):
    out = StringIO()
    call_command("export_participant", participant.version.study.slug, "p-17", stdout=out)
    assert json.loads(out.getvalue()).keys() == read_stored_data(participant).keys()
    assert AuditEntry.objects.filter(data__page="participant_file").exists()


def test_it_holds_every_table_that_deletion_empties(participant: Participant):
    """Both find the tables by their relations.

    The file holds nothing of other participants.
    """
    other = factories.make_participant(study=participant.version.study, completed=True)
    text = json.dumps(read_stored_data(participant), default=str)
    assert other.public_id not in text
    related = {relation.related_model._meta.label for relation in Participant._meta.related_objects}
    assert read_stored_data(participant).keys() <= related | {"studyapp.Participant", "consent"}
