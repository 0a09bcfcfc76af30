"""Items, their image files, and model outputs for them."""

from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from annotation.models.projects import Project


class Order(models.TextChoices):
    """The order in which ordinary items are assigned."""

    FILE = "file", _("as in the files")
    RANDOM = "random", _("random")
    UNCERTAIN = "uncertain", _("least certain for models first")
    DISPUTED = "disputed", _("most disagreement first")
    FIRST = "first", _("chosen items first")
    LAST = "last", _("chosen items last")


class ImageFile(models.Model):
    """An image of a project. Its size is the one shown, after EXIF.

    ``path`` is relative to the site's image folder, and empty if only the name is known.
    """

    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="image_files")
    name = models.CharField(max_length=500)
    width = models.PositiveIntegerField(null=True)
    height = models.PositiveIntegerField(null=True)
    path = models.CharField(max_length=200, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "name"], name="image_once_per_project"),
            models.CheckConstraint(
                condition=Q(path="") | Q(width__gt=0, height__gt=0), name="image_file_has_a_size"
            ),
        ]

    def __str__(self) -> str:
        return self.name


class Item(models.Model):
    """A program over an image pair or a passage. Its content never changes.

    ``assigned`` counts the annotations that occupy one of its ``annotators_wanted`` assignments. Assigning
    an item is one conditional update of it, so no item ever has too many annotators. Qualification and
    hidden gold items go to everybody, without that limit. Ordinary items are assigned by ``rank``, from the
    lowest on. ``disagreement`` is that of its finished annotations, from 0 to 1; NULL without two of them.
    """

    class Purpose(models.TextChoices):
        """Ordinary items, or items with known gold to judge annotators by."""

        ORDINARY = "ordinary", _("Ordinary")
        QUALIFICATION = "qualification", _("Qualification")
        HIDDEN_GOLD = "hidden gold", _("Hidden gold")

    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="items")
    external_id = models.CharField(max_length=200)
    position = models.PositiveIntegerField()
    rank = models.BigIntegerField(default=0)
    purpose = models.CharField(max_length=14, choices=Purpose, default=Purpose.ORDINARY)
    program = models.TextField(blank=True)
    text = models.TextField()
    passage = models.TextField(blank=True)
    tokens = models.JSONField(default=list)  # [[start, end], ...] in code points
    text_hash = models.CharField(max_length=64, blank=True)  # SHA-256 of the passage in UTF-8
    images = models.JSONField(default=list)  # names of ImageFile rows, in the order shown
    answer = models.JSONField(null=True)
    extra = models.JSONField(default=dict)
    annotators_wanted = models.PositiveSmallIntegerField()
    assigned = models.PositiveSmallIntegerField(default=0)
    submitted = models.PositiveSmallIntegerField(default=0)
    disagreement = models.FloatField(null=True)

    class Meta:
        ordering = ["position"]
        indexes = [
            models.Index(
                fields=["project", "rank", "position"],
                condition=Q(purpose="ordinary", assigned__lt=F("annotators_wanted")),
                name="items_wanting_annotators",
            ),
            models.Index(fields=["project", "purpose", "position"], name="items_by_purpose"),
            models.Index(
                fields=["project", "purpose", "submitted", "annotators_wanted", "assigned", "id"],
                name="items_by_state",
            ),
            models.Index(fields=["project", "submitted", "id"], name="items_by_submitted"),
            models.Index(
                F("project"),
                F("disagreement").desc(),
                F("position"),
                condition=Q(disagreement__gt=0),
                name="disputed_items",
            ),
        ]
        constraints = [
            models.UniqueConstraint(fields=["project", "external_id"], name="item_once_per_project"),
            models.UniqueConstraint(fields=["project", "position"], name="item_position_once"),
            models.CheckConstraint(
                condition=~Q(purpose="ordinary") | Q(assigned__lte=F("annotators_wanted")),
                name="item_never_overfull",
            ),
            models.CheckConstraint(
                condition=Q(submitted__lte=F("assigned")), name="item_submitted_are_assigned"
            ),
        ]

    def __str__(self) -> str:
        return self.external_id


class SystemOutput(models.Model):
    """The output of one revision of a system for an item.

    ``answer`` is the value of the program, None if unknown; ``proposals`` holds one list of boxes per
    image, and ``modules`` is ``[{"index", "module", "probabilities" | "attention" | "value"}, ...]``.
    ``marks`` are objects and answers to suggest to people, by node; ``score`` is the certainty, 0 to 1.
    """

    item = models.ForeignKey(Item, on_delete=models.PROTECT, related_name="outputs")
    system = models.CharField(max_length=100)
    revision = models.CharField(max_length=100)
    proposals = models.JSONField(default=list)
    modules = models.JSONField()
    marks = models.JSONField(default=dict)
    score = models.FloatField(null=True)
    answer = models.JSONField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["item", "system", "revision"], name="output_once_per_revision"),
        ]

    def __str__(self) -> str:
        return f"{self.system}@{self.revision} on {self.item}"
