"""What people do with items: works, the operations they are made of, comments, and gold."""

from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from annotation.models.items import Item
from annotation.models.projects import Project


class AppendOnlyRow(Exception):
    """A row of a history was to be changed or deleted."""


class History(models.QuerySet):
    """Rows that can be read and added, but neither changed nor deleted."""

    def update(self, **kwargs: Any) -> int:
        raise AppendOnlyRow(f"{self.model._meta.verbose_name}: history is never changed")

    def delete(self) -> tuple[int, dict[str, int]]:
        raise AppendOnlyRow(f"{self.model._meta.verbose_name}: history is never deleted")


class Annotation(models.Model):
    """One person's annotation, or adjudication, of one item. ``document`` is what its operations add up to.

    A work keeps its document whatever happens to its place: who lost an expired place loses no box.
    """

    class Task(models.TextChoices):
        ANNOTATION = "annotation", _("Annotation")
        ADJUDICATION = "adjudication", _("Adjudication")

    class Status(models.TextChoices):
        RESERVED = "reserved", _("Reserved")
        SUBMITTED = "submitted", _("Submitted")
        IN_REVIEW = "in review", _("In Review")
        RETURNED = "returned", _("Returned")
        ACCEPTED = "accepted", _("Accepted")
        EXPIRED = "expired", _("Expired")
        RELEASED = "released", _("Released")

    # The statuses that count in Item.assigned.
    HOLDING = (Status.RESERVED, Status.SUBMITTED, Status.IN_REVIEW, Status.RETURNED, Status.ACCEPTED)

    item = models.ForeignKey(Item, on_delete=models.PROTECT, related_name="annotations")
    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="annotations")
    annotator = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="annotations"
    )
    task = models.CharField(max_length=12, choices=Task, default=Task.ANNOTATION)
    status = models.CharField(max_length=10, choices=Status, default=Status.RESERVED)
    document = models.JSONField(default=dict)
    revision = models.PositiveIntegerField(default=0)
    reserved_until = models.DateTimeField(null=True)
    started_at = models.DateTimeField(auto_now_add=True)
    saved_at = models.DateTimeField(null=True)
    submitted_at = models.DateTimeField(null=True)
    active_seconds = models.FloatField(default=0)  # between edits, pauses of over two minutes left out
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
        ]
        constraints = [
            models.UniqueConstraint(fields=["item", "annotator", "task"], name="annotation_once_per_person"),
            models.UniqueConstraint(
                fields=["item"], condition=Q(task="adjudication"), name="one_adjudication_per_item"
            ),
            models.CheckConstraint(
                condition=~Q(status="reserved") | Q(reserved_until__isnull=False),
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
    """One edit of a work. ``uid`` is made by the browser, so that an edit sent twice is one edit."""

    annotation = models.ForeignKey(Annotation, on_delete=models.PROTECT, related_name="operations")
    uid = models.UUIDField()
    revision = models.PositiveIntegerField()  # the work's revision after it
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
    """A remark on a work, on one of its nodes or on one object."""

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
    """The settled document of an item, in versions; the newest one is current. Nothing is overwritten."""

    class Method(models.TextChoices):
        IMPORTED = "imported", _("Imported")
        ACCEPTED = "accepted", _("Accepted")  # one annotator's work as it is
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
