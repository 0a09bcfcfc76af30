"""Projects, their members, guidelines and audit log."""

from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _


class Kind(models.TextChoices):
    """What is marked in an item."""

    BOXES = "boxes", _("boxes in images")
    SPANS = "spans", _("spans in a passage")


class Project(models.Model):
    """A set of items that people annotate under one set of rules.

    ``annotators_per_item`` is copied to each item as its places when it comes in, so that raising it later
    is an act of its own. ``qualification_score`` is the mean F1 over the qualification items that a member
    must reach; NULL asks for none. One in ``hidden_gold_every`` items handed out is a hidden gold item.
    """

    class Status(models.TextChoices):
        OPEN = "open", _("Open")
        CLOSED = "closed", _("Closed")

    slug = models.SlugField(max_length=100, unique=True)
    title = models.CharField(max_length=200)
    kind = models.CharField(max_length=10, choices=Kind)
    status = models.CharField(max_length=10, choices=Status, default=Status.OPEN)
    annotators_per_item = models.PositiveSmallIntegerField(
        default=1, validators=[MinValueValidator(1), MaxValueValidator(20)]
    )
    reservation_minutes = models.PositiveSmallIntegerField(
        default=120, validators=[MinValueValidator(1), MaxValueValidator(10_000)]
    )
    show_answer = models.BooleanField(default=True)
    show_predictions = models.BooleanField(default=False)
    qualification_score = models.FloatField(
        null=True, blank=True, validators=[MinValueValidator(0), MaxValueValidator(1)]
    )
    hidden_gold_every = models.PositiveSmallIntegerField(
        null=True, blank=True, validators=[MinValueValidator(2)]
    )
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(annotators_per_item__gte=1, annotators_per_item__lte=20),
                name="project_one_to_twenty_annotators",
            ),
            models.CheckConstraint(
                condition=Q(qualification_score__isnull=True)
                | Q(qualification_score__gte=0, qualification_score__lte=1),
                name="project_qualification_is_a_share",
            ),
        ]

    def __str__(self) -> str:
        return self.slug


class Role(models.TextChoices):
    """What a member may do; each role may do what those before it may."""

    ANNOTATOR = "annotator", _("Annotator")
    ADJUDICATOR = "adjudicator", _("Adjudicator")
    MANAGER = "manager", _("Manager")


class Membership(models.Model):
    """A user's place in a project. It is ended by ``active``, never deleted.

    ``scanned_to`` is the position below which no item waits for this member, so that the search for the
    next one starts there and not at the front.
    """

    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="memberships")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="memberships")
    role = models.CharField(max_length=12, choices=Role, default=Role.ANNOTATOR)
    active = models.BooleanField(default=True)
    qualified = models.BooleanField(null=True)  # NULL: the qualification items are not finished
    handed_out = models.PositiveIntegerField(default=0)
    scanned_to = models.PositiveIntegerField(default=0)
    joined_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "user"], name="member_once_per_project"),
        ]

    def __str__(self) -> str:
        return f"{self.user} ({self.role}) in {self.project}"


class Guideline(models.Model):
    """What annotators are asked to do for one module ("" for the whole project), in versions."""

    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="guidelines")
    module = models.CharField(max_length=60, blank=True)
    version = models.PositiveIntegerField()
    text = models.TextField()
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT)

    class Meta:
        ordering = ["module", "version"]
        constraints = [
            models.UniqueConstraint(fields=["project", "module", "version"], name="guideline_version_once"),
        ]

    def __str__(self) -> str:
        return f"{self.module or 'project'} v{self.version}"


class AuditEvent(models.Model):
    """One act in a project. Append-only."""

    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="audit")
    actor = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT)
    kind = models.CharField(max_length=40)
    at = models.DateTimeField(auto_now_add=True)
    data = models.JSONField(default=dict)

    class Meta:
        ordering = ["pk"]

    def __str__(self) -> str:
        return f"{self.kind} at {self.at:%Y-%m-%d %H:%M}"


class KeyBindings(models.Model):
    """The keys that a person gave to the editor's acts, where they differ from the usual ones."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="keys")
    keys = models.JSONField(default=dict)

    def __str__(self) -> str:
        return f"keys of {self.user}"
