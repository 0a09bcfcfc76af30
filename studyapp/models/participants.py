"""Participants, their trials and survey answers, and the event log."""

from collections.abc import Sequence

from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from accounts.models import LogEvent
from studyapp.models.conduct import Conduct
from studyapp.models.studies import Condition, EntryLink, Item, Mode, Study, StudyVersion


class Stage(models.TextChoices):
    """Stages of a participant after consent, in order.

    The post survey follows the last item.
    """

    SCREENING = "screening"
    INSTRUCTIONS = "instructions"
    COMPREHENSION = "comprehension"
    PRE_SURVEY = "pre_survey"
    ITEMS = "items"


class Outcome(models.TextChoices):
    """Outcomes of a participant.

    Visitors who do not consent are not stored, so "no consent" is for pages and codes only.
    """

    DONE = "done"
    NO_CONSENT = "no_consent"
    SCREENED_OUT = "screened_out"
    FAILED_COMPREHENSION = "failed_comprehension"
    FULL = "full"


class Device(models.TextChoices):
    """Coarse classes of devices, from the pointer and the width of the screen."""

    PHONE = "phone", _("Phone")
    TABLET = "tablet", _("Tablet")
    DESKTOP = "desktop", _("Desktop computer")


class Participant(Conduct):
    """A person or bot who consented, without their identity.

    ``group`` names the assignment: the condition, or in a within-subject or mixed design the group of
    conditions that the participant sees; ``condition`` is NULL if there are several. ``order_row`` and
    ``rotation`` are the rows of the Latin squares that counterbalance the order of the conditions and which
    items go with which. ``assignment_counts`` is what the assignment counted: ``{group: count}``. ``stage``
    is the stage of an active participant; ``outcome`` is empty until the participant has ended.
    ``returned_at`` is the time at which the recruitment platform reported a returned submission;
    participants who finish after that count. ``withdrawal_code`` is NULL for imported and anonymised
    participants. ``device`` is that of the consent; empty without JavaScript. Cookies and personal links of
    another ``link_generation`` have been revoked. ``next_trials`` holds the next trial, if any, after
    a read of both; else it is None.
    """

    class Status(models.TextChoices):
        ACTIVE = "active"
        COMPLETED = "completed"
        ENDED = "ended"
        WITHDRAWN = "withdrawn"

    version = models.ForeignKey(StudyVersion, on_delete=models.PROTECT, related_name="participants")
    link = models.ForeignKey(EntryLink, null=True, on_delete=models.PROTECT, related_name="participants")
    public_id = models.CharField(max_length=40, unique=True)
    mode = models.CharField(max_length=10, choices=Mode)
    status = models.CharField(max_length=10, choices=Status, default=Status.ACTIVE)
    stage = models.CharField(max_length=20, choices=Stage, default=Stage.ITEMS)
    outcome = models.CharField(max_length=20, choices=Outcome, blank=True)
    language = models.CharField(max_length=10, blank=True)
    device = models.CharField(max_length=10, choices=Device, blank=True, default="")
    group = models.CharField(max_length=100, blank=True)
    condition = models.ForeignKey(Condition, null=True, on_delete=models.PROTECT, related_name="participants")
    order_row = models.PositiveSmallIntegerField(null=True)
    rotation = models.PositiveSmallIntegerField(null=True)
    assignment_counts = models.JSONField(null=True)
    order_seed = models.BigIntegerField(null=True)
    items_submitted = models.PositiveSmallIntegerField(default=0)
    consented_at = models.DateTimeField(null=True)
    assigned_at = models.DateTimeField(null=True)
    started_at = models.DateTimeField(null=True)
    last_seen_at = models.DateTimeField(null=True)
    completed_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    completion_code = models.CharField(max_length=40, blank=True)
    returned_at = models.DateTimeField(null=True, blank=True)
    withdrawal_code = models.CharField(max_length=20, null=True, blank=True, unique=True)
    anonymised_on = models.DateField(null=True, blank=True)
    link_generation = models.PositiveIntegerField(default=0)
    next_trials: "Sequence[Trial] | None" = None

    class Meta:
        indexes = [
            models.Index(fields=["version", "mode", "status", "group"], name="participant_counts"),
            models.Index(fields=["version", "mode", "pattern"], name="participants_by_pattern"),
        ]
        constraints = [
            models.CheckConstraint(
                condition=~Q(status="completed") | ~Q(completion_code=""), name="completed_has_code"
            ),
            models.CheckConstraint(
                condition=~Q(status="completed") | Q(outcome="done"), name="completed_is_done"
            ),
            models.CheckConstraint(condition=~Q(status="ended") | ~Q(outcome=""), name="ended_has_outcome"),
            models.CheckConstraint(
                condition=Q(condition__isnull=True) | ~Q(group=""), name="assigned_has_group"
            ),
        ]

    def __str__(self) -> str:
        return self.public_id


class TimedPage(models.Model):
    """A page that a participant submits once, with two clocks.

    Client columns are NULL without JavaScript. ``answers`` and ``changes`` are keyed by the frozen
    questionnaire; an unanswered question has no key. NULL ``answers`` means not submitted.
    """

    shown_at = models.DateTimeField(null=True)
    submitted_at = models.DateTimeField(null=True)
    client_total_ms = models.PositiveIntegerField(null=True)
    client_visible_ms = models.PositiveIntegerField(null=True)
    client_hidden_ms = models.PositiveIntegerField(null=True)
    hidden_count = models.PositiveIntegerField(null=True)
    first_interaction_ms = models.PositiveIntegerField(null=True)
    answers = models.JSONField(null=True)
    changes = models.JSONField(null=True)

    class Meta:
        abstract = True

    @property
    def is_submitted(self) -> bool:
        """True once the page has answers."""
        return self.answers is not None


class PagedResponse(TimedPage):
    """A part that may be asked on several pages, in one row.

    ``page`` is the 1-based page to be shown now, and ``earlier`` has the answers, changes and times of the
    pages before it. The last page stores the answers to all of them as ``answers``, with the times added up.
    A page is stored by an update of the row that still has its number, so only once.
    """

    page = models.PositiveSmallIntegerField(default=1)
    earlier = models.JSONField(null=True)

    class Meta:
        abstract = True


def _build_page_constraints(name: str) -> list[models.BaseConstraint]:
    return [
        models.CheckConstraint(
            condition=Q(submitted_at__isnull=True) | Q(answers__isnull=False),
            name=f"{name}_submitted_has_answers",
        ),
        models.CheckConstraint(
            condition=Q(submitted_at__isnull=True) | Q(shown_at__lte=F("submitted_at")),
            name=f"{name}_shown_before_submitted",
        ),
    ]


class StageResponse(PagedResponse):
    """A page before the items, created when the participant reaches it.

    ``attempt`` counts from 1. ``passed`` is NULL if the page has nothing to pass, or is not submitted.
    """

    participant = models.ForeignKey(Participant, on_delete=models.PROTECT, related_name="stages")
    stage = models.CharField(max_length=20, choices=Stage)
    attempt = models.PositiveSmallIntegerField(default=1)
    passed = models.BooleanField(null=True)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["participant", "stage", "attempt"], name="stage_attempt_once"),
            *_build_page_constraints("stage"),
        ]

    def __str__(self) -> str:
        return f"{self.stage} of {self.participant_id}"


class Trial(PagedResponse):
    """An item of a participant.

    All trials are created at assignment, in the participant's order.

    ``condition`` is NULL for an attention item, which is the same in all; ``other_condition`` is the right
    one of two that are compared. ``passed`` is NULL but for an attention item that was submitted. ``block``
    is that of a simulation. ``page_shown_at`` is when a page after the first was first shown, and
    ``timed_out`` names the pages whose time ran out, joined by ``;``. ``articles`` lists the openings of
    further articles, as `studyapp.rules.page_timing.parse_openings` reads them; NULL without JavaScript.
    ``hits_rule`` is True for a submitted item that an exclusion rule of the version hits, apart from rules
    about flags.
    """

    participant = models.ForeignKey(Participant, on_delete=models.PROTECT, related_name="trials")
    item = models.ForeignKey(Item, on_delete=models.PROTECT, related_name="trials")
    condition = models.ForeignKey(Condition, null=True, on_delete=models.PROTECT, related_name="trials")
    other_condition = models.ForeignKey(
        Condition, null=True, on_delete=models.PROTECT, related_name="right_trials"
    )
    passed = models.BooleanField(null=True)
    position = models.PositiveSmallIntegerField()
    block = models.CharField(max_length=20, blank=True, default="")
    page_shown_at = models.DateTimeField(null=True)
    timed_out = models.CharField(max_length=40, blank=True, default="")
    hits_rule = models.BooleanField(default=False)
    articles = models.JSONField(null=True)

    class Meta:
        ordering = ["participant_id", "position"]
        constraints = [
            models.UniqueConstraint(
                fields=["participant", "item"], name="trial_once_per_participant_and_item"
            ),
            models.UniqueConstraint(fields=["participant", "position"], name="trial_position_once"),
            *_build_page_constraints("trial"),
        ]

    def __str__(self) -> str:
        return f"{self.participant_id} #{self.position}"


class SurveyResponse(PagedResponse):
    """The post survey of a participant, created at assignment and filled once."""

    participant = models.OneToOneField(Participant, on_delete=models.PROTECT, related_name="survey")

    class Meta:
        constraints = _build_page_constraints("survey")

    def __str__(self) -> str:
        return f"survey of {self.participant_id}"


class Event(LogEvent):
    """One act, by staff or participant."""

    study = models.ForeignKey(Study, null=True, on_delete=models.PROTECT, related_name="events")
    participant = models.ForeignKey(Participant, null=True, on_delete=models.PROTECT, related_name="events")

    class Meta(LogEvent.Meta):
        indexes = [models.Index(fields=["study", "kind", "id"], name="events_of_a_kind")]
