"""Judgements of answers that miss the gold answer.

Two judges decide whether an answer is correct all the same.
"""

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from predictions.models.data import Question
from studyapp.models.studies import Frozen


class JudgedAnswer(models.Model):
    """An answer to a question that is not an exact match.

    It is judged once, whichever systems or people gave it. ``from_people`` is True if participants gave it
    themselves; it is then in the queue of every run over its question.

    ``digest`` is the SHA-256 of the answer, so that texts of any length can be unique. The decision is
    ``is_correct``, NULL until it is settled; it is written once.
    """

    class How(models.TextChoices):
        AGREEMENT = "agreement", _("Agreement")
        THIRD_JUDGE = "third judge", _("Third judge")
        DISCUSSION = "discussion", _("Discussion")

    question = models.ForeignKey(Question, on_delete=models.PROTECT, related_name="judged_answers")
    answer = models.TextField()
    digest = models.CharField(max_length=64)
    from_people = models.BooleanField(default=False)
    is_correct = models.BooleanField(null=True)
    settled_how = models.CharField(max_length=20, choices=How, blank=True)
    settled_at = models.DateTimeField(null=True)
    settled_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT)
    note = models.TextField(blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["question", "digest"], name="answer_judged_once_per_question"),
            models.CheckConstraint(
                condition=Q(
                    is_correct__isnull=True, settled_how="", settled_at__isnull=True, settled_by__isnull=True
                )
                | (
                    Q(is_correct__isnull=False, settled_at__isnull=False, settled_by__isnull=False)
                    & ~Q(settled_how="")
                ),
                name="decision_says_how_who_and_when",
            ),
            models.CheckConstraint(
                condition=Q(settled_how__in=["", "agreement"]) | ~Q(note=""),
                name="settled_disagreement_has_note",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.question_id}: {self.answer[:60]}"


class Judgement(Frozen):
    """A judgement of an answer.

    ``place`` is 1 or 2: there is no third judgement, and nobody gives both.
    """

    judged = models.ForeignKey(JudgedAnswer, on_delete=models.PROTECT, related_name="judgements")
    place = models.PositiveSmallIntegerField()  # words: allow - the name of a database field
    judge = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    is_correct = models.BooleanField()
    note = models.TextField(blank=True)
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["judged_id", "place"]
        constraints = [
            models.UniqueConstraint(fields=["judged", "judge"], name="judge_once_per_answer"),
            models.UniqueConstraint(fields=["judged", "place"], name="judgement_place_once"),
            models.CheckConstraint(condition=Q(place__in=[1, 2]), name="two_judgements_per_answer"),
        ]

    def __str__(self) -> str:
        return f"judgement {self.place} of {self.judged_id}"


class ProposedVerdict(Frozen):
    """A verdict that a program proposes, such as a language model.

    Judges see it beside the buttons. It decides nothing and is no judgement.
    """

    judged = models.ForeignKey(JudgedAnswer, on_delete=models.PROTECT, related_name="proposals")
    proposed_by = models.CharField(max_length=100)
    is_correct = models.BooleanField()
    imported_at = models.DateTimeField(auto_now_add=True)
    imported_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")

    class Meta:
        ordering = ["judged_id", "proposed_by"]
        constraints = [
            models.UniqueConstraint(fields=["judged", "proposed_by"], name="proposal_once_per_answer")
        ]

    def __str__(self) -> str:
        return f"proposal of {self.proposed_by} for {self.judged_id}"
