"""The table of responses: filters, and pages by key."""

import pytest

from studyapp.actions.exclusions import exclude_participant
from studyapp.actions.privacy import withdraw
from studyapp.exports.responses import (
    format_cells,
    list_default_columns,
    list_response_columns,
    load_response_data,
    load_response_page,
    read_responses,
)
from studyapp.queries.participants.table import PeopleFilter
from studyapp.queries.running.responses import ResponseFilter
from tests.studyapp import factories

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    study = factories.make_study(conditions=2, items=3)
    for _ in range(4):
        factories.make_participant(study=study, completed=True)
    return study


def shown(study, size=100, **chosen):
    rows, after = [], None
    while True:
        page = load_response_page(load_response_data(study), ResponseFilter(**chosen), after=after, size=size)
        rows += [(row["participant_id"], row["position"]) for row in page.rows]
        if page.after is None:
            return rows
        after = page.after


def test_pages_hold_every_row_once_in_order(study):
    everything = shown(study)
    assert len(everything) == len(set(everything)) == 12
    for size in (1, 3, 5, 12):
        assert shown(study, size) == everything


def test_filters(study):
    version = study.versions.get()
    first, second = version.conditions.all()
    participant = factories.make_participant(link=factories.make_link(study=study, mode="pilot"), items=1)
    item = version.items.first().external_id
    assert len(shown(study)) == 13
    assert len(shown(study, answered=None)) == 15
    assert len(shown(study, answered=False)) == 2
    assert len(shown(study, people=PeopleFilter(mode="live"), condition=first.name)) == 6
    assert len(shown(study, people=PeopleFilter(state="completed", group=second.name))) == 6
    assert len(shown(study, people=PeopleFilter(state="active"))) == 1
    assert len(shown(study, participant=participant.public_id)) == 1
    assert len(shown(study, people=PeopleFilter(mode="live"), item=item)) == 4
    assert shown(study, item="no such item") == []
    assert shown(study, excluded=True) == []
    exclude_participant(participant=participant, reason="took part twice", by=None)
    assert [participant_id for participant_id, _position in shown(study, excluded=True)] == [
        participant.public_id
    ]
    assert len(shown(study, excluded=False)) == 12


def test_who_withdrew_is_left_out(study):
    participant = factories.make_participant(study=study, completed=True)
    withdraw(participant=participant)
    assert participant.public_id not in {participant_id for participant_id, _position in shown(study)}
    assert shown(study, participant=participant.public_id) == []


def test_the_columns_are_those_of_the_bundle(study):
    data = load_response_data(study)
    columns = list_response_columns(data)
    names = [column.name for column in columns]
    assert {"rated_correct", "certainty", "excluded_by"} < set(list_default_columns(data)) < set(names)
    assert "changes_certainty" not in list_default_columns(data)
    [batch] = read_responses(load_response_data(study, for_file=True), ResponseFilter())
    row = dict(zip(names, format_cells(columns, batch[0]), strict=True))
    assert (row["certainty"], row["rated_correct"], row["excluded_by"]) == (4, "true", "")
    assert row["shown_at"].endswith("Z")


def test_practice_and_checks_are_no_responses():
    study = factories.make_everything()
    participant = factories.make_participant(study=study)
    factories.go_through_stages(participant)
    kinds = set(participant.trials.values_list("item__kind", flat=True))
    assert kinds == {"item", "practice", "attention"}
    number = participant.trials.filter(item__kind="item").count()
    assert len(shown(study, answered=None)) == number
