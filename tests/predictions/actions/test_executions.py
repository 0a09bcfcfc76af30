"""Programs run on a dataset: outputs become steps, failures are stored.

The questions are the requests.
"""

from collections.abc import Iterator

import pytest
from pytest_django.fixtures import Settings

from foundation.errors import Conflict, RunFailed
from jobs.model_servers.gateway import find_served_system
from modelserver.serving.fake_modular_system import FakeModularSystem
from modelserver.serving.fake_server import FakeModelServer, FakeSystem
from modelserver.wire.schema import Execution, ModuleItem, NodeOutput
from predictions.actions.data import import_questions
from predictions.actions.predictions import SYSTEM_KINDS, start_run
from predictions.explanations.executions import (
    build_module_item,
    find_words,
    format_answer,
    format_program,
    list_steps,
)
from predictions.explanations.program_steps import Step
from predictions.formats.records import QuestionRecord
from predictions.models import Dataset, PredictionRun
from predictions.tasks import enqueue_missing
from tests import workspaces
from tests.studyapp.factories import make_dataset
from tests.studyapp.serving import eager

__all__ = ["eager"]

PASSAGE = "It was 3 yards."
STEPS = [
    Step(module="find", argument="yards", tokens=[(9, 14, 3)]),
    Step(module="find-num", inputs=[1], value=3),
]
EXECUTE = PredictionRun.Kind.EXECUTE


@pytest.fixture
def served(settings: Settings) -> Iterator[FakeModelServer]:
    with FakeModelServer(FakeSystem(), FakeModularSystem("net")) as server:
        settings.MODEL_SERVER_URL = server.url
        yield server


def made_games(*texts: str, steps: list[Step] | None = STEPS) -> Dataset:
    records = [
        QuestionRecord(
            external_id=f"g{number}", text=text, answer="3", kind="question", level="",
            context=[("", [PASSAGE])], supporting_facts=None, steps=steps,
        )
        for number, text in enumerate(texts)
    ]  # fmt: skip
    import_questions(records=records, name="games", workspace=workspaces.main(), source_format="programs")
    return Dataset.objects.get(name="games")


def execute(dataset: Dataset) -> PredictionRun:
    system = find_served_system("net", SYSTEM_KINDS[EXECUTE])
    run = start_run(dataset=dataset, system="net", revision=system.revision, kind=EXECUTE)
    enqueue_missing(run)
    run.refresh_from_db()
    return run


@pytest.mark.django_db
def test_it_works(served: FakeModelServer, eager: None) -> None:
    run = execute(made_games("How many yards?"))
    assert (run.status, run.kind) == ("done", "execute")
    [prediction] = run.predictions.all()
    assert [step["module"] for step in prediction.steps] == ["find", "find-num"]
    assert prediction.steps[0]["tokens"] == [[9, 14, 3]]
    assert prediction.steps[1]["inputs"] == [1]


@pytest.mark.django_db
def test_failures_are_kept_with_their_reason(served: FakeModelServer, eager: None) -> None:
    run = execute(made_games("How many yards?", "How many [[fail]] yards?"))
    assert run.predictions.count() == 1
    assert run.failures.get().question.external_id == "g1"


@pytest.mark.django_db
def test_without_a_program_the_system_has_to_parse(served: FakeModelServer, eager: None) -> None:
    run = execute(made_games("How many yards?", steps=None))
    assert "parses none itself" in run.failures.get().message


@pytest.mark.django_db
def test_questions_over_many_articles_are_refused(served: FakeModelServer) -> None:
    with pytest.raises(Conflict, match="one article"):
        execute(make_dataset())
    assert not PredictionRun.objects.exists()


def test_a_reader_executes_nothing(served: FakeModelServer) -> None:
    with pytest.raises(RunFailed):
        find_served_system("fake", SYSTEM_KINDS[EXECUTE])


def test_the_program_of_steps() -> None:
    shared = [Step(module="find", argument="a, b"), Step(module="count", inputs=[1])]
    equal = [*shared, Step(module="number", argument="2"), Step(module="equal", inputs=[2, 3])]
    assert format_program(STEPS) == "find-num(find[yards])"
    assert format_program(equal).startswith("equal(count(find[a, b]), ")


def test_places_of_words() -> None:
    assert [PASSAGE[start:end] for start, end in find_words(PASSAGE)] == ["It", "was", "3", "yards", "."]


def test_a_question_needs_one_article() -> None:
    with pytest.raises(ValueError, match="2 articles"):
        build_module_item(
            external_id="q", text="?", context=[("A", ["a"]), ("B", ["b"])], steps=None, images=[]
        )


@pytest.mark.parametrize(("value", "text"), [(True, "true"), (3.0, "3"), (2.5, "2.5"), ("x", "x")])
def test_answers_as_text(value: bool | float | str, text: str) -> None:
    assert format_answer(value) == text


def test_a_system_without_modules_has_no_steps() -> None:
    item = ModuleItem(id="q", text="?", passage="x", tokens=[(0, 1)])
    assert list_steps(Execution(id="q", program="", answer=True, modules=[]), item) is None


def test_boxes_above_a_half_count() -> None:
    item = ModuleItem.model_validate({"id": "q", "text": "?", "images": [{"name": "a"}]})
    output = NodeOutput(index=1, module="find", probabilities=[0.9, 0.4])
    boxes = [(0.0, 0.0, 0.5, 0.5), (0.5, 0.5, 1.0, 1.0)]
    outcome = Execution(
        id="q", program="exist(find[dog])", answer=True, proposals=[boxes],
        modules=[NodeOutput(index=0, module="exist", value=True), output],
    )  # fmt: skip
    steps = list_steps(outcome, item)
    assert steps is not None
    assert steps[0].boxes == [(0, 0.0, 0.0, 0.5, 0.5, 0.9)]
    assert steps[1].value is True
