"""API tokens."""

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _


class Scope(models.TextChoices):
    """The scopes of tokens; each includes those before it."""

    READ = "read", _("Read")
    ANNOTATE = "annotate", _("Read and annotate")
    MANAGE = "manage", _("Everything that you may do")


class ApiToken(models.Model):
    """A token with which a program acts for its user.

    Only the SHA-256 of the token is stored; ``prefix`` are its first characters, so that its owner can tell
    tokens apart.
    """

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="api_tokens")
    name = models.CharField(max_length=100)
    prefix = models.CharField(max_length=12)
    token_hash = models.CharField(max_length=64, unique=True)
    scope = models.CharField(max_length=10, choices=Scope, default=Scope.READ)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    last_used_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=~Q(name=""), name="token_has_name"),
            models.CheckConstraint(condition=Q(scope__in=Scope.values), name="token_scope_exists"),
        ]

    def __str__(self) -> str:
        return f"{self.name} ({self.prefix}…)"
