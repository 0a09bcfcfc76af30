"""Tests of making entry links."""

import pytest

from studyapp.actions.links import create_link
from studyapp.errors import StudyRefused
from studyapp.link_tokens import find_link, hash_token
from studyapp.models import EntryLink, Event
from tests.studyapp import factories


@pytest.mark.django_db
class TestCreateLink:
    def test_it_works(self):
        user, study = factories.make_user(), factories.make_study()
        link, token = create_link(study=study, label="mail", mode="pilot", single_use=True, by=user)
        assert (link.study, link.label, link.mode, link.single_use) == (study, "mail", "pilot", True)
        assert (link.used_at, link.created_by) == (None, user)
        assert find_link(token) == link
        event = Event.objects.get(kind="link_created")
        assert (event.actor, event.study) == (user, study)
        assert event.data == {
            "label": "mail",
            "mode": "pilot",
            "single_use": True,
            "quota": None,
            "platform": None,
        }

    def test_the_token_is_kept_nowhere(self):
        link, token = factories.make_link_and_token()
        stored = str(EntryLink.objects.values().get()) + str(
            list(Event.objects.values_list("data", flat=True))
        )
        assert token not in stored
        assert link.token_hash == hash_token(token)
        assert hash_token(token) not in str(list(Event.objects.values_list("data", flat=True)))

    def test_defaults_are_shared_and_live(self):
        link = factories.make_link()
        assert (link.label, link.mode, link.single_use) == ("", "live", False)

    @pytest.mark.parametrize(
        ("options", "sentence"),
        [
            ({"mode": "preview"}, "mode: must be one of live, pilot, bot"),
            ({"label": "x" * 101}, "label: "),
            ({"quota": 0}, "quota: must be at least 1"),
        ],
    )
    def test_malformed(self, options, sentence):
        study = factories.make_study(launched=False)
        with pytest.raises(ValueError, match=sentence):
            create_link(study=study, by=None, **options)
        assert not EntryLink.objects.exists()

    def test_a_single_use_link_has_no_quota(self):
        study = factories.make_study(launched=False)
        with pytest.raises(StudyRefused, match="a single-use link admits one participant"):
            create_link(study=study, by=None, single_use=True, quota=2)
        assert not EntryLink.objects.exists()
