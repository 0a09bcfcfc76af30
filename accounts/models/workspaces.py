"""Workspaces, the people in them with their roles, and invitations."""

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _


class Role(models.TextChoices):
    """The roles of people; `accounts.policy_table` says what each may do."""

    OWNER = "owner", _("Owner")
    RESEARCHER = "researcher", _("Researcher")
    ANALYST = "analyst", _("Analyst")
    VIEWER = "viewer", _("Viewer")
    MANAGER = "manager", _("Annotation manager")
    ADJUDICATOR = "adjudicator", _("Adjudicator")
    ANNOTATOR = "annotator", _("Annotator")


class Workspace(models.Model):
    """A lab or a course: its studies, projects, datasets and people."""

    slug = models.SlugField(max_length=100, unique=True)
    name = models.CharField(max_length=200)
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )

    class Meta:
        constraints = [models.CheckConstraint(condition=~Q(name=""), name="workspace_has_name")]

    def __str__(self) -> str:
        return self.name


class Membership(models.Model):
    """A role of a user in a workspace. A person may hold several."""

    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="memberships")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="workspace_roles"
    )
    role = models.CharField(max_length=12, choices=Role)
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["workspace", "user", "role"], name="workspace_role_once_per_person"
            ),
            models.CheckConstraint(condition=Q(role__in=Role.values), name="workspace_role_exists"),
        ]

    def __str__(self) -> str:
        return f"{self.user} ({self.role}) in {self.workspace}"


class ShareBase(models.Model):
    """A role of a user on one object alone.

    Each app that shares objects has a table of this form with a key to the object.
    """

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="%(app_label)s_shares"
    )
    role = models.CharField(max_length=12, choices=Role)
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )

    class Meta:
        abstract = True


class Invitation(models.Model):
    """A link that gives a role to the first person who accepts it.

    It is for the whole workspace, or for one object in it: ``kind`` is a key of `settings.SHAREABLE` then,
    and ``object_id`` the key of the object. Only the SHA-256 of its token is stored.
    """

    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="invitations")
    kind = models.CharField(max_length=20, blank=True)
    object_id = models.PositiveBigIntegerField(null=True, blank=True)
    role = models.CharField(max_length=12, choices=Role)
    email = models.EmailField(blank=True)
    token_hash = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    expires_at = models.DateTimeField()
    accepted_at = models.DateTimeField(null=True, blank=True)
    accepted_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(role__in=Role.values), name="invitation_role_exists"),
            models.CheckConstraint(
                condition=Q(kind="", object_id__isnull=True) | (~Q(kind="") & Q(object_id__isnull=False)),
                name="invitation_to_workspace_or_object",
            ),
            models.CheckConstraint(
                condition=Q(accepted_at__isnull=True, accepted_by__isnull=True)
                | Q(accepted_at__isnull=False, accepted_by__isnull=False),
                name="accepted_invitation_names_its_user",
            ),
        ]

    def __str__(self) -> str:
        return f"invitation {self.pk} ({self.role})"
