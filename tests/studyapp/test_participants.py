"""Tests of what participants do: consent, pages, completion."""

import pytest

from tests.studyapp import factories


@pytest.mark.django_db
def test_it_works():
    participant = factories.make_participant(completed=True)
    assert participant.status == "completed"
    assert participant.items_submitted == 3
    assert len(participant.completion_code) == 10
