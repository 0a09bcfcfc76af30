"""Tables of reading probes: counterfactual instances and their results."""

from typing import Any

from django.db import models

from predictions.models.data import Dataset, Question
from predictions.models.predictions import System


class ReadingInstance(models.Model):
    """An immutable counterfactual instance of a question.

    ``content`` has the form of ``analysis.counterfactuals.instances``, and ``digest`` is its hash, so that a
    repaired instance is another one.
    """

    question = models.ForeignKey(Question, on_delete=models.PROTECT, related_name="reading_instances")
    digest = models.CharField(max_length=64)
    content = models.JSONField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["question", "digest"], name="reading_instance_once_per_question"),
        ]

    def __str__(self) -> str:
        return str(self.content["id"])


class ReadingProbe(models.Model):
    """One revision of a system, probed with one kind of saliency.

    ``saliency`` holds the options as the model server takes them, NULL for none; ``method`` names them.
    Records without a result are the pending work.
    """

    dataset = models.ForeignKey(Dataset, on_delete=models.PROTECT, related_name="reading_probes")
    system = models.ForeignKey(System, on_delete=models.PROTECT, related_name="reading_probes")
    revision = models.CharField(max_length=64)
    method = models.CharField(max_length=100, blank=True)
    saliency = models.JSONField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["dataset", "system", "revision", "method"], name="reading_probe_once_per_method"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.system} on {self.dataset}, {self.method or 'answers alone'}"


class ReadingRecord(models.Model):
    """The result of a probe on one instance, or an error.

    ``result`` has the form of ``analysis.counterfactuals.alignment``. A record with neither is pending.
    """

    probe = models.ForeignKey(ReadingProbe, on_delete=models.CASCADE, related_name="records")
    instance = models.ForeignKey(ReadingInstance, on_delete=models.PROTECT, related_name="records")
    result: Any = models.JSONField(null=True)
    error = models.TextField(blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["probe", "instance"], name="reading_record_once_per_probe"),
            models.CheckConstraint(
                condition=models.Q(result__isnull=True) | models.Q(error=""),
                name="reading_record_not_both",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.instance_id}: {self.error or ('done' if self.result else 'pending')}"
