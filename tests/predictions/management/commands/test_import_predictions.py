"""import_predictions stores predictions and counts repairs.

It refuses the rest.
"""

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from predictions.models import Dataset, Event, Prediction, PredictionRun, System
from predictions.queries.predictions import find_latest_run
from tests.analysis.data import real_data
from tests.studyapp.questions import entries, write_json
from tests.studyapp.serving import made_dataset

pytestmark = [pytest.mark.django_db, pytest.mark.database]


@pytest.fixture
def dataset() -> Dataset:
    return made_dataset("films", entries(4))


def content(**more: Any) -> dict[str, Any]:
    return {
        "answer": {"q0": "Paul Stone I", "q1": "Oslo", "q2": "", "q3": "no"},
        "sp": {"q0": [["Night Ferry 0", 0]], "q1": [["Oslo", 0]], "q2": [], "q3": [["Oslo", 0]]},
        **more,
    }


def run(path: Path, *options: str, system: str = "reader", dataset: str = "films") -> tuple[str, str]:
    output, error = StringIO(), StringIO()
    given = ("--dataset", dataset, "--system", system, *options)
    call_command("import_predictions", str(path), *given, stdout=output, stderr=error)
    return output.getvalue(), error.getvalue()


def test_it_works(dataset: Dataset, tmp_path: Path):
    more = {
        "type": {"q0": "span", "q3": "no"},
        "fact_probability": {"q0": [["Night Ferry 0", 0, 0.9], ["Oslo", 0, 0.25]]},
        "answer_location": {"q0": ["Night Ferry 0", 0, 35, 47]},
        "explanation_weights": {"q0": [["Night Ferry 0", 0, 4, 8, 0.5], ["Oslo", 0, 0, 4, -1]]},
        "question_weights": {"q0": [[0, 3, 0.25]]},
    }
    path = write_json(tmp_path / "p.json", content(**more))
    output, error = run(path)
    assert error == ""
    stored = PredictionRun.objects.get()
    row = {"id": str(stored.pk), "dataset": "films", "system": "reader", "revision": stored.revision}
    assert json.loads(run(path, "--json")[0]) == {**row, "added": 0, "unchanged": 4}
    assert output == f"reader on films ({stored.revision}): 4 predictions added, 0 were there already\n"
    assert (stored.source, stored.status, stored.system.name) == ("file", "done", "reader")
    assert stored.finished_at is not None
    assert find_latest_run(dataset, "reader") == stored
    prediction = stored.predictions.get(question__external_id="q0")
    wire = prediction.wire("q0")
    assert (wire.answer, wire.type, wire.facts) == ("Paul Stone I", "span", [("Night Ferry 0", 0)])
    assert prediction.explanation_weights == [["Night Ferry 0", 0, 4, 8, 0.5], ["Oslo", 0, 0, 4, -1.0]]
    assert [weight.weight for weight in wire.explanation_weights] == [0.5, -1.0]
    assert prediction.question_weights == [[0, 3, 0.25]]
    assert [(weight.start, weight.end, weight.weight) for weight in wire.question_weights] == [(0, 3, 0.25)]
    assert wire.location is not None
    assert wire.location.start == 35
    assert wire.fact_probabilities is not None
    assert wire.fact_probabilities[1].probability == 0.25
    other = stored.predictions.get(question__external_id="q1")
    assert (other.answer_type, other.location, other.fact_probabilities) == (None, None, None)


def test_the_same_file_again_changes_nothing(dataset: Dataset, tmp_path: Path):
    path = write_json(tmp_path / "p.json", content())
    run(path)
    output, _ = run(path)
    assert "0 predictions added, 4 were there already" in output
    assert Prediction.objects.count() == 4
    assert Event.objects.filter(kind="predictions_imported").count() == 1


def test_another_file_is_another_run_and_becomes_the_latest(dataset: Dataset, tmp_path: Path):
    run(write_json(tmp_path / "a.json", content()))
    run(write_json(tmp_path / "b.json", content(type={"q1": "span"})))
    assert PredictionRun.objects.count() == 2
    latest = find_latest_run(dataset, "reader")
    assert latest is not None
    assert latest.predictions.get(question__external_id="q1").answer_type == "span"


def test_a_grown_dataset_takes_the_rest_of_the_same_file(tmp_path: Path):
    made_dataset("films", entries(2))
    path = write_json(tmp_path / "p.json", content())
    _, error = run(path)
    assert "2 IDs without a question in the dataset" in error
    made_dataset("films", entries(4))
    output, error = run(path)
    assert "2 predictions added, 2 were there already" in output
    assert error == ""


def test_what_is_missing_or_odd_is_counted(dataset: Dataset, tmp_path: Path):
    odd = {
        "answer": {"q0": "Oslo", "q1": "Oslo", "other": "x"},
        "sp": {"q1": [["Oslo", 0], ["Oslo", 5], ["Nowhere", 0]], "q2": []},
    }
    output, error = run(write_json(tmp_path / "p.json", odd))
    assert "3 predictions added" in output
    assert sorted(error.splitlines()) == [
        "warning: 1 IDs without a question in the dataset, left out",
        "warning: 1 predictions without a list of facts, stored without facts",
        "warning: 1 predictions without an answer, stored with an empty one",
        "warning: 1 questions of the dataset without a prediction; they score 0",
        "warning: 2 predicted facts that name no sentence of the articles; kept as wrong facts",
    ]
    stored = {prediction.question.external_id: prediction for prediction in Prediction.objects.all()}
    assert stored["q1"].facts == [["Oslo", 0], ["Oslo", 5], ["Nowhere", 0]]
    assert (stored["q0"].facts, stored["q2"].answer) == ([], "")


@pytest.mark.parametrize(
    "bad, words",
    [
        ({"answer": {"x": "y"}, "sp": {}}, "none of its 1 ids is a question of the dataset 'films'"),
        ({"answer": {"q0": "y"}}, "sp: is missing"),
        (
            content(answer_location={"q3": ["Oslo", 0, 0, 400]}),
            r"answer_location\[q3\]: no sentence 0 of 'Oslo'",
        ),
        (
            content(explanation_weights={"q3": [["Oslo", 0, 0, 400, 1.0]]}),
            r"explanation_weights\[q3\]: no sentence 0 of 'Oslo' has the characters 0 to 400",
        ),
        (
            content(explanation_weights={"q3": [["Oslo", 0, 0, 4, 1.0], ["Oslo", 0, 3, 5, 1.0]]}),
            r"explanation_weights\[q3\]: two weights overlap in sentence 0 of 'Oslo'",
        ),
        (
            content(question_weights={"q3": [[0, 900, 1.0]]}),
            r"question_weights\[q3\]: the question has no characters 0 to 900",
        ),
    ],
)
def test_a_bad_file_leaves_nothing(dataset: Dataset, tmp_path: Path, bad: dict[str, Any], words: str):
    with pytest.raises(CommandError, match=words) as error:
        run(write_json(tmp_path / "p.json", bad))
    assert "p.json" in str(error.value)
    assert error.value.returncode == 1
    assert not PredictionRun.objects.exists()
    assert not System.objects.exists()


def test_an_unknown_dataset_lists_those_there_are(dataset: Dataset, tmp_path: Path):
    with pytest.raises(CommandError, match="there is no dataset 'film'; there are: films"):
        run(write_json(tmp_path / "p.json", content()), dataset="film")


@pytest.mark.parametrize(
    "system, added, missing",
    [("srlgrn", 586, 0), ("hp_model_9", 583, 3)],
)
def test_real_predictions_are_imported(system: str, added: int, missing: int):
    call_command(
        "import_dataset", "hotpot", str(real_data("hotpot/hotpot_sample.json")), "--name", "hotpot",
        stdout=StringIO(),
    )  # fmt: skip
    path = real_data(f"hotpot/predictions/{system}.json")
    output, error = run(path, system=system, dataset="hotpot")
    assert f"{added} predictions added" in output
    assert (f"warning: {missing} questions of the dataset without a prediction" in error) == bool(missing)
