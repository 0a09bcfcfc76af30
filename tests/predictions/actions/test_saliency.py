"""Saliency gives weights of words, as an explanation.

They are stored beside predictions and in a study's frozen version.
"""

from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from pytest_django.fixtures import Settings

from modelserver.serving.fake_server import FakeModelServer, FakeSystem
from modelserver.systems.own import OwnSystem
from modelserver.wire.errors import Unavailable
from modelserver.wire.schema import Explanation, SaliencyOptions, SaliencyScore
from predictions import tasks
from predictions.actions.saliency import compute_weights
from predictions.explanations.saliency import extract_question_weights, extract_weights, has_sign, name_method
from predictions.models import Prediction, PredictionRun
from studyapp.queries.studies import load_frozen_study as frozen_study
from studyapp.web.html.stimulus import render_stimulus_once
from tests.modelserver.saliency.planted import Planted, rule, systems
from tests.predictions.management.commands.test_probe_reading import ROWS
from tests.studyapp.factories import make_definition, make_study_of
from tests.studyapp.serving import eager, made_dataset

__all__ = ["eager"]

pytestmark = pytest.mark.django_db


class Loud(Planted):
    """A system that says which facts count.

    They are the study's ground for highlighting without saliency.
    """

    def predict(self, items: Any) -> list[dict[str, Any]]:
        return [
            {**prediction, "fact_probabilities": [
                {"title": title, "index": index, "probability": 0.5}
                for title, sentences in item.context for index in range(len(sentences))
            ]}
            for item, prediction in zip(items, super().predict(items), strict=True)
        ]  # fmt: skip


@pytest.fixture
def served(settings: Settings) -> Any:
    loud = OwnSystem(Loud(rule), name="loud", description="", revision="loud-1")
    with FakeModelServer(*systems(), loud, FakeSystem()) as server:
        settings.MODEL_SERVER_URL = server.url
        yield server


def predict(system: str, *arguments: str) -> tuple[str, str]:
    output, error = StringIO(), StringIO()
    call_command(
        "predict", "--dataset", "people", "--system", system, *arguments, stdout=output, stderr=error
    )
    return output.getvalue(), error.getvalue()


def test_it_works(served: FakeModelServer, eager: None):
    made_dataset("people", ROWS)
    output, error = predict("rule", "--saliency", "integrated-gradients")
    assert "6 of 6 predictions have weights by integrated-gradients" in output
    assert error == ""
    run = PredictionRun.objects.get()
    assert run.saliency["level"] == "word"
    prediction = run.predictions.get(question__external_id="q1")
    texts = dict(prediction.question.context)
    words = {
        texts[title][index][a:b]: weight for title, index, a, b, weight in prediction.explanation_weights
    }
    assert words["1931"] > 0  # the year that was chosen by; the other one has no way to the logit
    assert words["1950"] == words["born"] == 0
    question_words = {prediction.question.text[a:b]: weight for a, b, weight in prediction.question_weights}
    assert max(question_words, key=question_words.get) == "older"
    assert question_words["Who"] == 0


def test_a_second_time_computes_nothing_and_another_method_is_refused(served: FakeModelServer, eager: None):
    made_dataset("people", ROWS)
    predict("rule", "--saliency", "occlusion")
    run = PredictionRun.objects.get()
    assert compute_weights(run_id=run.pk, first=0, last=10**9) == 0
    output, _ = predict("rule", "--saliency", "occlusion")
    assert "6 of 6 predictions have weights by occlusion" in output
    run.predictions.update(question_weights=None)  # of a version that kept the context's alone
    assert compute_weights(run_id=run.pk, first=0, last=10**9) == 6
    assert not run.predictions.filter(question_weights=None).exists()
    with pytest.raises(CommandError, match="have saliency by 'occlusion, level word' already"):
        predict("rule", "--saliency", "gradient-x-input")


def test_a_system_without_saliency_is_told(served: FakeModelServer, eager: None):
    made_dataset("people", ROWS[:2])
    with pytest.raises(CommandError, match="no prediction has saliency; the first, q1: fake has no saliency"):
        predict("fake", "--saliency", "occlusion")
    assert not Prediction.objects.filter(explanation_weights__isnull=False).exists()


def test_predictions_with_weights_of_their_own_or_from_a_file_are_refused(
    served: FakeModelServer, eager: None
):
    made_dataset("people", ROWS[:1])
    predict("rule", "--wait")
    Prediction.objects.update(explanation_weights=[])
    with pytest.raises(CommandError, match="gave explanation weights of its own"):
        predict("rule", "--saliency", "occlusion")
    PredictionRun.objects.update(source="file")
    with pytest.raises(CommandError, match="came from a file"):
        predict("rule", "--saliency", "occlusion")


def test_a_study_shows_the_words_in_three_strengths(served: FakeModelServer, eager: None):
    """An item with a word that has no weight is not shown.

    The version names the method.
    """
    made_dataset("people", ROWS)
    predict("loud", "--saliency", "integrated-gradients")
    broken = Prediction.objects.get(question__external_id="q25")
    Prediction.objects.filter(pk=broken.pk).update(explanation_weights=None, saliency_error="no")
    study = make_study_of(
        make_definition(
            dataset="people", conditions=[{"system": "loud", "explanation": "tokens"}],
            items={"count": 5, "seed": 1},
        )
    )  # fmt: skip
    frozen = frozen_study(study.versions.get())
    (arm,) = frozen.conditions
    assert arm.saliency == "integrated-gradients, level word"
    assert "q25" not in arm.shown
    html = render_stimulus_once(study.versions.get(), condition=arm.name, item_id="q1")
    assert "influenced the answer, for or against it" in html  # a norm has no sign
    item = next(item for item in frozen.items if item.id == "q1")
    (start, end, level) = arm.shown["q1"].question_tokens[0]
    assert (item.question[start:end], level) == ("older", 3)
    strong = '<mark class="weight strong"><span class="visually-hidden">strong: </span>older</mark>'
    assert strong in html[: html.index("</h1>")]
    title, index, start, end, level = arm.shown["q1"].tokens[0]
    assert (title, index, level) == ("Ann Lee1", 0, 3)
    assert dict(item.context)[title][index][start:end] == "1931"


def test_weights_are_of_sentences_and_of_the_last_article_of_a_title():
    def score(article: int | None, title: str | None, index: int | None) -> SaliencyScore:
        return SaliencyScore(article=article, title=title, index=index, start=0, end=2, score=1.0)

    explained = Explanation(
        id="a", revision="r", options=SaliencyOptions(), first=0, last=0, value=1.0,
        scores=[score(None, None, None), score(0, "A", None), score(0, "A", 0), score(1, "A", 0)],
    )  # fmt: skip
    assert extract_weights([("A", ["ab"]), ("A", ["cd"])], explained) == [("A", 0, 0, 2, 1.0)]
    assert extract_question_weights(explained) == [(0, 2, 1.0)]


def test_a_method_is_named_with_what_is_not_the_default():
    assert name_method(None) == ""
    assert name_method(SaliencyOptions()) == "integrated-gradients"
    assert name_method(SaliencyOptions(method="occlusion", steps=9)) == "occlusion, steps 9"


@pytest.mark.parametrize(
    "name, expected",
    [
        ("", True),
        ("occlusion, level word", True),
        ("integrated-gradients, summary dot, level word", True),
        ("integrated-gradients, level word", False),
        ("gradient-x-input, summary l1", False),
    ],
)
def test_norms_have_no_sign(name: str, expected: bool):
    assert has_sign(name) == expected


def test_the_task_tries_again(monkeypatch: pytest.MonkeyPatch):
    tries: list[dict[str, int]] = []

    def flaky(**slice: int) -> None:
        tries.append(slice)
        if len(tries) < 3:
            raise Unavailable("restarting")

    monkeypatch.setattr(tasks, "compute_weights", flaky)
    tasks.weigh_slice.apply((1, 2, 3))
    assert tries == [{"run_id": 1, "first": 2, "last": 3}] * 3
