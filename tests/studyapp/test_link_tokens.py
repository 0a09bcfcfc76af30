"""Tests of entry tokens, cookies and resume links."""

import base64
import re
import time

import pytest
from django.core.signing import TimestampSigner
from django.test import Client

from accounts.models import Role
from studyapp.actions.participants import consent, revoke_links
from studyapp.link_tokens import (
    AccessEnded,
    find_link,
    hash_token,
    make_entry_token,
    read_link,
    read_participant,
    read_resume,
    resume_token,
    sign_link,
    sign_participant,
)
from studyapp.models import Event, Participant
from tests.studyapp import factories


@pytest.mark.django_db
def test_it_works(django_assert_num_queries):
    link, token = factories.make_link_and_token()
    participant = consent(link=link)
    cookies = sign_link(link), sign_participant(participant), resume_token(participant)
    with django_assert_num_queries(1):
        stored_link = find_link(token)
        assert stored_link == link
        assert stored_link.study.slug
    with django_assert_num_queries(1):
        again = read_link(cookies[0])
        assert again == link
        assert again.study.slug
    for read, cookie in ((read_participant, cookies[1]), (read_resume, cookies[2])):
        with django_assert_num_queries(1):
            person = read(cookie)
            assert person == participant
            assert person.version.study.slug
            assert person.next_trials[0].item.external_id


def test_entry_tokens_hold_at_least_128_random_bits():
    tokens = [make_entry_token()[0] for _ in range(100)]
    assert len(set(tokens)) == 100
    assert all(len(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))) * 8 >= 128 for token in tokens)


def test_only_the_hash_is_kept():
    token, token_hash = make_entry_token()
    assert token_hash == hash_token(token)
    assert len(token_hash) == 64
    assert token not in token_hash


@pytest.mark.django_db
class TestForeign:
    @pytest.mark.parametrize("token", ["", "x", "é" * 300, "a" * 32])
    def test_unknown_entry_token(self, token):
        factories.make_link()
        assert find_link(token) is None

    def test_the_kept_hash_is_no_token(self):
        assert find_link(factories.make_link().token_hash) is None

    @pytest.mark.parametrize("value", ["", "1", "1.x", ".", "é.é", "1:2:3"])
    @pytest.mark.parametrize("read", [read_link, read_participant, read_resume])
    def test_garbage(self, read, value):
        assert read(value) is None

    def test_one_changed_character(self):
        participant = factories.make_participant()
        value = sign_participant(participant)
        first = "0" if value[0] != "0" else "1"
        assert read_participant(first + value[1:]) is None
        assert read_participant(value[:-1]) is None

    def test_no_purpose_stands_in_for_another(self):
        link = factories.make_link()
        participant = consent(link=link)
        values = {
            read_link: sign_link(link),
            read_participant: sign_participant(participant),
            read_resume: resume_token(participant),
        }
        for read in values:
            for other, value in values.items():
                assert (read(value) is not None) == (read is other)

    def test_of_another_site(self):
        participant = factories.make_participant()
        signer = TimestampSigner(key="another", sep=".", salt="studyapp.participant")
        theirs = signer.sign(f"0-{participant.public_id}")
        assert read_participant(theirs) is None


@pytest.mark.django_db
class TestEnding:
    @pytest.fixture(params=[(sign_participant, read_participant), (resume_token, read_resume)])
    def pair(self, request):
        return request.param

    def test_they_expire(self, pair, settings, monkeypatch):
        sign, read = pair
        settings.PARTICIPANT_LINK_DAYS = 3
        participant = factories.make_participant()
        value, now = sign(participant), time.time()
        monkeypatch.setattr("django.core.signing.time.time", lambda: now + 3 * 86_400 - 60)
        assert read(value) == participant
        monkeypatch.setattr("django.core.signing.time.time", lambda: now + 3 * 86_400 + 60)
        with pytest.raises(AccessEnded):
            read(value)

    def test_they_end_when_they_are_revoked(self, pair):
        sign, read = pair
        participant = factories.make_participant()
        value = sign(participant)
        revoke_links(participant=participant, reason="lost phone", by=None)
        with pytest.raises(AccessEnded):
            read(value)
        participant.refresh_from_db()
        assert read(sign(participant)) == participant

    def test_the_cookie_of_a_link_ends_after_a_week(self, monkeypatch):
        link = factories.make_link()
        value, now = sign_link(link), time.time()
        monkeypatch.setattr("django.core.signing.time.time", lambda: now + 8 * 86_400)
        assert read_link(value) is None

    def test_participants_read_a_sentence(self, client):
        study = factories.make_study()
        token = factories.make_link_and_token(study=study)[1]
        client.get(f"/join/{token}/")
        client.post(f"/study/{study.slug}/consent/", {"consent": "yes"}, follow=True)
        participant = study.versions.get().participants.get()
        link = f"/resume/{resume_token(participant)}/"
        assert Client().get(link).status_code == 302
        revoke_links(participant=participant, reason="asked for it", by=None)
        for response in (client.get(f"/study/{study.slug}/item/1/"), Client().get(link)):
            assert response.status_code == 410
            assert "Your earlier answers are saved." in response.content.decode()


@pytest.mark.django_db
def test_staff_replace_the_link_of_a_participant(client):
    participant = factories.make_participant()
    study, old = participant.version.study, resume_token(participant)
    address = f"/staff/studies/{study.slug}/participants/{participant.public_id}/link/"
    client.force_login(factories.make_user(Role.ANALYST))
    assert client.post(address).status_code == 403
    client.force_login(factories.make_user(Role.RESEARCHER))
    page = client.post(address).content.decode()
    new = re.search(r"/resume/([^/]+)/", page)[1]
    assert read_resume(new) == participant
    with pytest.raises(AccessEnded):
        read_resume(old)
    event = Event.objects.get(kind="link_replaced")
    assert (event.participant, event.data) == (participant, {})
    Participant.objects.filter(pk=participant.pk).update(status="withdrawn")
    response = client.post(address, follow=True)
    assert "Only a participant in progress can have a new link." in response.content.decode()
    assert read_resume(new) == participant


@pytest.mark.django_db
@pytest.mark.parametrize("way", ["page", "api"])
def test_owners_end_the_links_of_a_participant(client, way):
    participant = factories.make_participant()
    value, study = resume_token(participant), participant.version.study
    client.force_login(factories.make_user())
    if way == "page":
        address = f"/staff/studies/{study.slug}/participants/{participant.public_id}/revoke/"
        assert client.post(address, {"revoke-reason": "lost phone", "revoke-sure": "on"}).status_code == 302
    else:
        address = f"/api/v1/studies/{study.slug}/participants/{participant.public_id}/revoke/"
        body = {"reason": "lost phone"}
        assert client.post(address, body, content_type="application/json").status_code == 204
        assert client.post(address, {}, content_type="application/json").status_code == 422
    with pytest.raises(AccessEnded):
        read_resume(value)
