"""Every field that leaves the database is declared.

Every declared column is in the files.
"""

import json

import pytest
from django.conf import settings
from django.db.models import Model

from predictions.models import QuestionScore
from studyapp.exports.bundle import FILES, write_bundle
from studyapp.exports.columns import TABLES
from studyapp.exports.fields import FIELDS
from studyapp.models import (
    Condition,
    DraftRevision,
    EntryLink,
    Event,
    Item,
    JudgedAnswer,
    Judgement,
    LaunchDecision,
    Participant,
    ProposedVerdict,
    StageResponse,
    Stimulus,
    Study,
    StudyVersion,
    SurveyResponse,
    Trial,
)
from studyapp.simulation.behaviours import BEHAVIOURS
from tests.studyapp.factories import make_participant, make_study

MODELS: list[type[Model]] = [
    Study, DraftRevision, StudyVersion, Condition, Item, Stimulus, EntryLink, Participant, Trial,
    StageResponse, SurveyResponse, Event, JudgedAnswer, Judgement, QuestionScore,
    LaunchDecision, ProposedVerdict,
]  # fmt: skip


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_every_model_field_is_listed(model):
    fields = {f"{model.__name__}.{field.name}" for field in model._meta.concrete_fields}
    listed = {name for name in FIELDS if name.startswith(f"{model.__name__}.")}
    assert fields == listed


def test_no_column_shows_a_withheld_field():
    for table in TABLES.values():
        for column in (*table.before, *table.after):
            if column.source:
                assert FIELDS[column.source].internal == "exported", column
                expected = {"withheld": "withheld", "pseudonym": "pseudonymised"}.get(
                    column.public, "exported"
                )
                assert FIELDS[column.source].public == expected, column


def test_every_exported_field_is_a_column_or_says_where_it_goes():
    sources = {
        column.source
        for table in TABLES.values()
        for column in (*table.before, *table.after)
        if column.source
    }
    for name, field in FIELDS.items():
        if field.internal == "exported" and name not in sources:
            where = field.note.split(" ")[0].rstrip(",")
            assert where in TABLES or ".json" in field.note or field.note == "every table", name


@pytest.mark.django_db
def test_codebook_lists_exactly_the_columns_of_the_files(tmp_path):
    study = make_study()
    make_participant(study=study, completed=True)
    write_bundle(study, tmp_path / "out")
    book = json.loads((tmp_path / "out" / "codebook.json").read_text())
    for name, table in book["tables"].items():
        header = (tmp_path / "out" / f"{name}.csv").read_text().splitlines()[0].split(",")
        assert header == [column["name"] for column in table["columns"]]
        for column in table["columns"]:
            assert column["meaning"]
            assert column["type"] in ("string", "integer", "number", "boolean", "time", "json")
    page = (tmp_path / "out" / "codebook.md").read_text()
    assert "| rated_correct | boolean |" in page
    assert "1 = Strongly disagree" in page
    assert {path.name for path in (tmp_path / "out").iterdir()} <= FILES


def test_the_reference_page_names_every_column_and_file():
    page = (settings.BASE_DIR / "docs" / "reference" / "bundle.md").read_text(encoding="utf-8")
    for table in TABLES.values():
        for column in (*table.before, *table.after):
            assert f"`{column.name}`" in page, column.name
    for name in FILES:
        if not name.endswith((".parquet", ".jsonl")):
            assert f"`{name}`" in page, name


def test_the_how_to_states_the_behaviours_of_bots():
    page = (settings.BASE_DIR / "docs" / "how-to" / "simulate.md").read_text(encoding="utf-8")
    for name, behaviour in BEHAVIOURS.items():
        row = next(line for line in page.splitlines() if line.startswith(f"| `{name}`"))
        if "as `honest`" not in row:
            assert f"| {behaviour.yes_if_right:.0%} |".replace("%", " %") in row
            assert f"| {behaviour.yes_if_wrong:.0%} |".replace("%", " %") in row
            assert f"| {behaviour.seconds:g} s |" in row
        else:
            honest = BEHAVIOURS["honest"]
            assert behaviour._replace(leaves=honest.leaves, tabs=honest.tabs) == honest
