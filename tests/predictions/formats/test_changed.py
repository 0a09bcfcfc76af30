"""Changed items are read, and their originals fill in what they leave out."""

import json

import pytest

from foundation.errors import BadFile
from foundation.imports.findings import Findings, Refused
from predictions.actions.data import import_questions
from predictions.formats.changed import read_changed
from predictions.models import Question
from tests import workspaces
from tests.studyapp import factories

ITEM = {
    "id": "q1:a",
    "source_item_id": "q1",
    "change": "other film",
    "question": "Who made The Old Harbour?",
    "context": [["The Old Harbour", ["It was made by Ben Corr."]]],
    "answer": "Ben Corr",
}
INSTANCE = {
    "id": "q1:comparison:whole:0", "question_id": "q1", "step": "comparison", "distribution": "in",
    "extent": "", "original": {"question": "Who is older?", "context": [["A", ["B."]]], "answer": "A"},
    "counterfactual": {"question": "Who is younger?", "context": [["A", ["B."]]], "answer": None},
    "where": "question", "positive": [[7, 12]], "negative": [[0, 3]], "near_synonym": False,
    "verdict": "", "note": "", "reviews": [],
}  # fmt: skip


def written(folder, *rows):
    path = folder / "changed.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_it_works(tmp_path):
    (record,) = read_changed(written(tmp_path, ITEM))
    assert (record.external_id, record.source_item_id, record.kind) == ("q1:a", "q1", "other film")
    assert record.supporting_facts is None
    assert "source_dataset" not in record.columns()


def test_drafted_counterfactuals_are_changed_items(tmp_path):
    rows = [
        INSTANCE,
        INSTANCE | {"id": "2", "extent": "facts"},
        INSTANCE | {"id": "3", "verdict": "rejected"},
        INSTANCE | {"id": "4", "near_synonym": True},
        INSTANCE | {"id": "5", "near_synonym": True, "verdict": "valid"},
    ]
    findings = Findings()
    records = list(read_changed(written(tmp_path, *rows), findings=findings))
    assert [record.external_id for record in records] == ["q1:comparison:whole:0", "2", "5"]
    assert [record.kind for record in records] == ["comparison", "comparison, facts only", "comparison"]
    assert (records[0].text, records[0].answer) == ("Who is younger?", "")
    assert findings.count("rejected_changes") == 2


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"question": None, "context": None}, "changes nothing"),
        ({"question": None}, "or the dataset of the original"),
        ({"source_item_id": ""}, "source_item_id"),
        ({"context": []}, "context"),
        ({"changed": "x"}, "changed"),
    ],
)
def test_what_is_no_changed_item_is_refused(tmp_path, changes, message):
    with pytest.raises(BadFile, match=message):
        list(read_changed(written(tmp_path, ITEM | changes)))


def imported(path, **options):
    return import_questions(
        records=read_changed(path),
        name="changed",
        workspace=workspaces.main(),
        source_format="changed",
        **options,
    )


@pytest.mark.django_db
def test_what_an_item_leaves_out_is_that_of_its_original(tmp_path):
    dataset = factories.make_dataset(name="films")
    bare = {name: ITEM[name] for name in ("id", "source_item_id", "change", "question")}
    path = written(tmp_path, bare | {"dataset": "films"})
    assert imported(path).added == 1
    row = Question.objects.get(dataset__name="changed")
    assert row.text == ITEM["question"]
    assert row.context == dataset.questions.get(external_id="q1").context
    assert imported(path).unchanged == 1


@pytest.mark.django_db
def test_an_item_without_its_original_is_refused(tmp_path):
    factories.make_dataset(name="films")
    lacking = ITEM | {"context": None, "dataset": "films", "source_item_id": "q99"}
    findings = Findings(collect=True)
    records = read_changed(written(tmp_path, lacking), findings=findings)
    options = {"name": "changed", "workspace": workspaces.main(), "source_format": "changed"}
    with pytest.raises(Refused, match="has no question 'q99'"):
        import_questions(records=records, findings=findings, **options)
    assert not Question.objects.filter(dataset__name="changed").exists()
