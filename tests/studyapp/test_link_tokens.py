"""Tests of entry tokens, cookies and resume links."""

import base64

import pytest
from django.core.signing import Signer

from studyapp.actions.participants import consent
from studyapp.link_tokens import (
    find_link,
    hash_token,
    new_entry_token,
    read_link,
    read_participant,
    read_resume,
    resume_token,
    sign_link,
    sign_participant,
)
from tests.studyapp import factories


@pytest.mark.django_db
def test_it_works(django_assert_num_queries):
    link, token = factories.make_link_and_token()
    participant = consent(link=link)
    cookies = sign_link(link), sign_participant(participant), resume_token(participant)
    with django_assert_num_queries(1):
        found = find_link(token)
        assert found == link
        assert found.study.slug
    with django_assert_num_queries(1):
        again = read_link(cookies[0])
        assert again == link
        assert again.study.slug
    for read, value in ((read_participant, cookies[1]), (read_resume, cookies[2])):
        with django_assert_num_queries(1):
            person = read(value)
            assert person == participant
            assert person.version.study.slug
            assert person.condition.name


def test_entry_tokens_hold_at_least_128_random_bits():
    tokens = [new_entry_token()[0] for _ in range(100)]
    assert len(set(tokens)) == 100
    assert all(len(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))) * 8 >= 128 for token in tokens)


def test_only_the_hash_is_kept():
    token, kept = new_entry_token()
    assert kept == hash_token(token)
    assert len(kept) == 64
    assert token not in kept


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
        theirs = Signer(key="another", sep=".", salt="studyapp.participant").sign(participant.public_id)
        assert read_participant(theirs) is None
