"""Scores of runs equal the definitions; each input is asked once.

A missing score has its reason.
"""

import json
from collections import Counter
from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from pytest_django.fixtures import Settings

from analysis.scores import farm_loca, hotpotqa
from modelserver.serving.fake_server import FAILS, FakeModelServer, FakeSystem
from modelserver.wire.errors import PredictionFailed
from modelserver.wire.schema import QAItem, QAPrediction
from predictions.actions.predictions import start_run
from predictions.models import Dataset, Prediction, PredictionRun, ReducedAnswer, Score
from predictions.scores.score_document import ScoresDocument, build_scores_document
from predictions.scores.scoring import ERASURE_KEYS, FARM_KEYS, KEYS, LOCA_KEYS
from tests.analysis.data import real_data
from tests.studyapp.questions import entries, entry, write_json
from tests.studyapp.serving import eager, failing, made_dataset, model_server, no_model_server

__all__ = ["eager", "model_server", "no_model_server"]

pytestmark = [pytest.mark.django_db, pytest.mark.database]


def predict(dataset: Dataset) -> PredictionRun:
    call_command("predict", "--dataset", dataset.name, "--system", "fake", "--wait", stdout=StringIO())
    return PredictionRun.objects.latest("pk")


def score(*arguments: str, dataset: str = "films") -> tuple[str, str]:
    output, error = StringIO(), StringIO()
    call_command("score", "--dataset", dataset, *arguments, stdout=output, stderr=error)
    return output.getvalue(), error.getvalue()


def import_file(path: Path, system: str, dataset: str = "films") -> None:
    call_command(
        "import_predictions", str(path), "--dataset", dataset, "--system", system,
        stdout=StringIO(), stderr=StringIO(),
    )  # fmt: skip


def by_hand(run: PredictionRun) -> dict[str, float | None]:
    """Return FaRM and LocA straight from their definitions.

    Every reduced context is asked again.
    """
    system = FakeSystem()
    answers: dict[str, str] = {}
    relevant: dict[int, dict[str, str]] = {k: {} for k in farm_loca.REMOVALS}
    irrelevant: dict[int, dict[str, str]] = {k: {} for k in farm_loca.REMOVALS}
    locations = []

    def answer(item: QAItem, facts: Sequence[Any], k: int) -> str:
        context = farm_loca.reduce_context(item.context, facts, k)
        return system.predict([QAItem(id=item.id, question=item.question, context=context)])[0].answer  # type: ignore[arg-type]

    for question in run.dataset.questions.all():
        item = question.wire()
        (prediction,) = system.predict([item])
        assert prediction.fact_probabilities is not None
        listed = [(fact.title, fact.index, fact.probability) for fact in prediction.fact_probabilities]
        order = farm_loca.removal_order(listed, threshold=0.4)
        answers[item.id] = prediction.answer
        for k in farm_loca.REMOVALS:
            relevant[k][item.id] = answer(item, order.relevant, k)
            irrelevant[k][item.id] = answer(item, order.irrelevant, k)
        location = prediction.location
        locations.append(
            (prediction.type, location and location.first, location and location.last, prediction.facts)
        )
    farm = farm_loca.farm(answers, relevant, irrelevant)
    loca = farm_loca.loca(locations)  # type: ignore[arg-type]
    values: dict[str, float | None] = {
        f"{name}_{k}": getattr(farm, name)[k]
        for name in ("farm", "c_rel", "c_irr")
        for k in farm_loca.REMOVALS
    }
    return values | {"loca": loca.loca, "loca_inside": loca.inside, "loca_outside": loca.outside}


def varied() -> list[dict[str, Any]]:
    """Return questions whose answers the fake system finds or misses.

    Different reductions change some of the answers.
    """
    rows = entries(6)
    rows.append(entry(6, question="Did Paul Stone direct Night Ferry 6?", answer="yes"))
    rows.append(entry(7, question="What is there?", answer="Oslo"))
    rows.append(
        entry(8, question="Which film did Paul Stone IIIIIIIII shoot in Oslo?", answer="Night Ferry 8")
    )
    rows.append(entry(9, context=[["Stone", ["Paul Stone directed a film", "Night Ferry 9 by Ada Brenn"]]]))
    return rows


def test_it_works(model_server: FakeModelServer, eager: None, tmp_path: Path):
    run = predict(made_dataset("films", varied()))
    out = tmp_path / "scores.json"
    output, _ = score("--out", str(out))
    document = json.loads(out.read_text())
    ScoresDocument.model_validate(document)
    assert document["dataset"] == "films"
    fake = document["systems"]["fake"]
    assert (fake["n"], fake["source"], fake["revision"]) == (10, "computed", run.revision)
    assert tuple(fake["scores"]) == KEYS
    assert fake["scores"].items() >= by_hand(run).items()
    assert 0 < fake["scores"]["farm_1"] < 1
    assert f"{'farm_4':22} {100 * fake['scores']['farm_4']:7.2f}" in output
    assert Score.objects.get().values == fake["scores"]


def test_standard_scores_are_the_official_ones(model_server: FakeModelServer, eager: None):
    rows = varied()
    run = predict(made_dataset("films", rows))
    predicted = {p.question.external_id: p for p in run.predictions.select_related("question")}
    official = hotpotqa.score(
        rows,
        {"answer": {key: p.answer for key, p in predicted.items()},
         "sp": {key: p.facts for key, p in predicted.items()}},
    )  # fmt: skip
    score()
    assert Score.objects.get().values.items() >= official.items()


class Counting(FakeSystem):
    """The fake system, which remembers every input."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: Counter[str] = Counter()

    def predict(self, items: Sequence[QAItem]) -> list[QAPrediction]:
        self.asked.update(f"{item.question} {item.context}" for item in items if item.id != "warm-up")
        return super().predict(items)


def test_each_distinct_input_is_asked_once(settings: Settings, eager: None):
    system = Counting()
    with FakeModelServer(system) as server:
        settings.MODEL_SERVER_URL = server.url
        predict(made_dataset("films", varied()))
        score()
        assert set(system.asked.values()) == {1}
        total = system.asked.total()
        score()
        assert system.asked.total() == total
    assert total == Prediction.objects.count() + ReducedAnswer.objects.count()


def test_what_is_answered_needs_no_server(model_server: FakeModelServer, eager: None, settings: Settings):
    predict(made_dataset("films", varied()))
    score()
    first = Score.objects.get().values
    settings.MODEL_SERVER_URL = "http://127.0.0.1:9"
    _, error = score()
    names = ", ".join(ERASURE_KEYS)
    assert error == f"fake: no {names}: the system gives no probability of its answers\n"
    assert Score.objects.get().values == first


def test_a_server_that_is_away_leaves_farm_out_with_the_reason(
    model_server: FakeModelServer, eager: None, settings: Settings
):
    predict(made_dataset("films", varied()))
    settings.MODEL_SERVER_URL = "http://127.0.0.1:9"
    _, error = score()
    stored = Score.objects.get()
    assert all(stored.values[key] is None for key in FARM_KEYS)
    assert set(stored.reasons) == {*FARM_KEYS, *ERASURE_KEYS}
    assert "http://127.0.0.1:9 cannot be reached" in stored.reasons["farm_4"]
    assert "fake: no farm_1, " in error
    assert stored.values["loca"] is not None


class OtherRevision(FakeSystem):
    """The fake system with other weights."""

    def __init__(self) -> None:
        super().__init__()
        self.revision = "other"


def test_another_revision_leaves_farm_out(model_server: FakeModelServer, eager: None, settings: Settings):
    run = predict(made_dataset("films", varied()))
    with FakeModelServer(OtherRevision()) as other:
        settings.MODEL_SERVER_URL = other.url
        score()
    reason = Score.objects.get().reasons["farm_4"]
    assert reason == (
        f"the model server serves fake in revision other, and the predictions are of revision {run.revision}"
    )
    assert not ReducedAnswer.objects.exists()


class FailsOnEmpty(FakeSystem):
    """The fake system, which fails on contexts of under three sentences."""

    def _predict_one(self, item: QAItem) -> QAPrediction:
        if item.id != "warm-up" and sum(len(sentences) for _, sentences in item.context) < 3:
            raise PredictionFailed("too little to read")
        return super()._predict_one(item)


def test_a_reduced_input_that_fails_leaves_farm_out_and_is_tried_again(eager: None, settings: Settings):
    with FakeModelServer(FailsOnEmpty()) as server:
        settings.MODEL_SERVER_URL = server.url
        predict(made_dataset("films", entries(2)))
        score()
        stored = Score.objects.get()
        assert stored.values["farm_1"] is None
        assert "could not answer" in stored.reasons["farm_1"]
        assert "too little to read" in stored.reasons["farm_1"]
    with FakeModelServer() as server:
        settings.MODEL_SERVER_URL = server.url
        score()
    assert Score.objects.get().values["farm_1"] is not None


def test_the_scores_as_json(model_server: FakeModelServer, eager: None, tmp_path: Path):
    predict(made_dataset("films", entries(2)))
    output, _ = score("--json", "--out", str(tmp_path / "scores.json"))
    assert json.loads(output) == json.loads((tmp_path / "scores.json").read_text())
    assert set(json.loads(output)["systems"]) == {"fake"}


def test_a_failed_question_counts_zero(model_server: FakeModelServer, eager: None):
    dataset = made_dataset("films", [entry(0), failing(1, FAILS)])
    call_command(
        "predict", "--dataset", "films", "--system", "fake", "--wait", stdout=StringIO(), stderr=StringIO()
    )
    score()
    stored = Score.objects.get(run__dataset=dataset)
    assert stored.n == 2
    assert stored.values["em"] == 0.5


# --- predictions from a file -------------------------------------------------------------------------


def test_a_file_without_probabilities_has_standard_scores_and_reasons(tmp_path: Path):
    rows = entries(3)
    made_dataset("films", rows)
    content = {
        "answer": {"q0": "Paul Stone I", "q1": "no"},
        "sp": {"q0": [["Night Ferry 0", 0]], "q1": [], "q2": [["Oslo", 0]]},
    }
    import_file(write_json(tmp_path / "p.json", content), "reader")
    _, error = score()
    stored = Score.objects.get()
    assert stored.values.items() >= hotpotqa.score(rows, content).items()
    assert stored.reasons["farm_1"] == "the predictions came from a file without fact probabilities"
    assert stored.reasons["loca"] == "the predictions do not tell where 3 of 3 answers lie"
    assert set(stored.reasons) >= set(FARM_KEYS + LOCA_KEYS)
    assert "reader: no loca, loca_inside, loca_outside: " in error


def test_a_file_with_locations_has_loca(tmp_path: Path):
    made_dataset("films", entries(2))
    content = {
        "answer": {"q0": "Paul Stone I", "q1": "no"},
        "sp": {"q0": [["Night Ferry 0", 0]], "q1": []},
        "type": {"q0": "span", "q1": "no"},
        "answer_location": {"q0": ["Night Ferry 0", 0, 35, 47]},
        "fact_probability": {"q0": [["Night Ferry 0", 0, 0.9]]},
    }
    import_file(write_json(tmp_path / "p.json", content), "reader")
    score()
    stored = Score.objects.get()
    assert stored.values["loca"] == stored.values["loca_inside"] == 1.0
    assert "no served system is known" in stored.reasons["farm_4"]


def test_unknown_gold_facts_leave_fact_scores_out(tmp_path: Path):
    made_dataset("films", [entry(0, supporting_facts=None), entry(1)])
    content = {"answer": {"q0": "Paul Stone I", "q1": "Paul Stone II"}, "sp": {"q0": [], "q1": []}}
    import_file(write_json(tmp_path / "p.json", content), "reader")
    score()
    stored = Score.objects.get()
    assert stored.values["em"] == 1.0
    for key in (*hotpotqa.FACT_KEYS, *hotpotqa.JOINT_KEYS, "em_all_facts"):
        assert stored.values[key] is None
        assert stored.reasons[key] == "the gold facts of 1 of 2 questions are unknown"


@pytest.mark.parametrize("system", ["srlgrn", "hp_model_9"])
def test_real_predictions_score_as_the_official_script_does(system: str, tmp_path: Path):
    gold, predictions = real_data("hotpot/hotpot_sample.json"), real_data(f"hotpot/predictions/{system}.json")
    call_command("import_dataset", "hotpot", str(gold), "--name", "hotpot", stdout=StringIO())
    import_file(predictions, system, "hotpot")
    score(dataset="hotpot")
    official = hotpotqa.score(json.loads(gold.read_text()), json.loads(predictions.read_text()))
    assert Score.objects.get().values.items() >= official.items()


# --- which runs, and where to ------------------------------------------------------------------------


def test_all_systems_or_those_that_are_named(model_server: FakeModelServer, eager: None, tmp_path: Path):
    predict(made_dataset("films", entries(2)))
    content = {"answer": {"q0": "x"}, "sp": {"q0": []}}
    import_file(write_json(tmp_path / "p.json", content), "reader")
    import_file(write_json(tmp_path / "p.json", content), "other")
    out = tmp_path / "scores.json"
    score("--system", "reader", "fake", "--system", "fake", "--out", str(out))
    assert list(json.loads(out.read_text())["systems"]) == ["fake", "reader"]
    score("--out", str(out))
    assert list(json.loads(out.read_text())["systems"]) == ["fake", "other", "reader"]
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_a_system_without_finished_predictions_is_told(model_server: FakeModelServer):
    dataset = made_dataset("films", entries(2))
    start_run(dataset=dataset, system="fake", revision="1")
    with pytest.raises(CommandError, match="no finished predictions of fake on films"):
        score("--system", "fake")
    with pytest.raises(CommandError, match="no finished predictions of any system on films"):
        score()


def test_a_file_that_cannot_be_written_is_told_before_the_work(eager: None, tmp_path: Path):
    made_dataset("films", entries(2))
    import_file(write_json(tmp_path / "p.json", {"answer": {"q0": "x"}, "sp": {}}), "reader")
    with pytest.raises(CommandError, match="cannot be written"):
        score("--out", str(tmp_path / "no" / "scores.json"))
    assert not Score.objects.exists()


def test_the_document_takes_one_run_of_a_system(eager: None, tmp_path: Path):
    made_dataset("films", entries(2))
    for answer in ("x", "y"):
        import_file(write_json(tmp_path / "p.json", {"answer": {"q0": answer}, "sp": {}}), "reader")
        score()
    assert Score.objects.count() == 2
    with pytest.raises(ValueError, match="two are of one system"):
        build_scores_document(PredictionRun.objects.all())
    assert build_scores_document([])["systems"] == {}
