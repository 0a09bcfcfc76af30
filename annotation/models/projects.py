"""Projects, their members, guidelines and audit log."""

from functools import cached_property

from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from accounts.models import LogEvent, User, Workspace
from accounts.models import Role as WorkspaceRole
from accounts.queries.workspaces import find_workspace_roles

LOWEST_RANK = -(2**62)  # below the rank of every item


class Kind(models.TextChoices):
    """The kind of objects that people mark."""

    BOXES = "boxes", _("boxes in images")
    SPANS = "spans", _("spans in a passage")


class Project(models.Model):
    """A set of items that people annotate under one set of rules.

    ``annotators_per_item`` is copied to each item at import, so that a later change is an act of its own.
    ``qualification_score`` is the mean F1 that a member must reach over the qualification items; NULL
    disables qualification. One in ``hidden_gold_every`` assigned items is a hidden gold item. With
    ``labels``, every item has the plain task that they describe; ``label_changes`` are renamed and merged
    labels, in their order, for edits and files that still have the old ones.
    """

    class Status(models.TextChoices):
        """Open to annotators, or closed."""

        OPEN = "open", _("Open")
        CLOSED = "closed", _("Closed")

    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="projects")
    slug = models.SlugField(max_length=100, unique=True)
    title = models.CharField(max_length=200)
    kind = models.CharField(max_length=10, choices=Kind)
    labels = models.JSONField(
        default=dict, blank=True
    )  # an `annotation.content.labels.LabelTask`; {} for programs
    label_changes = models.JSONField(
        default=list, blank=True
    )  # each an `annotation.content.label_changes.LabelChange`
    status = models.CharField(max_length=10, choices=Status, default=Status.OPEN)
    annotators_per_item = models.PositiveSmallIntegerField(
        default=1, validators=[MinValueValidator(1), MaxValueValidator(20)]
    )
    reservation_minutes = models.PositiveSmallIntegerField(
        default=120, validators=[MinValueValidator(1), MaxValueValidator(10_000)]
    )
    show_answer = models.BooleanField(default=True)
    show_predictions = models.BooleanField(default=False)
    ml_backend = models.URLField(max_length=500, blank=True, default="")  # a server in Label Studio's form
    qualification_score = models.FloatField(
        null=True, blank=True, validators=[MinValueValidator(0), MaxValueValidator(1)]
    )
    hidden_gold_every = models.PositiveSmallIntegerField(
        null=True, blank=True, validators=[MinValueValidator(2)]
    )
    due_on = models.DateField(null=True, blank=True)
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

    def shared_roles(self, user: User) -> frozenset[WorkspaceRole]:
        """Return the role in which this project was shared with a user."""
        roles = self.memberships.filter(user=user, active=True).values_list("role", flat=True)
        return frozenset(WorkspaceRole(role) for role in roles)


class Role(models.TextChoices):
    """The roles in which a project is shared.

    `accounts.policy_table` says what each may do.
    """

    ANNOTATOR = "annotator", _("Annotator")
    ADJUDICATOR = "adjudicator", _("Adjudicator")
    MANAGER = "manager", _("Annotation manager")


class Membership(models.Model):
    """A user in a project: a share of it, and the state of an annotator.

    ``blind`` members see no model outputs, whatever the project shows.

    The share ends by ``active``; the row is never deleted. A person who works here by a role in the workspace
    has a row without a share: ``active`` is False, ``role`` gives no right, and the state is all it holds.

    No item below the rank ``scanned_to`` is left for this member, so the search for the next item starts
    there.
    """

    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="memberships")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="memberships")
    role = models.CharField(max_length=12, choices=Role, default=Role.ANNOTATOR)
    active = models.BooleanField(default=True)
    blind = models.BooleanField(default=False)
    qualified = models.BooleanField(null=True)  # NULL: the qualification items are not finished
    handed_out = models.PositiveIntegerField(default=0)
    scanned_to = models.BigIntegerField(default=LOWEST_RANK)
    joined_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "user"], name="member_once_per_project"),
        ]

    def __str__(self) -> str:
        return f"{self.user} ({self.role}) in {self.project}"

    @property
    def shared_roles(self) -> frozenset[WorkspaceRole]:
        """The role in which the project is shared with the user."""
        return frozenset({WorkspaceRole(self.role)} if self.active else ())

    @cached_property
    def workspace_roles(self) -> frozenset[WorkspaceRole]:
        """The user's roles in the workspace, read when first asked for."""
        return find_workspace_roles(self.user, self.project.workspace_id)


class Guideline(models.Model):
    """Instructions to annotators for one module, in versions.

    The module "" stands for the whole project.
    """

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


class AuditEvent(LogEvent):
    """One act in a project."""

    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="audit")


class KeyBindings(models.Model):
    """The keyboard shortcuts that a person changed."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="keys")
    keys = models.JSONField(default=dict)

    def __str__(self) -> str:
        return f"keys of {self.user}"
