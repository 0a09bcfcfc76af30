"""Import a study that was run and released elsewhere, closed and complete."""

from django.db import transaction

from accounts.models import User, Workspace
from analysis.io.schuff2020_release import GROUND_TRUTH, Release
from analysis.reproductions.schuff2020_bundle import derive_public_id
from foundation.errors import Conflict
from predictions.models import System
from studyapp.actions import events
from studyapp.actions.conduct import recount
from studyapp.models import (
    Condition,
    Item,
    Mode,
    Outcome,
    Participant,
    Stimulus,
    Study,
    StudyVersion,
    SurveyResponse,
    Trial,
)
from studyapp.rules.schuff2020_release import build_frozen_study, build_published_facts

# Every completed participant has a code; these had one of another site, which was not released.
_CODE = "released"


@transaction.atomic
def import_released_study(
    *, released: Release, slug: str, workspace: Workspace, by: User | None
) -> tuple[Study, bool]:
    """Store a released study; return it and whether it is new.

    Nobody can enter it: it is closed, and so are its conditions.

    Raises:
        Conflict: the name belongs to another study, or to other data of this one.
    """
    study = Study.objects.select_for_update(no_key=True).filter(slug=slug).first()
    if study is not None:
        _check_same(study, released, workspace)
        return study, False
    content = build_frozen_study(released)
    study = Study.objects.create(
        workspace=workspace,
        slug=slug,
        title=content.title,
        status=Study.Status.CLOSED,
        definition={},
        created_by=by,
    )
    version = StudyVersion.objects.create(
        study=study,
        number=1,
        hash=content.hash(),
        frozen=content.canonical(),
        published=build_published_facts(released),
        frozen_by=by,
    )
    _store_participants(released, version, _store_items(released, version), _store_conditions(version))
    events.record(
        kind="results_imported",
        study=study,
        by=by,
        data={"participants": len(released.participants), "content_sha256": released.digest},
    )
    return study, True


def _check_same(study: Study, released: Release, workspace: Workspace) -> None:
    stored = [(version.published or {}).get("content_sha256") for version in study.versions.all()]
    is_here = study.workspace_id == workspace.pk
    if stored != [released.digest] or not is_here:
        what = "other data of the released study" if any(stored) and is_here else "another study"
        raise Conflict(f"{study.slug!r} is the name of {what}; nothing was stored. Choose a name with --name")


def _store_items(released: Release, version: StudyVersion) -> dict[str, Item]:
    items = Item.objects.bulk_create(
        Item(version=version, position=position, external_id=item_id)
        for position, item_id in enumerate(released.item_ids, start=1)
    )
    return {item.external_id: item for item in items}


def _store_conditions(version: StudyVersion) -> dict[str, Condition]:
    """Create the closed conditions, and a stimulus without content per item."""
    conditions = Condition.objects.bulk_create(
        Condition(
            version=version,
            position=position,
            name=frozen["name"],
            label=frozen["label"],
            system=None
            if frozen["name"] == GROUND_TRUTH
            else System.objects.get_or_create(name=frozen["name"])[0],
            is_open=False,
        )
        for position, frozen in enumerate(version.frozen["conditions"], start=1)
    )
    Stimulus.objects.bulk_create(
        Stimulus(condition=condition, item=item) for condition in conditions for item in version.items.all()
    )
    return {condition.name: condition for condition in conditions}


def _store_participants(
    released: Release,
    version: StudyVersion,
    items: dict[str, Item],
    conditions: dict[str, Condition],
) -> None:
    """Create participants with their pages.

    The only duration in the file was measured by the browser.
    """
    participants = Participant.objects.bulk_create(
        Participant(
            version=version,
            public_id=derive_public_id(person, version.study.slug),
            mode=Mode.LIVE,
            status=Participant.Status.COMPLETED,
            outcome=Outcome.DONE,
            group=person.condition,
            condition=conditions[person.condition],
            items_submitted=len(person.per_question_ratings.question_ids),
            completion_code=_CODE,
        )
        for person in released.participants
    )
    pairs = list(zip(participants, released.participants, strict=True))
    Trial.objects.bulk_create(
        Trial(
            participant=participant,
            item=items[item_id],
            condition=conditions[person.condition],
            position=position,
            client_total_ms=time,
            answers=answers,
        )
        for participant, person in pairs
        for position, (item_id, time, answers) in enumerate(person.per_question_ratings.trials(), start=1)
    )
    recount(version.participants.all())
    SurveyResponse.objects.bulk_create(
        SurveyResponse(participant=participant, answers=person.post_questionnaire_ratings.answers())
        for participant, person in pairs
    )
