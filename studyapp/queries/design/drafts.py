"""Reads of a study's draft: definition, edited draft and preview."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from django.conf import settings
from django.db.models import Q, QuerySet
from django.utils import timezone
from pydantic import ValidationError

from accounts.models import User, Workspace
from analysis.scores import hotpotqa
from foundation.translated_messages import translate_error, translate_text
from predictions.models import Dataset, Prediction, PredictionRun, Question, System
from predictions.queries.data import read_dataset_names
from predictions.queries.predictions import find_latest_run
from studyapp.definition.frozen.freezing import FrozenStudy
from studyapp.definition.schema import StudyDefinition
from studyapp.errors import StudyRefused
from studyapp.models import DraftRevision, Study
from studyapp.queries.access import can_choose_data, list_study_data
from studyapp.queries.design.designs import build_design
from studyapp.rules.launch_checks import launch_refusals
from studyapp.studio import sample
from studyapp.studio.drafts import Draft, Problem, build_stored_draft, find_problems, open_draft, parse_draft
from studyapp.studio.forms import KnownNames


def read_definition(study: Study) -> StudyDefinition:
    """Return the draft as a definition.

    Raises:
        StudyRefused: it is not a valid definition.
    """
    try:
        return StudyDefinition.model_validate(study.definition)
    except ValidationError as error:
        raise StudyRefused(
            (),
            "study %(study)r has no definition that can be launched; complete it in the studio, or "
            "give it one with create_study",
            study=study.slug,
        ) from error


@dataclass(frozen=True)
class Edited:
    """A draft as the studio edits it.

    ``number`` is its revision, 0 if it is not one yet.
    """

    number: int
    draft: Draft


def read_current_draft(study: Study) -> Edited:
    """Return the current revision, or the definition that replaced it.

    The study may have been given another definition outside the studio.
    """
    revision = find_current_revision(study)
    if revision is not None and build_stored_draft(revision.content) == study.definition:
        return Edited(revision.number, revision.content)
    return Edited(0, open_draft(study.definition))


def find_current_revision(study: Study) -> DraftRevision | None:
    """Return the current revision of a draft, if it has one."""
    number = study.draft_number
    return None if number is None else study.revisions.filter(number=number).first()


def find_undoable_revision(study: Study, now: Edited) -> DraftRevision | None:
    """Return the revision that undoing goes back to; None if there is none."""
    revision = find_current_revision(study) if now.number else None
    if revision is None or revision.before is None:
        return None
    return study.revisions.filter(number=revision.before).first()


def find_redoable_revision(study: Study, now: Edited) -> DraftRevision | None:
    """Return the newest revision that was made from the one that counts."""
    if not now.number:
        return None
    return study.revisions.filter(before=now.number).order_by("-number").first()


def list_revisions(study: Study) -> QuerySet[DraftRevision]:
    """Return the revisions without their content, newest first."""
    return study.revisions.defer("content").select_related("made_by").order_by("-number")


def list_dataset_names(workspaces: Sequence[Workspace]) -> dict[Workspace, list[str]]:
    """Return the names of the datasets of workspaces, each in order."""
    names: dict[int, list[str]] = {workspace.pk: [] for workspace in workspaces}
    for pk, name in (
        Dataset.objects.filter(workspace__in=workspaces).order_by("name").values_list("workspace", "name")
    ):
        names[pk].append(name)
    return {workspace: names[workspace.pk] for workspace in workspaces}


def list_systems_on_dataset(dataset: str, workspace: Workspace) -> list[str]:
    """Return the systems with finished predictions on a dataset, by name."""
    done = PredictionRun.objects.filter(
        status=PredictionRun.Status.DONE, dataset__workspace=workspace, dataset__name=dataset
    )
    systems = System.objects.filter(pk__in=done.values("system")).order_by("name")
    return list(systems.values_list("name", flat=True))


def list_usable_names(draft: Draft, study: Study, by: User) -> KnownNames:
    """Return the names that a draft of a study can refer to.

    Systems are those with finished predictions on the dataset. A person to whom only the study is shared gets
    the names that it uses.
    """
    dataset = str(draft.get("dataset", ""))
    datasets, systems = read_dataset_names(study.workspace), list_systems_on_dataset(dataset, study.workspace)
    if not can_choose_data(by, study):
        used = list_study_data(study)
        datasets = [name for name in datasets if (name, None) in used]
        systems = [name for name in systems if (dataset, name) in used]
    return KnownNames(
        datasets=datasets,
        systems=systems,
        languages=[(code, str(name)) for code, name in settings.LANGUAGES],
    )


@dataclass(frozen=True)
class Preview:
    """The preview of a draft.

    ``problems`` prevent a launch: those of the definition itself, else what it refers to and is missing.
    ``content`` is what participants would see; ``made_up`` is the reason for a made-up item, if there is
    one. Both are in the active language.
    """

    problems: list[Problem]
    content: FrozenStudy
    made_up: str = ""


def preview_draft(draft: Draft, workspace: Workspace) -> Preview:
    """Return the preview of a draft: what a launch would freeze now."""
    problems_found = [
        Problem(problem.location, translate_text(problem.message)) for problem in find_problems(draft)
    ]
    definition = sample.build_valid_part(draft)
    is_valid = not problems_found
    if is_valid:
        refusals = launch_refusals(definition, timezone.localdate())
        problems_found = [Problem(refusal.location, translate_text(refusal.message)) for refusal in refusals]
    try:
        return Preview(problems_found, build_design(definition, workspace).content)
    except StudyRefused as error:
        refused = Problem(error.location, translate_error(error))
        return Preview(
            [*problems_found, refused] if is_valid else problems_found,
            sample.build_content(definition),
            translate_error(error),
        )


@dataclass(frozen=True)
class Candidate:
    """A question that may be an item.

    ``right`` says of each system whether its answer matches.
    """

    external_id: str
    text: str
    answer: str
    right: list[tuple[str, bool | None]]


def search_candidates(
    dataset: Dataset | None, systems: Sequence[str], wanted: str, limit: int
) -> tuple[list[Candidate], int]:
    """Return matching questions of a dataset, and the number of all matches.

    Every word must occur in the text or answer, or be the ID.
    """
    rows = Question.objects.filter(dataset=dataset).order_by("pk")
    for word in wanted.split():
        rows = rows.filter(Q(external_id=word) | Q(text__icontains=word) | Q(answer__icontains=word))
    return _build_candidates(list(rows[:limit]), dataset, systems), rows.count()


def draw_items(draft: Draft, workspace: Workspace) -> list[Candidate]:
    """Return the items that a launch would take now.

    Raises:
        StudyRefused: the draft is not complete.
    """
    definition = parse_draft(draft)
    if definition is None:
        raise StudyRefused((), "the draft is not complete yet")
    systems = [system for condition in definition.conditions if (system := condition.system) is not None]
    planned = build_design(definition, workspace)
    return _build_candidates(planned.questions, planned.dataset, list(dict.fromkeys(systems)))


def find_candidates(dataset: Dataset | None, systems: Sequence[str], ids: Sequence[str]) -> list[Candidate]:
    """Return the questions of these IDs in order, without unknown ones."""
    questions = Question.objects.filter(dataset=dataset, external_id__in=ids)
    by_id = {question.external_id: question for question in questions}
    return _build_candidates(
        [by_id[external_id] for external_id in ids if external_id in by_id], dataset, systems
    )


def _build_candidates(
    questions: Sequence[Question], dataset: Dataset | None, systems: Sequence[str]
) -> list[Candidate]:
    """Return the questions with the answers of systems.

    Each system's latest run is read once.
    """
    answers: dict[str, dict[int, str]] = {}
    for system in systems:
        run = find_latest_run(dataset, system) if dataset else None
        rows = (
            Prediction.objects.filter(run=run, question__in=questions) if run else Prediction.objects.none()
        )
        answers[system] = dict(rows.values_list("question_id", "answer"))
    return [
        Candidate(
            question.external_id,
            question.text,
            question.answer,
            [(system, _is_right(question, of.get(question.pk))) for system, of in answers.items()],
        )
        for question in questions
    ]


def _is_right(question: Question, answer: str | None) -> bool | None:
    return None if answer is None else hotpotqa.exact_match(question.answer, answer)


def count_correct(items: Sequence[Candidate]) -> list[tuple[str, int]]:
    """Count the items that each system answers correctly, by exact match."""
    counts: Counter[str] = Counter()
    for item in items:
        for system, is_right in item.right:
            counts[system] += is_right is True
    return list(counts.items())
