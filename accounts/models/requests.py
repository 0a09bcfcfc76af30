"""Requests of the REST API that were answered once."""

from django.conf import settings
from django.db import models


class AnsweredRequest(models.Model):
    """The response to a request with an ``Idempotency-Key``, to be repeated.

    ``digest`` is the SHA-256 of method, address and body: the key belongs to that request alone. ``status``
    is NULL while the first request is at work.
    """

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    key = models.CharField(max_length=200)
    digest = models.CharField(max_length=64)
    status = models.PositiveSmallIntegerField(null=True)
    content_type = models.CharField(max_length=100, blank=True)
    body = models.TextField(blank=True)
    created_at = models.DateTimeField(auto_now_add=True, db_index=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "key"], name="request_key_once_per_user")]

    def __str__(self) -> str:
        return self.key
