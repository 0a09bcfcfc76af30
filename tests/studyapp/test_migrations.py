"""What was stored by an earlier version of the program is filled in where later columns need it."""

from collections.abc import Iterator

import pytest
from django.apps.registry import Apps
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

BEFORE = ("studyapp", "0002_run_cancelled")
AFTER = ("studyapp", "0004_fill_groups_and_outcomes")


def migrate(to: tuple[str, str]) -> Apps:
    executor = MigrationExecutor(connection)
    executor.migrate([to])
    return executor.loader.project_state([to]).apps


@pytest.fixture
def before(transactional_db) -> Iterator[Apps]:
    """The models of before; afterwards the tables are again those of now."""
    yield migrate(BEFORE)
    executor = MigrationExecutor(connection)
    executor.migrate(executor.loader.graph.leaf_nodes("studyapp"))


def old_study(apps: Apps) -> None:
    """A completed and an active participant of a condition, each with one trial."""
    study = apps.get_model("studyapp", "Study").objects.create(slug="old", title="Old", definition={})
    version = apps.get_model("studyapp", "StudyVersion").objects.create(
        study=study, number=1, hash="h", frozen={}
    )
    condition = apps.get_model("studyapp", "Condition").objects.create(
        version=version, position=1, name="gold", label="Gold"
    )
    item = apps.get_model("studyapp", "Item").objects.create(version=version, position=1, external_id="q1")
    people = apps.get_model("studyapp", "Participant").objects
    for number, fields in enumerate(({"status": "completed", "completion_code": "C"}, {"status": "active"})):
        person = people.create(
            version=version, public_id=f"p{number}", mode="live", condition=condition, **fields
        )
        apps.get_model("studyapp", "Trial").objects.create(participant=person, item=item, position=1)


@pytest.mark.database
def test_earlier_participants_get_group_outcome_and_the_condition_of_their_trials(before: Apps):
    old_study(before)
    after = migrate(AFTER)
    rows = after.get_model("studyapp", "Participant").objects.order_by("public_id")
    assert list(rows.values_list("group", "outcome", "stage")) == [
        ("gold", "done", "items"), ("gold", "", "items"),
    ]  # fmt: skip
    trials = after.get_model("studyapp", "Trial").objects.values_list("condition__name", "item__kind")
    assert list(trials) == [("gold", "item")] * 2
