"""Valid objects with no arguments, for the tests of the study app.

The program's actions do what people do in it, so that a study made here is a real one.
"""

import tempfile
import zipfile
from itertools import count
from pathlib import Path
from typing import Any

from django.utils import timezone

from accounts.models import Role, User, Workspace
from jobs.actions.jobs import create_job
from jobs.models import Job
from predictions.models import Dataset, Prediction, PredictionRun, Question, System
from studyapp.actions.links import create_link
from studyapp.actions.pages import (
    show_stage,
    show_survey,
    show_trial,
    submit_stage,
    submit_survey,
    submit_trial,
)
from studyapp.actions.participants import consent
from studyapp.actions.reports import keep_report
from studyapp.actions.studies import accept_check, create_study, launch_study
from studyapp.definition.definition_file import load_definition
from studyapp.definition.questions.question import Answer
from studyapp.definition.schema import StudyDefinition
from studyapp.exports.report_summary import Summary
from studyapp.models import EntryLink, Participant, Report, Study, StudyVersion, Trial
from studyapp.queries.bots import build_study_plan
from studyapp.queries.running.results import read_data_state
from studyapp.queries.studies import find_current_page
from studyapp.rules.page_timing import PageTiming
from tests import workspaces
from tests.paths import EXAMPLES

_numbers = count(1)

# Decisions to launch although checks are open, with a reason.
ACCEPTED = {"judging": "a study of the tests", "rehearsal": "a study of the tests"}
# The same for the command.
ACCEPT = tuple(part for check, reason in ACCEPTED.items() for part in ("--accept", f"{check}={reason}"))

ITEM_ANSWERS: dict[str, Answer] = {
    "rated_correct": True,
    "known_before": False,
    "certainty": 4,
    "helpfulness": 3,
}
SURVEY_ANSWERS: dict[str, Answer] = {
    "trust": 4,
    "relevant_information": 5,
    "irrelevant_information": 2,
    "satisfaction": 4,
}
CONTEXT = [
    ["The Lost Harbour", ["The Lost Harbour is a film of 1987.", "It was directed by Ada Brenn."]],
    ["Ada Brenn", ["Ada Brenn was born in Kolwen.", "She made four films."]],
    ["Kolwen", ["Kolwen is a town by the sea."]],
]


def make_user(role: Role | None = Role.OWNER, *, workspace: Workspace | None = None) -> User:
    """Return a user with a role in a workspace.

    The workspace is that of the tests by default.
    """
    user = User.objects.create_user(username=f"user{next(_numbers)}")
    return workspaces.give(user, *([role] if role else []), workspace=workspace)


def make_workspace() -> Workspace:
    """Another workspace than the one of the tests."""
    number = next(_numbers)
    return Workspace.objects.create(slug=f"workspace{number}", name=f"Workspace {number}")


def make_dataset(
    *, questions: int = 6, name: str | None = None, workspace: Workspace | None = None
) -> Dataset:
    """Return a dataset with the questions q1, q2, …

    Each has one gold fact in each of two articles, out of three.
    """
    dataset = Dataset.objects.create(
        workspace=workspace or workspaces.main(),
        name=name or f"dataset{next(_numbers)}",
        source_format="hotpot",
        question_count=questions,
    )
    Question.objects.bulk_create(
        Question(
            dataset=dataset,
            external_id=f"q{number}",
            text=f"Where was the director of film {number} born?",
            answer=f"Kolwen {number}",
            kind="bridge",
            level="easy",
            context=CONTEXT,
            supporting_facts=[["The Lost Harbour", 1], ["Ada Brenn", 0]],
        )
        for number in range(1, questions + 1)
    )
    return dataset


def make_run(
    *, dataset: Dataset, system: str | None = None, revision: str = "r1", right: int = 2
) -> PredictionRun:
    """Return a finished run over the whole dataset.

    Of every ``right`` answers one is wrong.
    """
    run = PredictionRun.objects.create(
        dataset=dataset,
        system=System.objects.get_or_create(name=system or f"system{next(_numbers)}")[0],
        revision=revision,
        schema_version=1,
        source=PredictionRun.Source.SERVER,
        status=PredictionRun.Status.DONE,
        finished_at=timezone.now(),
    )
    Prediction.objects.bulk_create(
        Prediction(
            run=run,
            question=question,
            answer="Elsewhere" if number % right == 0 else question.answer,
            facts=[["The Lost Harbour", 1]],
        )
        for number, question in enumerate(dataset.questions.all(), start=1)
    )
    return run


def make_definition(*, workspace: Workspace | None = None, **changes: Any) -> StudyDefinition:
    """Return a definition over a made dataset, changed by keyword.

    `conditions=2` and `items=3` are numbers.
    """
    conditions, items = changes.pop("conditions", 2), changes.pop("items", 3)
    if isinstance(items, int):
        items = {"count": items, "seed": 1}
    questions = items.get("count", 0) + 3 if isinstance(items, dict) else 6
    if isinstance(conditions, int):
        workspace = workspace or workspaces.main()
        dataset = workspace.datasets.get(name=changes["dataset"]) if "dataset" in changes else None
        dataset = dataset or make_dataset(questions=questions, workspace=workspace)
        changes["dataset"] = dataset.name
        runs = [make_run(dataset=dataset) for _ in range(conditions - 1)]
        conditions = [*({"system": run.system.name} for run in runs), {"ground_truth": True}]
    return StudyDefinition.model_validate(
        {
            "study": f"study{next(_numbers)}",
            "title": "Do the explanations help?",
            "conditions": conditions,
            "items": items,
            "consent": "You take part in a study of explanations.\n\nYou may stop at any time.",
            "instructions": "Judge each answer.",
            **changes,
        }
    )


def make_study(
    *, launched: bool = True, by: User | None = None, workspace: Workspace | None = None, **changes: Any
) -> Study:
    """Return a study, launched by default.

    It has `conditions` conditions, the last of them the ground truth.
    """
    definition = make_definition(workspace=workspace, **changes)
    return make_study_of(definition, launched=launched, by=by, workspace=workspace)


def make_study_of(
    definition: StudyDefinition,
    *,
    launched: bool = True,
    by: User | None = None,
    workspace: Workspace | None = None,
) -> Study:
    """Return the study of a definition.

    The changed definition of a study gives its next version.
    """
    study = create_study(workspace=workspace or workspaces.main(), definition=definition, by=by)
    if launched:
        launch(study, by=by)
        study.refresh_from_db()
    return study


def launch(study: Study, *, by: User | None = None) -> StudyVersion:
    """Launch a study by decision, without a rehearsal.

    Nobody judged its near-misses.
    """
    return launch_study(study=study, by=by, accept=ACCEPTED)


def accept_checks(study: Study, *, by: User | None = None) -> None:
    """Record the decisions that `launch` takes, so that a page can launch."""
    for check, reason in ACCEPTED.items():
        accept_check(study=study, check=check, reason=reason, by=by)


ADVICE = [{"advice": False}, {"system": "helper", "explanation": "none"}, {"system": "helper"}]


def make_advice(*, launched: bool = True, task: Any = "advice", **changes: Any) -> Study:
    """Return a study of advice from a system with every other answer wrong.

    q2 asks for yes or no.
    """
    dataset = make_dataset(questions=4)
    dataset.questions.filter(external_id="q2").update(answer="yes", text="Was film 2 made in Kolwen?")
    make_run(dataset=dataset, system="helper").predictions.filter(question__external_id="q2").update(
        answer="no"
    )
    changes = {"conditions": ADVICE, "items": {"ids": ["q1", "q2"]}, **changes}
    return make_study(launched=launched, dataset=dataset.name, task=task, **changes)


def make_changed(dataset: Dataset, *, name: str | None = None) -> Dataset:
    """Return changed items of a dataset.

    Their questions are about a band in place of a film, and the answer is "the sea".
    """
    changed = make_dataset(questions=0, name=name, workspace=dataset.workspace)
    Question.objects.bulk_create(
        Question(
            dataset=changed,
            external_id=f"{row.external_id}:1",
            source_item_id=row.external_id,
            kind="comparison",
            text=row.text.replace("film", "band"),
            answer="the sea",
            context=row.context,
        )
        for row in dataset.questions.all()
    )
    Dataset.objects.filter(pk=changed.pk).update(question_count=changed.questions.count())
    return changed


def make_counterfactual(*, launched: bool = True, task: Any = None, **changes: Any) -> Study:
    """Return a counterfactual study.

    Its system changes its answer to every second item.
    """
    dataset = make_dataset(questions=4)
    make_run(dataset=dataset, system="helper")
    changed = make_changed(dataset)
    make_run(dataset=changed, system="helper")
    changes = {"conditions": ADVICE[1:], "items": {"ids": ["q1", "q2"]}, **changes}
    task = {"kind": "counterfactual", "source": changed.name, **(task or {})}
    return make_study(launched=launched, dataset=dataset.name, task=task, **changes)


def make_simulation(*, launched: bool = True, task: Any = None, **changes: Any) -> Study:
    """Return a simulation with two items in each block.

    The first system is wrong on every second question.
    """
    dataset = make_dataset(questions=12)
    changes = {"conditions": ADVICE[1:], "items": {"count": 6, "seed": 1}, **changes}
    for number, system in enumerate(dict.fromkeys(row["system"] for row in changes["conditions"])):
        make_run(dataset=dataset, system=system, right=number + 2)
    task = {"kind": "simulation", "blocks": {"before": 2, "learning": 2, "after": 2}, **(task or {})}
    return make_study(launched=launched, dataset=dataset.name, task=task, **changes)


def make_preference(
    *, launched: bool = True, task: Any = None, systems: int = 3, items: int = 6, **changes: Any
) -> Study:
    """Return a study that compares the explanations of systems.

    These are named s1, s2, …; each has facts of its own.
    """
    dataset = make_dataset(questions=items + 2)
    facts = [[title, number] for title, sentences in CONTEXT for number in range(len(sentences))]
    for number in range(systems):
        run = make_run(dataset=dataset, system=f"s{number + 1}")
        run.predictions.update(facts=[facts[number % len(facts)]])
    changes = {
        "conditions": [{"system": f"s{number + 1}"} for number in range(systems)],
        "items": {"ids": [f"q{number + 1}" for number in range(items)]},
        **changes,
    }
    task = {"kind": "preference", **(task or {})}
    return make_study(launched=launched, dataset=dataset.name, task=task, **changes)


def make_link(*, study: Study | None = None, **options: Any) -> EntryLink:
    return make_link_and_token(study=study, **options)[0]


def make_link_and_token(*, study: Study | None = None, **options: Any) -> tuple[EntryLink, str]:
    return create_link(study=study or make_study(), by=None, **options)


def make_participant(
    *, study: Study | None = None, link: EntryLink | None = None, items: int = 0, completed: bool = False
) -> Participant:
    """Return a participant who consented and submitted ``items`` items.

    With ``completed``, the participant submitted everything.
    """
    participant = consent(link=link or make_link(study=study))
    if completed:
        items = participant.trials.count()
    for _ in range(items):
        answer_item(participant)
    if completed:
        answer_survey(participant)
    participant.refresh_from_db()
    return participant


def answer_item(participant: Participant, **answers: Answer) -> Trial:
    """Show and submit the current item of a participant.

    ``answers`` take the place of those in `ITEM_ANSWERS`.
    """
    trial = find_current_page(participant).trial
    assert trial is not None
    show_trial(trial=trial)
    assert submit_trial(
        trial=trial, answers={**ITEM_ANSWERS, **answers}, changes={"certainty": 1}, timing=PageTiming(20_000)
    )
    return trial


def answer_survey(participant: Participant) -> None:
    show_survey(participant=participant)
    assert submit_survey(participant=participant, answers=SURVEY_ANSWERS, changes={}, timing=PageTiming())


def make_report(*, study: Study, job: Job | None = None, summary: Summary | None = None) -> Report:
    """A kept report of the newest version, whose page is one word."""
    job = job or create_job(kind="report", workspace=study.workspace, by=make_user())
    with tempfile.NamedTemporaryFile(suffix=".zip") as file:
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr(f"{study.slug}-report/report.html", "<h1>Report</h1>")
            archive.writestr(f"{study.slug}-report/tables/measures.csv", "measure\n")
        return keep_report(
            job=job,
            version=study.versions.latest("number"),
            mode="live",
            seed=1,
            resamples=2000,
            data=read_data_state(study, "live"),
            summary=(summary or Summary()).model_dump(mode="json"),
            file=Path(file.name),
        )


EVERYTHING = EXAMPLES / "everything.yaml"


def make_everything(*, launched: bool = True, **changes: Any) -> Study:
    """Return the study of `docs/examples/everything.yaml`.

    It is over a made dataset, and changed by keyword.
    """
    dataset = make_dataset(questions=20)
    run = make_run(dataset=dataset, system="qi2019")
    run.predictions.update(
        fact_probabilities=[["The Lost Harbour", 0, 0.3], ["The Lost Harbour", 1, 0.9], ["Kolwen", 0, 0.01]]
    )
    written = load_definition(EVERYTHING).model_dump(mode="json")
    if "conditions" in changes:  # its plan compares the conditions that it had
        written["plan"] = None
    return make_study_of(
        StudyDefinition.model_validate(
            {**written, "study": f"study{next(_numbers)}", "dataset": dataset.name, **changes}
        ),
        launched=launched,
    )


def go_through_stages(participant: Participant) -> None:
    """Show and pass every page before the items."""
    while find_current_page(participant).stage is not None:
        pass_stage(participant)


def pass_stage(participant: Participant) -> None:
    """Show and pass the current page before the items."""
    page = find_current_page(participant).stage
    assert page is not None
    show_stage(page=page)
    answers = dict(build_study_plan(participant.version.study).heeded.get(page.stage, {}))
    assert submit_stage(page=page, answers=answers, changes={}, timing=PageTiming(9_000))
    participant.refresh_from_db()
