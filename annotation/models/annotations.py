"""Annotations, their operations and comments, and gold."""

from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from annotation.models.batches import Batch
from annotation.models.items import Item
from annotation.models.projects import Project


class AppendOnlyRow(Exception):
    """Code tried to change or delete a row of a history."""


class History(models.QuerySet):
    """Rows that can be read and added, but neither changed nor deleted."""

    def update(self, **kwargs: Any) -> int:
        """Raise AppendOnlyRow."""
        raise AppendOnlyRow(f"{self.model._meta.verbose_name}: history is never changed")

    def delete(self) -> tuple[int, dict[str, int]]:
        """Raise AppendOnlyRow."""
        raise AppendOnlyRow(f"{self.model._meta.verbose_name}: history is never deleted")


class Annotation(models.Model):
    """One person's annotation, or adjudication, of one item.

    ``document`` is the sum of its operations. It remains if the assignment expires or is released. That
    of a batch has no ``reserved_until``.
    """

    class Task(models.TextChoices):
        """Annotating, or adjudicating what others annotated."""

        ANNOTATION = "annotation", _("Annotation")
        ADJUDICATION = "adjudication", _("Adjudication")

    class Status(models.TextChoices):
        """The life cycle; see `annotation.states.ANNOTATION`."""

        RESERVED = "reserved", _("Reserved")
        SUBMITTED = "submitted", _("Submitted")
        IN_REVIEW = "in review", _("In review")
        RETURNED = "returned", _("Returned")
        ACCEPTED = "accepted", _("Accepted")
        EXPIRED = "expired", _("Expired")
        RELEASED = "released", _("Released")

    FINISHED = (Status.SUBMITTED, Status.IN_REVIEW, Status.ACCEPTED)
    HANDED_IN = (*FINISHED, Status.RETURNED)  # count in Item.submitted
    HOLDING = (*HANDED_IN, Status.RESERVED)  # count in Item.assigned

    item = models.ForeignKey(Item, on_delete=models.PROTECT, related_name="annotations")
    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="annotations")
    annotator = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="annotations"
    )
    batch = models.ForeignKey(
        Batch, null=True, blank=True, on_delete=models.PROTECT, related_name="annotations"
    )
    task = models.CharField(max_length=12, choices=Task, default=Task.ANNOTATION)
    status = models.CharField(max_length=10, choices=Status, default=Status.RESERVED)
    document = models.JSONField(default=dict)
    revision = models.PositiveIntegerField(default=0)
    reserved_until = models.DateTimeField(null=True)
    started_at = models.DateTimeField(auto_now_add=True)
    saved_at = models.DateTimeField(null=True)
    submitted_at = models.DateTimeField(null=True)
    active_seconds = models.FloatField(default=0)  # between edits, without pauses of over two minutes
    predictions_shown = models.JSONField(default=list)  # "system@revision" of each that was on the screen

    class Meta:
        indexes = [
            models.Index(
                fields=["project", "reserved_until"],
                condition=Q(status="reserved"),
                name="reserved_annotations",
            ),
            models.Index(fields=["project", "annotator", "task", "status"], name="annotations_of_a_person"),
            models.Index(fields=["project", "task", "status", "submitted_at"], name="annotations_to_review"),
            # Charts and the table of members read nothing but these.
            models.Index(fields=["project", "task", "submitted_at"], name="annotations_by_day"),
            models.Index(
                fields=[
                    "project",
                    "task",
                    "annotator",
                    "status",
                    "submitted_at",
                    "saved_at",
                    "active_seconds",
                ],
                name="annotations_by_annotator",
            ),
        ]
        constraints = [
            models.UniqueConstraint(fields=["item", "annotator", "task"], name="annotation_once_per_person"),
            models.UniqueConstraint(
                fields=["item"], condition=Q(task="adjudication"), name="one_adjudication_per_item"
            ),
            models.CheckConstraint(
                condition=~Q(status="reserved") | Q(reserved_until__isnull=False) | Q(batch__isnull=False),
                name="reserved_annotation_has_an_end",
            ),
            models.CheckConstraint(
                condition=Q(status__in=["reserved", "expired", "released"]) | Q(submitted_at__isnull=False),
                name="submitted_annotation_has_a_time",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.task} of {self.item} by {self.annotator}"


class Operation(models.Model):
    """One edit. The browser makes ``uid``, so that resending is harmless."""

    annotation = models.ForeignKey(Annotation, on_delete=models.PROTECT, related_name="operations")
    uid = models.UUIDField()
    revision = models.PositiveIntegerField()  # of the annotation after this edit
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    at = models.DateTimeField(auto_now_add=True)
    edit = models.JSONField()
    inverse = models.JSONField()
    undoes = models.UUIDField(null=True)

    objects = History.as_manager()

    class Meta:
        ordering = ["annotation_id", "revision"]
        constraints = [
            models.UniqueConstraint(fields=["annotation", "uid"], name="operation_once"),
            models.UniqueConstraint(fields=["annotation", "revision"], name="operation_revision_once"),
        ]

    def __str__(self) -> str:
        return f"{self.annotation_id} r{self.revision}"


class Comment(models.Model):
    """A comment on an annotation, on one of its nodes or on one object."""

    annotation = models.ForeignKey(Annotation, on_delete=models.PROTECT, related_name="comments")
    node = models.PositiveIntegerField(null=True)
    object_id = models.CharField(max_length=64, blank=True)
    text = models.TextField()
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    at = models.DateTimeField(auto_now_add=True)
    resolved_at = models.DateTimeField(null=True)
    resolved_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+"
    )

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.CheckConstraint(
                condition=Q(resolved_at__isnull=True, resolved_by__isnull=True)
                | Q(resolved_at__isnull=False, resolved_by__isnull=False),
                name="comment_resolved_by_somebody",
            ),
        ]

    def __str__(self) -> str:
        return self.text[:60]


class Gold(models.Model):
    """The gold of an item, in versions; the newest one is current."""

    class Method(models.TextChoices):
        """Origin of the gold."""

        IMPORTED = "imported", _("Imported")
        ACCEPTED = "accepted", _("Accepted")  # one person's annotation, unchanged
        ADJUDICATED = "adjudicated", _("Adjudicated")

    item = models.ForeignKey(Item, on_delete=models.PROTECT, related_name="golds")
    version = models.PositiveIntegerField()
    current = models.BooleanField(default=True)
    method = models.CharField(max_length=12, choices=Method)
    document = models.JSONField()
    annotation = models.ForeignKey(Annotation, null=True, on_delete=models.PROTECT, related_name="golds")
    by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+")
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name_plural = "gold"
        constraints = [
            models.UniqueConstraint(fields=["item", "version"], name="gold_version_once"),
            models.UniqueConstraint(fields=["item"], condition=Q(current=True), name="one_current_gold"),
        ]

    def __str__(self) -> str:
        return f"gold v{self.version} of {self.item}"
