"""Reads of running studies: the page a participant is on, and the frozen content behind it."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from studyapp.freezing import FrozenStudy
from studyapp.models import Participant, Study, StudyVersion, SurveyResponse, Trial


@dataclass(frozen=True)
class CurrentPage:
    """The one page that a participant may see now.

    ``trial`` (with its item) is set for "item", ``survey`` for "survey". ``items`` is how many items the
    study has.
    """

    kind: Literal["item", "survey", "done"]
    items: int
    trial: Trial | None = None
    survey: SurveyResponse | None = None


def current_page(participant: Participant) -> CurrentPage:
    """Find the page of a participant: the first item not submitted, then the survey, then the end.

    One query for an item, two for the survey, none at the end, once the frozen version is in memory.
    """
    items = len(frozen(participant.version).items)
    if participant.status != Participant.Status.ACTIVE:
        return CurrentPage("done", items)
    trial = (
        Trial.objects.filter(participant=participant, answers__isnull=True)
        .select_related("item")
        .order_by("position")
        .first()
    )
    if trial is not None:
        trial.participant = participant
        return CurrentPage("item", items, trial=trial)
    survey = SurveyResponse.objects.get(participant=participant)
    survey.participant = participant
    return CurrentPage("survey", items, survey=survey)


def frozen(version: StudyVersion) -> FrozenStudy:
    """The content of a version. Kept in memory by its hash: what was hashed cannot change."""
    return _frozen(version.hash, version.pk)


def latest_version(study: Study) -> StudyVersion | None:
    """The version that newcomers get, without its frozen content; None before the first launch."""
    return study.versions.defer("frozen").order_by("-number").first()


@lru_cache(maxsize=64)
def _frozen(version_hash: str, pk: int) -> FrozenStudy:
    return FrozenStudy.model_validate(StudyVersion.objects.values_list("frozen", flat=True).get(pk=pk))
