"""Reads of the draft of a study: as a definition, as the studio edits it, and what it would show."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from django.conf import settings
from django.db.models import Q, QuerySet
from pydantic import ValidationError

from analysis.scores import hotpotqa
from foundation.messages import say
from foundation.translated_messages import translated, translated_error
from predictions.models import Dataset, Prediction, PredictionRun, Question, System
from predictions.queries.predictions import latest_run
from studyapp.definition.freezing import FrozenStudy
from studyapp.definition.schema import StudyDefinition
from studyapp.models import DraftRevision, Study
from studyapp.queries.designs import StudyRefused, design
from studyapp.studio import sample
from studyapp.studio.drafts import Draft, Problem, opened, problems, stored, valid
from studyapp.studio.forms import Known


def definition_of(study: Study) -> StudyDefinition:
    """The draft as a definition. Raises StudyRefused where it is none."""
    try:
        return StudyDefinition.model_validate(study.definition)
    except ValidationError as error:
        raise StudyRefused(
            (),
            say(
                "study %(study)r has no definition that can be launched; complete it in the studio, or "
                "give it one with create_study",
                study=study.slug,
            ),
        ) from error


@dataclass(frozen=True)
class Edited:
    """A draft as the studio edits it. ``number`` is its revision, 0 where it is not one yet."""

    number: int
    draft: Draft


def edited(study: Study) -> Edited:
    """The revision that counts; where the study was given another definition since, that definition."""
    revision = current_revision(study)
    if revision is not None and stored(revision.content) == study.definition:
        return Edited(revision.number, revision.content)
    return Edited(0, opened(study.definition))


def current_revision(study: Study) -> DraftRevision | None:
    number = study.draft_number
    return None if number is None else study.revisions.filter(number=number).first()


def undoable(study: Study, now: Edited) -> DraftRevision | None:
    """The revision that undoing goes back to; None where there is none."""
    revision = current_revision(study) if now.number else None
    if revision is None or revision.before is None:
        return None
    return study.revisions.filter(number=revision.before).first()


def redoable(study: Study, now: Edited) -> DraftRevision | None:
    """The newest revision that was made from the one that counts."""
    if not now.number:
        return None
    return study.revisions.filter(before=now.number).order_by("-number").first()


def revisions(study: Study) -> QuerySet[DraftRevision]:
    """The revisions without their content, newest first."""
    return study.revisions.defer("content").select_related("made_by").order_by("-number")


def known(dataset: str) -> Known:
    """What a draft over a dataset can refer to: systems are those with finished predictions on it."""
    done = PredictionRun.objects.filter(status=PredictionRun.Status.DONE, dataset__name=dataset)
    return Known(
        datasets=list(Dataset.objects.order_by("name").values_list("name", flat=True)),
        systems=list(
            System.objects.filter(pk__in=done.values("system"))
            .order_by("name")
            .values_list("name", flat=True)
        ),
        languages=[(code, str(name)) for code, name in settings.LANGUAGES],
    )


@dataclass(frozen=True)
class Look:
    """What a draft comes to. ``problems`` keep it from being launched: what the definition says of it, else
    what it refers to and is not there. ``content`` is what participants would see; ``made_up`` says why it
    has a made-up item, where it has one. Both are told in the active language.
    """

    problems: list[Problem]
    content: FrozenStudy
    made_up: str = ""


def look(draft: Draft) -> Look:
    """What a launch would freeze now, or as much of it as can be shown."""
    found = [Problem(one.location, translated(one.message)) for one in problems(draft)]
    definition = sample.rest(draft)
    try:
        return Look(found, design(definition).content)
    except StudyRefused as error:
        refused = Problem(error.location, translated_error(error))
        return Look(found or [refused], sample.content(definition), translated_error(error))


@dataclass(frozen=True)
class Candidate:
    """A question that may be an item. ``right`` says of each system whether its answer matches."""

    external_id: str
    text: str
    answer: str
    right: list[tuple[str, bool | None]]


def candidates(dataset: str, systems: Sequence[str], wanted: str, limit: int) -> tuple[list[Candidate], int]:
    """Questions of a dataset whose id, text or answer holds some words, and how many there are in all."""
    rows = Question.objects.filter(dataset__name=dataset).order_by("pk")
    for word in wanted.split():
        rows = rows.filter(Q(external_id=word) | Q(text__icontains=word) | Q(answer__icontains=word))
    return _described(list(rows[:limit]), dataset, systems), rows.count()


def drawn(draft: Draft) -> list[Candidate]:
    """The items that a launch would take now. Raises StudyRefused where it cannot tell yet."""
    definition = valid(draft)
    if definition is None:
        raise StudyRefused((), say("the draft is not complete yet"))
    systems = [one for arm in definition.conditions if (one := arm.system) is not None]
    return _described(design(definition).questions, definition.dataset, list(dict.fromkeys(systems)))


def named(dataset: str, systems: Sequence[str], ids: Sequence[str]) -> list[Candidate]:
    """The questions of these ids, in their order; those that the dataset has not are left out."""
    found = Question.objects.filter(dataset__name=dataset, external_id__in=ids)
    by_id = {question.external_id: question for question in found}
    return _described([by_id[one] for one in ids if one in by_id], dataset, systems)


def _described(questions: Sequence[Question], dataset: str, systems: Sequence[str]) -> list[Candidate]:
    """The questions with what the systems answer. A run per system is read, and its answers at once."""
    found = Dataset.objects.filter(name=dataset).first()
    answers: dict[str, dict[int, str]] = {}
    for system in systems:
        run = latest_run(found, system) if found else None
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


def correct_counts(items: Sequence[Candidate]) -> list[tuple[str, int]]:
    """How many of the items each system answers correctly, by exact match."""
    counts: Counter[str] = Counter()
    for item in items:
        for system, is_right in item.right:
            counts[system] += is_right is True
    return list(counts.items())
