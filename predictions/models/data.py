"""Questions with their articles, as imported."""

from django.conf import settings
from django.db import models

from accounts.models import Role, User, Workspace
from modelserver.wire.schema import QAItem


class Dataset(models.Model):
    """A named set of questions of a workspace.

    Importing the same external ids again changes nothing.

    Attributes:
        licence: The terms of use, as the person who imported it named them; empty if unknown.
        question_count, without_facts: The number of its questions, and of those with unknown gold facts.
            Imports keep them, because counting 100,000 questions for every page would take too long.
    """

    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="datasets")
    name = models.SlugField(max_length=100)
    source_format = models.CharField(max_length=40)
    licence = models.CharField(max_length=100, blank=True)
    question_count = models.PositiveIntegerField(default=0)
    without_facts = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workspace", "name"], name="dataset_name_once_per_workspace")
        ]

    def __str__(self) -> str:
        return self.name

    def can_take_programs(self) -> bool:
        """Return whether programs can be executed on its questions.

        They look at images, or at one article.
        """
        first = self.questions.only("images", "context").first()
        return first is None or bool(first.images) or len(first.context) == 1

    def shared_roles(self, user: User) -> frozenset[Role]:
        """Return no roles: datasets are shared as a part of their workspace."""
        return frozenset()


class Question(models.Model):
    """A question, its gold answer and facts, and its articles.

    ``context`` is ``[[title, [sentence, ...]], ...]``; ``supporting_facts`` is ``[[title, index], ...]``
    or NULL if the gold facts are unknown. ``images`` and ``steps`` have the forms of
    ``predictions.explanations.program_steps``: the images that the text is about, and the gold output of
    every step of its program, NULL if that is unknown. ``labels`` are the answers to choose from, such as the
    verdicts on a claim; empty if the answer is free. ``source_item_id`` is set for a changed item: the ID of
    the question that it was made from, in another dataset, and ``kind`` is then the kind of change.
    """

    dataset = models.ForeignKey(Dataset, on_delete=models.PROTECT, related_name="questions")
    external_id = models.CharField(max_length=200)
    text = models.TextField()
    answer = models.TextField()
    kind = models.CharField(max_length=40, blank=True)
    level = models.CharField(max_length=40, blank=True)
    context = models.JSONField()
    supporting_facts = models.JSONField(null=True)
    images = models.JSONField(default=list)
    steps = models.JSONField(null=True)
    labels = models.JSONField(default=list)
    source_item_id = models.CharField(max_length=200, blank=True)

    class Meta:
        ordering = ["pk"]
        indexes = [models.Index(fields=["dataset", "id"], name="questions_of_a_dataset")]
        constraints = [
            models.UniqueConstraint(fields=["dataset", "external_id"], name="question_once_per_dataset"),
            models.CheckConstraint(condition=~models.Q(text=""), name="question_has_text"),
        ]

    def __str__(self) -> str:
        return f"{self.external_id}: {self.text[:60]}"

    def wire(self) -> QAItem:
        """Return the question as the model server takes it."""
        return QAItem(
            id=self.external_id, question=self.text, context=self.context, labels=tuple(self.labels)
        )
