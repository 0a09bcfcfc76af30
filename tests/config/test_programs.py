"""Programs of an annotation project become part of a study.

They bring questions, gold and outputs, which participants see.
"""

import io
import re
from hashlib import sha256
from inspect import unwrap
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.utils import translation
from PIL import Image as Picture

from analysis.participants.bundle import load_bundle
from analysis.programs import MODULES
from annotation.actions.data import import_items
from annotation.actions.outputs import import_outputs
from annotation.actions.review import bring_gold
from annotation.content.schemas import Document, SystemRecord
from annotation.models import Project
from config.programs import build_executions, build_questions
from modelserver.wire.schema import ItemError, ModuleItem
from predictions.actions import executions as executions_of_questions
from predictions.explanations.module_words import WORDS, describe_module
from predictions.models import Prediction, Question, Score
from studyapp.definition.definition_file import load_definition
from studyapp.definition.frozen.freezing import FrozenStudy
from studyapp.errors import StudyRefused
from studyapp.models import Stimulus, Study
from studyapp.web.html.stimulus import render_stimulus_once
from tests.annotation.factories import PASSAGE, box, make_project, make_record, make_user, span
from tests.paths import EXAMPLES
from tests.studyapp import factories
from tests.studyapp.serving import no_model_server
from tests.studyapp.simulation.test_walk import build_study_plan, drive, make_bot

__all__ = ["no_model_server"]

pytestmark = pytest.mark.django_db

NEAR, FAR = [0.1, 0.1, 0.3, 0.5], [0.6, 0.6, 0.9, 0.9]
GOLD = {
    "3": {"state": "done", "objects": [box("a"), box("b", image=1)]},
    "2": {"state": "done", "objects": [{"id": "c", "ref": "a"}]},
}


@pytest.fixture
def project(tmp_path: Path, settings) -> Project:
    """Two items about images with gold, and a system's outputs for them."""
    settings.VAR_DIR = tmp_path / "var"
    for name, colour in (("left.png", "red"), ("right.png", "blue")):
        Picture.new("RGB", (40, 30), colour).save(tmp_path / name)
    project = make_project(slug="dogs")
    records = [make_record("i1", answer=False), make_record("i2")]
    import_items(records=records, project=project, image_folder=tmp_path)
    for item in project.items.all():
        bring_gold(item=item, document=Document.model_validate({"layers": GOLD}), by=make_user())
    outputs(project, "i1", True)
    outputs(project, "i2", True)
    return project


def outputs(project: Project, name: str, answer: bool, revision: str = "1") -> None:
    modules = [
        {"index": 0, "module": "equal", "value": answer}, {"index": 1, "module": "count", "value": 2},
        {"index": 2, "module": "filter", "probabilities": [0.9, 0.2, 0.7]},
        {"index": 3, "module": "find", "probabilities": [0.95, 0.6, 0.7]},
    ]  # fmt: skip
    record = SystemRecord.model_validate(
        {"id": name, "proposals": [[NEAR, FAR], [FAR]], "modules": modules, "answer": answer}
    )
    import_outputs(records=[record], project=project, system="net", revision=revision)


def brought_in(*arguments: str) -> tuple[str, str]:
    out, err = io.StringIO(), io.StringIO()
    call_command("import_programs", "dogs", "--name", "dogs-data", *arguments, stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


def made_study(**changes) -> Study:
    conditions = [
        {"system": "net", "explanation": "program"},
        {"system": "net", "explanation": "none"},
        {"ground_truth": True, "explanation": "program", "name": "gold"},
    ]
    fields = {"dataset": "dogs-data", "conditions": conditions, "items": {"ids": ["i1", "i2"]}} | changes
    return factories.make_study(**fields)


def shown(study: Study, condition: str, item: str = "i1") -> str:
    # Past the cache: versions of other tests have the same key and hash.
    return unwrap(render_stimulus_once)(study.versions.get(), condition=condition, item_id=item)


def test_it_works(project, settings) -> None:
    output, warned = brought_in()
    assert "2 questions added" in output
    assert "net@1: 2 answers with their steps, 2 of them new" in output
    assert not warned
    question = Question.objects.get(external_id="i1")
    assert (question.text, question.answer, question.context) == ("There are two black dogs.", "false", [])
    left = (Path(settings.VAR_DIR) / "images" / question.images[0]["path"]).read_bytes()
    assert sha256(left).hexdigest() in question.images[0]["path"]
    assert [(image["width"], image["name"]) for image in question.images] == [
        (40, "left.png"),
        (40, "right.png"),
    ]
    steps = Prediction.objects.get(question=question).steps
    assert [(step["module"], step["inputs"]) for step in steps] == [
        ("find", []), ("filter", [1]), ("count", [2]), ("2", []), ("equal", [3, 4]),
    ]  # fmt: skip
    assert steps[1]["boxes"] == [[0, *NEAR, 0.9], [1, *FAR, 0.7]]
    assert (steps[1]["argument"], steps[2]["value"], steps[4]["value"]) == ("black", 2, True)
    assert steps[2]["boxes"] is None
    gold = question.steps
    assert [len(step["boxes"]) for step in gold[:2]] == [2, 1]
    assert (gold[2]["value"], gold[4]["value"]) == (1, False)


def test_steps_for_each_image_have_two_values(project) -> None:
    program = "in-each-image(equal(count(find[dogs]), 1))"
    import_items(records=[make_record("i3", answer=True, program=program)], project=project)
    layers = {"3": {"state": "done", "objects": [box("a"), box("b", at=0.5), box("c", image=1)]}}
    item = project.items.get(external_id="i3")
    bring_gold(item=item, document=Document.model_validate({"layers": layers}), by=make_user())
    modules = [
        {"index": 0, "module": "in-each-image", "value": True},
        {"index": 1, "module": "equal", "values": [True, False]},
        {"index": 2, "module": "count", "values": [1.0, 2.25]},
        {"index": 3, "module": "find", "probabilities": [0.9, 0.2, 0.7]},
    ]
    record = {"id": "i3", "proposals": [[NEAR, FAR], [FAR]], "modules": modules, "answer": True}
    import_outputs(records=[SystemRecord.model_validate(record)], project=project, system="net", revision="1")
    brought_in()
    question = Question.objects.get(external_id="i3")
    for steps, counts in ((question.steps, [2, 1]), (question.predictions.get().steps, [1.0, 2.25])):
        values = {step["module"]: (step["value"], step.get("values")) for step in steps}
        assert values["count"] == (None, counts)
        assert values["find"] == (None, None)
    assert question.steps[-1]["value"] is False
    page = shown(made_study(items={"ids": ["i3"]}), "gold", "i3")
    assert "for the left image: <strong>2</strong>" in page
    assert "for the right image: <strong>1</strong>" in page


def test_the_same_again_changes_nothing(project) -> None:
    brought_in()
    output, _warned = brought_in()
    assert "0 questions added, 2 were there already" in output
    assert "0 of them new" in output


def test_a_system_gets_the_names_that_it_knows_features_by(project, monkeypatch) -> None:
    brought_in()
    sent: list[ModuleItem] = []

    def execute_items(*, items: list[ModuleItem], **_system: str) -> list[ItemError]:
        sent.extend(items)
        return [ItemError(id=item.id, error="prediction_failed", message="") for item in items]

    monkeypatch.setattr(executions_of_questions, "execute_items", execute_items)
    executions_of_questions.execute_questions(
        system="net", revision="1", questions=list(Question.objects.all())
    )
    assert [[image.name for image in item.images] for item in sent] == [["left.png", "right.png"]] * 2
    assert all(image.data for item in sent for image in item.images)


def test_questions_from_before_images_had_names_are_the_same(project) -> None:
    brought_in()
    for question in Question.objects.all():
        question.images = [
            {key: image[key] for key in ("path", "width", "height")} for image in question.images
        ]
        question.save()
    output, _warned = brought_in()
    assert "0 questions added, 2 were there already" in output


def test_the_newest_revision_counts(project) -> None:
    outputs(project, "i1", False, revision="0")
    output, _warned = brought_in("--system", "net")
    assert "net@0: 1 answers" in output
    with pytest.raises(CommandError, match="no outputs of 'other'; it has those of net"):
        brought_in("--system", "other")


def test_items_that_cannot_be_shown_are_left_out_and_told(project) -> None:
    import_items(records=[make_record("bare", answer=None)], project=project)
    images = [{"name": "gone.png"}, {"name": "left.png"}]
    import_items(records=[make_record("far", images=images)], project=project)
    questions, lacking = build_questions(project)
    assert [question.external_id for question in questions] == ["i1", "i2"]
    assert (lacking.answer, lacking.images) == (["bare"], ["far"])
    assert "lack an answer; first bare" in brought_in()[1]


def test_gold_of_some_steps_only_is_none(project) -> None:
    item = project.items.get(external_id="i2")
    layers = {"3": GOLD["3"]}
    bring_gold(item=item, document=Document.model_validate({"layers": layers}), by=make_user())
    first, second = build_questions(project)[0]
    assert first.steps is not None
    assert second.steps is None


def test_spans(settings) -> None:
    project = make_project(slug="goals", kind="spans")
    import_items(records=[make_record("s1", kind="spans")], project=project)
    item = project.items.get()
    layers = {"2": {"state": "done", "objects": [span("a", 1, 3)]}, "1": {"state": "nothing"}}
    bring_gold(item=item, document=Document.model_validate({"layers": layers}), by=make_user())
    attention = [0.0] * len(item.tokens)
    attention[1], attention[2] = 0.8, 0.2
    modules = (
        {"index": 2, "module": "find", "attention": attention},
        {"index": 0, "module": "count", "value": 2.0},
    )
    record = SystemRecord.model_validate({"id": "s1", "modules": modules, "answer": 2.0})
    import_outputs(records=[record], project=project, system="net", revision="1")
    ((question,), _lacking), (execution,) = (
        build_questions(project),
        build_executions(project, "net", "1", ["s1"]),
    )
    assert (question.answer, execution.answer) == ("1", "2")
    start, end = item.tokens[1]
    assert execution.steps[0].tokens == [(start, end, 3), (*item.tokens[2], 1)]
    assert execution.steps[1].tokens is None  # the system has no output there
    assert question.steps[0].tokens == [(start, item.tokens[2][1], 3)]
    assert question.steps[1].tokens == []
    call_command("import_programs", "goals", "--name", "goals-data", stdout=io.StringIO())
    conditions = [
        {"system": "net", "explanation": "program"},
        {"ground_truth": True, "explanation": "program"},
    ]
    study = factories.make_study(dataset="goals-data", conditions=conditions, items={"count": 1})
    page = shown(study, "net (program)", "s1")
    assert PASSAGE in page
    assert re.search(r'class="weight strong">.*kicked</mark>', page)
    assert re.search(r'class="weight weak">.*a</mark>', page)
    assert "<h3></h3>" not in page
    assert "found nothing" in shown(study, "ground truth (program)", "s1")


class TestStudy:
    def test_each_condition_shows_its_own(self, project) -> None:
        brought_in()
        study = made_study()
        page = shown(study, "net (program)")
        assert "Step 2. Keep those that match: “black”" in page
        assert 'aria-label="Left image: 1 box: 1: 90%"' in page
        assert "Step 5. Are both numbers the same?" in page
        assert "from step 3, 4" in page
        bare = shown(study, "net (no explanation)")
        assert bare.count("<svg") == 2
        assert "Step 1" not in bare
        gold = shown(study, "gold")
        assert 'aria-label="Left image: 1 box: 1"' in gold
        assert "90%" not in gold
        assert "(1: 90%; 3: 70%)" in page, "a box keeps the number of the first step"

    def test_system_correctness_is_that_of_the_answer(self, project) -> None:
        brought_in()
        study = made_study()
        rows = Stimulus.objects.filter(condition__version__study=study, condition__name="net (program)")
        assert dict(rows.values_list("item__external_id", "system_correct")) == {"i1": False, "i2": True}

    def test_what_is_shown_is_frozen(self, project) -> None:
        brought_in()
        study = made_study()
        version = study.versions.get()
        content = FrozenStudy.model_validate(version.frozen)
        assert content.hash() == version.hash
        assert len(content.items[0].images) == 2
        Prediction.objects.update(steps=None)
        Question.objects.update(images=[])
        assert "Step 5." in shown(study, "net (program)")

    def test_it_is_in_german_too(self, project) -> None:
        brought_in()
        study = made_study(language="de")
        with translation.override("de"):
            page = render_stimulus_once(
                study.versions.get(), condition="net (program)", item_id="i1", language="de"
            )
        assert "Schritt 2. Behalten, was passt: “black”" in page
        assert "<strong>wahr</strong>" in page

    def test_a_missing_image_stops_the_launch(self, project, settings) -> None:
        brought_in()
        study = made_study(launched=False)
        for file in (settings.VAR_DIR / "images").rglob("*.png"):
            file.unlink()
        with pytest.raises(StudyRefused, match="is not in the image folder"):
            factories.launch(study)

    def test_a_condition_without_steps_is_refused(self) -> None:
        dataset = factories.make_dataset()
        run = factories.make_run(dataset=dataset)
        for condition in ({"system": run.system.name}, {"ground_truth": True}):
            with pytest.raises(StudyRefused, match="has no program steps"):
                factories.make_study(
                    dataset=dataset.name, conditions=[{**condition, "explanation": "program"}]
                )

    def test_the_images_are_for_its_participants_and_staff(self, project, client) -> None:
        brought_in()
        study = made_study()
        address = re.search(r'href="(/study/[^"]+png)"', shown(study, "gold"))[1]
        assert client.get(address).status_code == 404
        client.get("/join/" + factories.make_link_and_token(study=study)[1] + "/")
        assert client.get(address).status_code == 404
        client.post(f"/study/{study.slug}/consent/", {"consent": "yes"})
        response = client.get(address)
        assert (response.status_code, response["Content-Type"]) == (200, "image/png")
        assert b"".join(response.streaming_content)[:4] == b"\x89PNG"
        assert response["Cache-Control"] == "private, max-age=86400, immutable"
        for other in (address.replace(".png", ".gif"), f"/study/{study.slug}/image/..%2F..%2Fenv"):
            assert client.get(other).status_code == 404
        client.cookies.clear()
        client.force_login(factories.make_user())
        response = client.get(address)
        assert response.status_code == 200
        assert b"".join(response.streaming_content)

    def test_bots_walk_it_and_it_is_exported(self, project, tmp_path) -> None:
        brought_in()
        study = made_study()
        _link, token = factories.make_link_and_token(study=study, mode="bot")
        plan = build_study_plan(study)
        for seed in range(3):
            assert drive(make_bot("honest", seed), f"http://testserver/join/{token}/", plan)[-1].endswith(
                "/done/"
            )
        out = tmp_path / "bundle"
        call_command("export_results", study.slug, "--out", str(out), stdout=io.StringIO())
        bundle = load_bundle(out)
        assert len(bundle.trials) == 6
        text = (out / "study_version.json").read_text()
        assert '"steps"' in text
        assert study.versions.get().frozen["items"][0]["images"][0]["path"] in text


def test_a_system_without_steps_gives_answers_only(project) -> None:
    for name in ("i1", "i2"):
        record = SystemRecord.model_validate({"id": name, "modules": (), "answer": True})
        import_outputs(records=[record], project=project, system="baseline", revision="1")
    brought_in()
    assert Prediction.objects.filter(run__system__name="baseline", steps__isnull=True).count() == 2
    made_study(conditions=[{"system": "baseline", "explanation": "none"}])
    with pytest.raises(StudyRefused, match="has no program steps"):
        made_study(conditions=[{"system": "baseline", "explanation": "program"}])


def test_another_execution_of_the_same_revision_is_refused(project) -> None:
    brought_in()
    Prediction.objects.filter(question__external_id="i1").update(answer="false")
    with pytest.raises(CommandError, match=r"i1: .* has another execution of it"):
        brought_in()


def test_every_module_has_words() -> None:
    names = {name for kind in MODULES.values() for name in kind if not name.isdecimal()}
    assert names <= WORDS.keys()
    assert describe_module("4", None) == "The number 4"
    assert describe_module("find", "dogs") == "Find: “dogs”"


def test_studies_frozen_before_are_read_and_keep_their_hash() -> None:
    version = factories.make_study().versions.get()
    assert "images" not in version.frozen["items"][0]
    assert "steps" not in next(iter(version.frozen["conditions"][0]["shown"].values()))
    assert FrozenStudy.model_validate(version.frozen).hash() == version.hash


def test_the_example_is_a_definition(project) -> None:
    brought_in()
    example = load_definition(EXAMPLES / "programs-study.yaml")
    assert [condition.explanation for condition in example.conditions] == ["program", "none", "program"]
    systems = [
        condition.model_copy(update={"system": "net"}) if condition.system else condition
        for condition in example.conditions
    ]
    items = example.items.model_copy(update={"count": 2})
    changes = {"dataset": "dogs-data", "conditions": systems, "items": items}
    study = factories.make_study_of(example.model_copy(update=changes))
    assert "Step 5." in shown(study, "steps by people")


def test_such_a_run_can_be_scored_by_its_answers(project, no_model_server) -> None:
    """A run of programs has no facts to score, and needs no server.

    No server is asked for a system that answers no questions.
    """
    brought_in()
    call_command(
        "score", "--dataset", "dogs-data", "--system", "net", stdout=io.StringIO(), stderr=io.StringIO()
    )
    score = Score.objects.get()
    assert score.values["em"] == 0.5
    assert score.values["sp_f1"] is None
