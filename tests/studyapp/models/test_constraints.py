"""Every named constraint of studies and predictions has a test.

Each is an attempt that breaks the constraint.
"""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.apps import apps
from django.db import IntegrityError, connection, transaction
from django.db.models import UniqueConstraint
from django.utils import timezone

from accounts.models import User
from predictions.models import (
    Dataset,
    Prediction,
    PredictionFailure,
    PredictionRun,
    Question,
    QuestionScore,
    ReadingInstance,
    ReadingProbe,
    ReadingRecord,
    ReducedAnswer,
    Score,
    System,
)
from studyapp.models import (
    Condition,
    DraftRevision,
    EntryLink,
    ExternalIds,
    Item,
    ItemTime,
    JudgedAnswer,
    Judgement,
    ManualExclusion,
    Participant,
    Payment,
    ProposedVerdict,
    ReceivedNotice,
    StageResponse,
    Stimulus,
    Study,
    StudyShare,
    StudyVersion,
    SurveyResponse,
    Trial,
)
from tests.studyapp import factories


def again(row: Any, **changes: Any) -> None:
    """Store a copy of a row, changed."""
    fields = {
        field.attname: getattr(row, field.attname)
        for field in row._meta.concrete_fields
        if not field.primary_key
    }
    type(row).objects.create(**{**fields, **changes})


def first(model: Any) -> Any:
    return model.objects.order_by("pk").first()


def share(role: str) -> StudyShare:
    user = first(User) or factories.make_user()
    return StudyShare.objects.create(study=first(Study), user=user, role=role)


def two_failures() -> None:
    run, question = first(PredictionRun), first(Question)
    for _ in range(2):
        PredictionFailure.objects.create(run=run, question=question, kind="k", message="m")


def item_time() -> ItemTime:
    version = first(StudyVersion)
    return ItemTime.objects.create(version=version, mode="live", group="a", tenths=3, number=1)


def reduced(digests: list[str], **fields: Any) -> None:
    for digest in digests:
        ReducedAnswer.objects.create(prediction=first(Prediction), digest=digest, **fields)


def version_again(**changes: Any) -> None:
    again(first(StudyVersion), **changes)


def submitted(model: Any, **fields: Any) -> Any:
    now = timezone.now()
    return model.objects.update(**{"shown_at": now, "submitted_at": now, "answers": {}, **fields})


def judged(**decision: Any) -> JudgedAnswer:
    return JudgedAnswer.objects.create(question=first(Question), answer="a", digest="d", **decision)


def judgements(*places: tuple[int, int]) -> None:
    """Judgements of one answer: the place, and which of two judges."""
    answer, judges = judged(), [factories.make_user(), factories.make_user()]
    for position, judge in places:
        Judgement.objects.create(judged=answer, place=position, judge=judges[judge], is_correct=True)


def settled_without_note() -> None:
    user = factories.make_user()
    judged(is_correct=True, settled_how="discussion", settled_at=timezone.now(), settled_by=user)


def before_shown() -> dict[str, Any]:
    return {"submitted_at": timezone.now() - timedelta(seconds=1)}


def came(person: str) -> ExternalIds:
    """The ids of a fresh participant of one and the same study."""
    study = first(Participant).version.study
    return ExternalIds.objects.create(
        participant=factories.make_participant(study=study),
        study=study,
        mode="live",
        platform="sona",
        person_id=person,
    )


def notice() -> ReceivedNotice:
    return ReceivedNotice.objects.create(platform="prolific", event_id="e1")


def stage_page() -> StageResponse:
    return StageResponse.objects.create(participant=first(Participant), stage="screening")


def two_proposals() -> None:
    answer, user = judged(), factories.make_user()
    for _ in range(2):
        ProposedVerdict.objects.create(judged=answer, proposed_by="m", is_correct=True, imported_by=user)


def payment(**fields: Any) -> Payment:
    participant = first(Participant)
    study = participant.version.study
    return Payment.objects.create(study=study, participant=participant, kind="approve", **fields)


def question_score() -> QuestionScore:
    score, _created = Score.objects.get_or_create(
        run=first(PredictionRun),
        defaults={"schema_version": 1, "n": 1, "values": {}, "reasons": {}, "computed_at": timezone.now()},
    )
    return QuestionScore.objects.create(score=score, question=first(Question), parts=[])


def revision(number: int, before: int | None = None) -> DraftRevision:
    study = first(StudyVersion).study
    return DraftRevision.objects.create(
        study=study, number=number, before=before, content={}, changed="texts"
    )


def instance() -> ReadingInstance:
    return ReadingInstance.objects.create(question=first(Question), digest="d", content={"id": "i"})


def probe() -> ReadingProbe:
    fields = {"dataset": first(Question).dataset, "system": first(System), "revision": "r", "method": "m"}
    return ReadingProbe.objects.create(**fields)


def record(result: object = None, error: str = "") -> ReadingRecord:
    parts = (first(ReadingProbe) or probe(), first(ReadingInstance) or instance())
    return ReadingRecord.objects.create(probe=parts[0], instance=parts[1], result=result, error=error)


def simulated_live_link() -> None:
    EntryLink.objects.filter(pk=factories.make_link().pk).update(behaviour="honest")


BREAKS: dict[str, Callable[[], Any]] = {
    "question_once_per_dataset": lambda: again(first(Question)),
    "question_has_text": lambda: Question.objects.update(text=""),
    "system_has_name": lambda: System.objects.create(name=""),
    "run_once_per_dataset_system_revision": lambda: again(first(PredictionRun)),
    "prediction_once_per_run_and_question": lambda: again(first(Prediction)),
    "failure_once_per_run_and_question": two_failures,
    "reduced_answer_once_per_context": lambda: reduced(["d", "d"], answer="a"),
    "reduced_answer_or_error": lambda: reduced(["d"]),
    "question_scored_once_per_run": lambda: [question_score(), question_score()],
    "item_time_once": lambda: [item_time(), item_time()],
    "revision_number_once_per_study": lambda: [revision(7), revision(7)],
    "revision_comes_after_what_it_changed": lambda: revision(7, before=7),
    "manual_exclusion_says_why": lambda: ManualExclusion.objects.create(participant=first(Participant)),
    "reading_instance_once_per_question": lambda: [instance(), instance()],
    "reading_probe_once_per_method": lambda: [probe(), probe()],
    "reading_record_once_per_probe": lambda: [record(), record()],
    "reading_record_not_both": lambda: record(result={"id": "i"}, error="broken"),
    "version_number_once_per_study": lambda: version_again(hash="another"),
    "version_hash_once_per_study": lambda: version_again(number=2),
    "condition_name_once_per_version": lambda: again(first(Condition)),
    "condition_weight_positive": lambda: Condition.objects.update(weight=0),
    "condition_run_needs_system": lambda: Condition.objects.update(system=None, run=first(PredictionRun)),
    "item_once_per_version": lambda: again(first(Item), position=99),
    "item_position_once_per_version": lambda: again(first(Item), external_id="another"),
    "stimulus_once_per_condition_and_item": lambda: again(first(Stimulus)),
    "judgement_names_its_judge": lambda: Stimulus.objects.update(judged_by=""),
    "answer_judged_once_per_question": lambda: [judged(), judged()],
    "decision_says_how_who_and_when": lambda: judged(is_correct=True),
    "settled_disagreement_has_note": settled_without_note,
    "judge_once_per_answer": lambda: judgements((1, 0), (2, 0)),
    "judgement_place_once": lambda: judgements((1, 0), (1, 1)),
    "two_judgements_per_answer": lambda: judgements((3, 0)),
    "completed_has_code": lambda: Participant.objects.update(status="completed", outcome="done"),
    "completed_is_done": lambda: Participant.objects.update(status="completed", completion_code="a"),
    "ended_has_outcome": lambda: Participant.objects.update(status="ended"),
    "assigned_has_group": lambda: Participant.objects.update(group=""),
    "trial_once_per_participant_and_item": lambda: again(first(Trial), position=99),
    "trial_position_once": lambda: Trial.objects.update(position=1),
    "trial_submitted_has_answers": lambda: submitted(Trial, answers=None),
    "trial_shown_before_submitted": lambda: submitted(Trial, **before_shown()),
    "stage_attempt_once": lambda: stage_page() and stage_page(),
    "stage_submitted_has_answers": lambda: stage_page() and submitted(StageResponse, answers=None),
    "stage_shown_before_submitted": lambda: stage_page() and submitted(StageResponse, **before_shown()),
    "survey_submitted_has_answers": lambda: submitted(SurveyResponse, answers=None),
    "survey_shown_before_submitted": lambda: submitted(SurveyResponse, **before_shown()),
    "person_once_per_study_and_mode": lambda: [came("p"), came("p")],
    "external_ids_name_a_person": lambda: came(""),
    "dataset_name_once_per_workspace": lambda: again(first(Dataset)),
    "study_role_once_per_person": lambda: [share("viewer"), share("viewer")],
    "study_share_has_role_of_studies": lambda: share("annotator"),
    "notice_once_per_platform": lambda: [notice(), notice()],
    "proposal_once_per_answer": two_proposals,
    "paid_once_per_kind_and_batch": lambda: [payment(), payment()],
    "payment_has_its_amount": lambda: payment(amount=1),
    "sent_payment_has_a_time": lambda: payment(state="sent"),
    "behaviour_is_of_bots": lambda: EntryLink.objects.filter(pk=factories.make_link().pk).update(
        behaviour="x"
    ),
}


def constraints() -> dict[str, tuple[Any, Any]]:
    """Model and constraint by the constraint's name."""
    return {
        constraint.name: (model, constraint)
        for app in ("predictions", "studyapp")
        for model in apps.get_app_config(app).get_models()
        for constraint in model._meta.constraints
    }


def complaint(name: str) -> str:
    """Return what the database says about a broken constraint.

    It says the name, but SQLite says the columns if they are not unique.
    """
    model, constraint = constraints()[name]
    if connection.vendor != "sqlite" or not isinstance(constraint, UniqueConstraint):
        return name
    columns = [model._meta.get_field(field).column for field in constraint.fields]
    return "UNIQUE constraint failed: " + ", ".join(f"{model._meta.db_table}.{column}" for column in columns)


def test_each_has_an_attempt():
    assert constraints().keys() == BREAKS.keys()


@pytest.mark.database
@pytest.mark.django_db
@pytest.mark.parametrize("name", sorted(BREAKS))
def test_cannot_be_broken(name):
    factories.make_participant()
    with pytest.raises(IntegrityError) as caught, transaction.atomic():
        BREAKS[name]()
    assert complaint(name) in str(caught.value)
