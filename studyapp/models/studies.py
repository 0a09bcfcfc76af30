"""Studies, their frozen versions, conditions, items, stimuli and links."""

import secrets
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from accounts.models import Role, ShareBase, User, Workspace
from predictions.models.data import Question
from predictions.models.predictions import PredictionRun, System


class Mode(models.TextChoices):
    """The way in which a participant came.

    Only live rows count in the assignment of live participants.
    """

    LIVE = "live", _("Live")
    PILOT = "pilot", _("Pilot")
    BOT = "bot", _("Bot")


def new_pseudonym_key() -> str:
    """Return a random key, so that outsiders cannot compute pseudonyms."""
    return secrets.token_hex(32)


class Studies(models.Manager["Study"]):
    """Studies without rehearsals, which no list, export or count shows."""

    def get_queryset(self) -> models.QuerySet["Study"]:
        """Leave rehearsals out."""
        return super().get_queryset().filter(rehearsal_of__isnull=True)


class Study(models.Model):
    """A study of a workspace.

    ``definition`` is the draft; what participants see is always a frozen version.

    ``draft_number`` is the `DraftRevision` that ``definition`` was made from, NULL for one that never was in
    the studio.
    ``archived_at`` takes it out of the list; nothing is lost by it.
    ``pseudonym_key`` keys the participant pseudonyms of public exports; it never leaves the database.
    ``rehearsal_of`` is set for a rehearsal: a study that holds the provisionally frozen draft of another one,
    so that its participants are in no table of that study.
    """

    class Status(models.TextChoices):
        DRAFT = "draft", _("Draft")
        OPEN = "open", _("Open")
        PAUSED = "paused", _("Paused")
        CLOSED = "closed", _("Closed")

    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="studies")
    slug = models.SlugField(max_length=100, unique=True)
    title = models.CharField(max_length=200)
    status = models.CharField(max_length=10, choices=Status, default=Status.DRAFT)
    definition = models.JSONField()
    draft_number = models.PositiveIntegerField(null=True, blank=True, editable=False)
    archived_at = models.DateTimeField(null=True)
    pseudonym_key = models.CharField(max_length=64, default=new_pseudonym_key, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT)
    rehearsal_of = models.ForeignKey(
        "self", null=True, blank=True, editable=False, on_delete=models.PROTECT, related_name="+"
    )

    objects = Studies()
    every = models.Manager["Study"]()

    class Meta:
        verbose_name_plural = "studies"

    def __str__(self) -> str:
        return self.slug

    def shared_roles(self, user: User) -> frozenset[Role]:
        """Return the roles in which this study was shared with a user."""
        return frozenset(Role(role) for role in self.shares.filter(user=user).values_list("role", flat=True))


class StudyShare(ShareBase):
    """A role of a person in one study alone."""

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="shares")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["study", "user", "role"], name="study_role_once_per_person"),
            models.CheckConstraint(
                condition=Q(role__in=[Role.OWNER, Role.RESEARCHER, Role.ANALYST, Role.VIEWER]),
                name="study_share_has_role_of_studies",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.user} ({self.role}) in {self.study}"


class FrozenRow(Exception):
    """A row that a launch froze was to be changed or deleted."""


class FrozenRows(models.QuerySet):
    """Rows that can be read and added, but neither changed nor deleted."""

    def update(self, **kwargs: Any) -> int:
        """Refuse the update."""
        raise FrozenRow(f"{self.model._meta.verbose_name}: what a launch froze is never changed")

    def delete(self) -> tuple[int, dict[str, int]]:
        """Refuse the deletion."""
        raise FrozenRow(f"{self.model._meta.verbose_name}: what a launch froze is never deleted")


class Frozen(models.Model):
    """A row written once.

    SQL can still change it: ``verify_version`` finds that out at every export.
    """

    objects = FrozenRows.as_manager()

    class Meta:
        abstract = True

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Save a new row; refuse to change a stored one."""
        if not self._state.adding:
            raise FrozenRow(f"{self._meta.verbose_name} {self}: what a launch froze is never changed")
        super().save(*args, **kwargs)

    def delete(self, *args: Any, **kwargs: Any) -> tuple[int, dict[str, int]]:
        """Refuse the deletion."""
        raise FrozenRow(f"{self._meta.verbose_name} {self}: what a launch froze is never deleted")


class StudyVersion(Frozen):
    """The content that a launch froze.

    ``hash`` is the SHA-256 of the canonical JSON of ``frozen``.
    """

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="versions")
    number = models.PositiveIntegerField()
    hash = models.CharField(max_length=64)
    frozen = models.JSONField()
    published = models.JSONField(null=True)
    frozen_at = models.DateTimeField(auto_now_add=True)
    frozen_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT)

    class Meta:
        ordering = ["study_id", "number"]
        constraints = [
            models.UniqueConstraint(fields=["study", "number"], name="version_number_once_per_study"),
            models.UniqueConstraint(fields=["study", "hash"], name="version_hash_once_per_study"),
        ]

    def __str__(self) -> str:
        return f"{self.study} v{self.number}"


class Condition(models.Model):
    """A condition of a version: the predictions of a run, or the ground truth.

    ``quota`` is how many live participants it may have who completed or are active; NULL for any number.
    ``gives_advice`` is False for a control condition, which shows no answer.
    """

    version = models.ForeignKey(StudyVersion, on_delete=models.PROTECT, related_name="conditions")
    position = models.PositiveSmallIntegerField()
    name = models.CharField(max_length=100)
    label = models.CharField(max_length=200)
    system = models.ForeignKey(System, null=True, blank=True, on_delete=models.PROTECT)
    run = models.ForeignKey(PredictionRun, null=True, blank=True, on_delete=models.PROTECT)
    weight = models.FloatField(default=1.0)
    is_open = models.BooleanField(default=True)
    quota = models.PositiveIntegerField(null=True, blank=True)
    gives_advice = models.BooleanField(default=True)

    class Meta:
        ordering = ["version_id", "position"]
        constraints = [
            models.UniqueConstraint(fields=["version", "name"], name="condition_name_once_per_version"),
            models.CheckConstraint(condition=Q(weight__gt=0), name="condition_weight_positive"),
            models.CheckConstraint(
                condition=Q(run__isnull=True) | Q(system__isnull=False), name="condition_run_needs_system"
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def is_ground_truth(self) -> bool:
        """A condition without a system shows gold answers, unless it shows none."""
        return self.system_id is None and self.gives_advice


class Item(Frozen):
    """A question of a version.

    Its text is copied, so that nothing outside can change it.

    ``position`` counts the items, then the practice items, then the attention items of the definition.
    """

    class Kind(models.TextChoices):
        ITEM = "item"
        PRACTICE = "practice"
        ATTENTION = "attention"

    kind = models.CharField(max_length=10, choices=Kind, default=Kind.ITEM)
    version = models.ForeignKey(StudyVersion, on_delete=models.PROTECT, related_name="items")
    position = models.PositiveSmallIntegerField()
    external_id = models.CharField(max_length=200)
    question = models.ForeignKey(Question, null=True, blank=True, on_delete=models.PROTECT)
    text = models.TextField(null=True)  # noqa: DJ001 (unknown in a released study)
    gold_answer = models.TextField(null=True)  # noqa: DJ001
    context = models.JSONField(null=True)

    class Meta:
        ordering = ["version_id", "position"]
        constraints = [
            models.UniqueConstraint(fields=["version", "external_id"], name="item_once_per_version"),
            models.UniqueConstraint(fields=["version", "position"], name="item_position_once_per_version"),
        ]

    def __str__(self) -> str:
        return self.external_id


class Stimulus(models.Model):
    """The answer that a condition shows for an item, and its correctness.

    ``system_correct`` is what the judges decided before the launch, else exact match (``judged_by`` "exact
    match"), and NULL if unknown. ``decision`` is the answer as the judges have it.
    """

    condition = models.ForeignKey(Condition, on_delete=models.PROTECT, related_name="stimuli")
    item = models.ForeignKey(Item, on_delete=models.PROTECT, related_name="stimuli")
    shown_answer = models.TextField(null=True)  # noqa: DJ001 (unknown in a released study)
    facts = models.JSONField(null=True)
    exact_match = models.BooleanField(null=True)
    answer_f1 = models.FloatField(null=True)
    system_correct = models.BooleanField(null=True)
    judged_by = models.CharField(max_length=150, blank=True)
    decision = models.ForeignKey("JudgedAnswer", null=True, on_delete=models.PROTECT, related_name="stimuli")

    class Meta:
        verbose_name_plural = "stimuli"
        constraints = [
            models.UniqueConstraint(
                fields=["condition", "item"], name="stimulus_once_per_condition_and_item"
            ),
            models.CheckConstraint(
                condition=Q(system_correct__isnull=True) | ~Q(judged_by=""), name="judgement_names_its_judge"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.condition_id}/{self.item_id}"


class EntryLink(models.Model):
    """A shareable entry link of a study.

    Only the SHA-256 of its token is stored.

    ``quota`` limits the number of participants of the link, None does not. ``recruitment`` replaces that
    of the study if it is set; it has the form of
    ``studyapp.definition.participation.recruitment.Recruitment``. ``behaviour`` says what simulates the
    participants of a link for bots.
    """

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="links")
    token_hash = models.CharField(max_length=64, unique=True)
    label = models.CharField(max_length=100, blank=True)
    mode = models.CharField(max_length=10, choices=Mode, default=Mode.LIVE)
    behaviour = models.CharField(max_length=300, blank=True, default="")
    single_use = models.BooleanField(default=False)
    quota = models.PositiveIntegerField(null=True, blank=True)
    recruitment = models.JSONField(null=True, blank=True)
    used_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(behaviour="") | Q(mode="bot"), name="behaviour_is_of_bots")
        ]

    def __str__(self) -> str:
        return self.label or f"link {self.pk}"
