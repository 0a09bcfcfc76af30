"""Reads of running studies: a participant's page and the frozen content."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache, wraps
from typing import Any, Concatenate, Literal, ParamSpec, TypeVar

from django.db.models import Q

from foundation.database.prepared_queries import Prepared, make_slot
from foundation.errors import NotFound
from foundation.messages import say
from studyapp.definition.checks import FrozenAttention
from studyapp.definition.frozen.freezing import FrozenItem, FrozenStudy, hash_canonical
from studyapp.errors import StudyappError
from studyapp.link_tokens import TRIAL_COLUMNS
from studyapp.models import (
    Condition,
    Item,
    Participant,
    Stage,
    StageResponse,
    Stimulus,
    Study,
    StudyVersion,
    SurveyResponse,
    Trial,
)

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
_OfVersion = Callable[Concatenate[StudyVersion, Arguments], Result]


class AlteredVersion(StudyappError):
    """The stored content is no longer what a launch froze."""

    status = 409


@dataclass(frozen=True)
class CurrentPage:
    """The one page that a participant may see now.

    ``trial`` (with its item) is set for "item", ``survey`` for "survey", ``stage`` for "stage"; "study" sends
    on who went on or was deleted while the page was looked for. ``items`` is how many pages with items the
    study has, attention items included; ``practice`` how many come before.
    """

    kind: Literal["stage", "item", "survey", "done", "study"]
    items: int
    practice: int = 0
    trial: Trial | None = None
    survey: SurveyResponse | None = None
    stage: StageResponse | None = None


_NEXT_TRIAL = Prepared(
    lambda: (
        Trial.objects.filter(participant=make_slot("participant", Participant), answers__isnull=True)
        .select_related("item")
        .only(*TRIAL_COLUMNS)
        .order_by("position")[:1]
    )
)


def find_current_page(participant: Participant) -> CurrentPage:
    """Find the page of a participant: stage, next item, survey or end.

    This takes one query for a stage or an item, two for the survey, none at the end, once the frozen version
    is cached; one less the first time if the trial was read with the participant. If another tab went on in
    the meantime, the page is looked up again.
    """
    page = _find_page(participant)
    if page is None and _read_way(participant):
        page = _find_page(participant)
    return page or CurrentPage("study", load_frozen_study(participant.version).pages)


def _find_page(participant: Participant) -> CurrentPage | None:
    """Return the page of a participant as read before; None if it is gone."""
    content = load_frozen_study(participant.version)
    items, practice = content.pages, len(content.practice)
    if participant.status != Participant.Status.ACTIVE:
        return CurrentPage("done", items)
    if participant.stage != Stage.ITEMS:
        stages = StageResponse.objects.filter(participant=participant, stage=participant.stage)
        stage = stages.filter(answers__isnull=True).first()
        if stage is None:
            return None
        stage.participant = participant
        return CurrentPage("stage", items, practice, stage=stage)
    trials, participant.next_trials = participant.next_trials, None  # once only: another tab may go on
    if trials is None:
        trials = _NEXT_TRIAL.all(participant=participant.pk)
    for trial in trials:
        trial.participant = participant
        return CurrentPage("item", items, practice, trial=trial)
    survey = SurveyResponse.objects.filter(participant=participant).first()
    if survey is None:
        return None
    survey.participant = participant
    return CurrentPage("survey", items, practice, survey=survey)


def _read_way(participant: Participant) -> bool:
    """Reload the progress of a participant.

    Returns False if the participant was deleted.
    """
    try:
        participant.refresh_from_db(fields=["status", "stage", "outcome", "group", "completion_code"])
    except Participant.DoesNotExist:
        return False
    return True


def cache_per_version(
    most: int,
) -> Callable[[_OfVersion[Arguments, Result]], _OfVersion[Arguments, Result]]:
    """Keep the ``most`` latest results of a function of a version in memory.

    The hash is the key: what was hashed cannot change. The function gets a version with key and hash
    alone.
    """

    def decorate(function: _OfVersion[Arguments, Result]) -> _OfVersion[Arguments, Result]:
        @lru_cache(maxsize=most)
        def call_cached(
            key: int, version_hash: str, *args: Arguments.args, **kwargs: Arguments.kwargs
        ) -> Result:
            return function(StudyVersion(pk=key, hash=version_hash), *args, **kwargs)

        @wraps(function)
        def call_with_version(
            version: StudyVersion, *args: Arguments.args, **kwargs: Arguments.kwargs
        ) -> Result:
            return call_cached(version.pk, version.hash, *args, **kwargs)  # type: ignore[arg-type]

        return call_with_version

    return decorate


@cache_per_version(64)
def load_frozen_study(version: StudyVersion) -> FrozenStudy:
    """Return the content of a version."""
    return FrozenStudy.model_validate(
        StudyVersion.objects.values_list("frozen", flat=True).get(pk=version.pk)
    )


def find_study_slug(version_pk: int) -> str:
    """Return the name of a version's study."""
    return StudyVersion.objects.values_list("study__slug", flat=True).get(pk=version_pk)


def find_image_slug(version: StudyVersion) -> str:
    """Return the study in the addresses of images; empty without any."""
    return find_study_slug(version.pk) if list_image_paths(version) else ""


@cache_per_version(128)
def list_image_paths(version: StudyVersion) -> frozenset[str]:
    """Return the paths of a version's images in the image folder."""
    content = load_frozen_study(version)
    of_items = (image.path for item in (*content.items, *content.practice) for image in item.images)
    return frozenset((*of_items, *(question.image.path for question in content.asked if question.image)))


@cache_per_version(128)
def load_translated_study(version: StudyVersion, language: str) -> FrozenStudy:
    """Return the content of a version in one of its languages.

    An empty name is the study's own language.
    """
    return load_frozen_study(version).translate_into(language)


@cache_per_version(128)
def map_condition_names(version: StudyVersion) -> Mapping[int, str]:
    """Return the names of the conditions of a version by key."""
    return dict(Condition.objects.filter(version=version).values_list("pk", "name"))


@cache_per_version(128)
def map_item_keys(version: StudyVersion) -> Mapping[str, int]:
    """Return the keys of the rows of a version's items, by the items' ids."""
    return dict(Item.objects.filter(version=version).values_list("external_id", "pk"))


def find_study(slug: str) -> Study:
    """Return a study.

    Raises NotFound, which lists those there are.
    """
    try:
        return Study.objects.get(slug=slug)
    except Study.DoesNotExist:
        names = ", ".join(Study.objects.order_by("slug").values_list("slug", flat=True))
        hint = f"known studies: {names}" if names else "no study exists yet; create one with create_study"
        raise NotFound(f"unknown study {slug!r}; {hint}") from None


def find_latest_version(study: Study) -> StudyVersion | None:
    """Return the newest version without its frozen content.

    Returns None before the first launch.
    """
    version = StudyVersion.objects.filter(study=study.pk).defer("frozen").order_by("-number").first()
    if version is not None:
        version.study = study
    return version


def name_trial_conditions(trial: Trial) -> tuple[str, ...]:
    """Return the conditions of a trial: one, two side by side, or none."""
    keys = (trial.condition_id, trial.other_condition_id)
    return tuple(map_condition_names(trial.participant.version)[key] for key in keys if key is not None)


def match_counted_participants(stale_after_minutes: float | None, now: datetime) -> Q:
    """Return the filter of participants who count against a quota.

    They completed, or they are active, were seen lately, and have not returned their submission.
    """
    active = Q(status=Participant.Status.ACTIVE, returned_at__isnull=True)
    if stale_after_minutes is not None:
        active &= Q(last_seen_at__gte=now - timedelta(minutes=stale_after_minutes))
    return active | Q(status=Participant.Status.COMPLETED)


def verify_version(version: StudyVersion) -> None:
    """Verify that hash, items and stimuli of a version are as frozen.

    Raises:
        AlteredVersion: the database was changed from outside; the message names what differs.
    """
    if hash_canonical(version.frozen) != version.hash:
        raise AlteredVersion(
            say(
                "%(version)s: the frozen content does not give the hash %(hash)s",
                version=version,
                hash=version.hash,
            )
        )
    content = FrozenStudy.model_validate(version.frozen)
    items = {
        item.external_id: (item.text, item.gold_answer, _as_lists(item.context))
        for item in Item.objects.filter(version=version)
    }
    rows: list[FrozenItem | FrozenAttention] = [*content.items, *content.practice, *content.attention]
    for row in rows:
        text = row.text if isinstance(row, FrozenAttention) else row.question
        if items.pop(row.id, None) != (text, row.gold_answer, _as_lists(row.context)):
            raise AlteredVersion(
                say("%(version)s: item %(id)r differs from what was frozen", version=version, id=row.id)
            )
    if items:
        raise AlteredVersion(
            say("%(version)s: item %(id)r was added after the launch", version=version, id=min(items))
        )
    _verify_stimuli(version, content)


def _verify_stimuli(version: StudyVersion, content: FrozenStudy) -> None:
    rows = Stimulus.objects.filter(condition__version=version)
    stored = {
        (condition, item): (answer, _as_lists(facts))
        for condition, item, answer, facts in rows.values_list(
            "condition__name", "item__external_id", "shown_answer", "facts"
        )
    }
    expected = {
        (condition.name, item): (shown.answer, _as_lists(shown.facts))
        for condition in content.conditions
        for item, shown in condition.shown.items()
    }
    for key in sorted(stored.keys() | expected.keys()):
        if key not in stored or key not in expected or stored[key] != expected[key]:
            raise AlteredVersion(
                say(
                    "%(version)s: what %(condition)r shows for %(item)r differs from what was frozen",
                    version=version,
                    condition=key[0],
                    item=key[1],
                )
            )


def _as_lists(value: Any) -> Any:
    """Return a value with lists for tuples, as JSON gives them."""
    return [_as_lists(part) for part in value] if isinstance(value, list | tuple) else value
