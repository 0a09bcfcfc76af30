"""The consent page: what it shows while versions and places change."""

import re

import pytest

from studyapp.actions.studies import create_study
from studyapp.models import Condition, Participant
from tests.studyapp import factories


def opened(client, study):
    """The address of the consent page of a new visitor, and its hidden key."""
    token = factories.make_link_and_token(study=study)[1]
    page = client.get(f"/join/{token}/", follow=True)
    return page.request["PATH_INFO"], key_of(page)


def key_of(page):
    return re.search(r'name="page_key" value="([^"]+)"', page.content.decode())[1]


@pytest.mark.django_db
def test_a_consent_that_changed_is_read_again(client):
    study = factories.make_study()
    address, key = opened(client, study)
    definition = factories.make_definition(study=study.slug, consent="We also record your voice.")
    create_study(definition=definition, workspace=study.workspace, by=None)
    study.refresh_from_db()
    factories.launch(study)
    again = client.post(address, {"consent": "yes", "page_key": key})
    assert again.status_code == 422
    assert "The study changed while this page was open" in again.content.decode()
    assert "We also record your voice." in again.content.decode()
    assert not Participant.objects.exists()
    assert client.post(address, {"consent": "yes", "page_key": key_of(again)}).status_code == 302
    assert Participant.objects.get().version.number == 2
    # A page that was sent before the launch is the same participant, sent twice.
    assert client.post(address, {"consent": "yes", "page_key": key_of(again)}).status_code == 302
    assert Participant.objects.count() == 1


@pytest.mark.django_db
@pytest.mark.parametrize("reason", ["participants", "quotas"])
def test_nobody_reads_the_consent_of_a_full_study(client, reason):
    study = factories.make_study(**({"participants": 1} if reason == "participants" else {}))
    if reason == "quotas":
        Condition.objects.update(quota=0)
    else:
        factories.make_participant(study=study)
    token = factories.make_link_and_token(study=study)[1]
    page = client.get(f"/join/{token}/", follow=True)
    assert page.status_code == 410
    assert "takes no more participants" in page.content.decode()
