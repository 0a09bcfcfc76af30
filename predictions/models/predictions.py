"""Tables of systems, their predictions on a dataset, and the scores."""

from typing import Any, cast

from django.db import models
from django.utils.translation import gettext_lazy as _

from accounts.models import Role, User, Workspace
from jobs.models import SlicedRun
from modelserver.wire.schema import (
    AnswerLocation,
    AnswerType,
    FactProbability,
    LanguageModel,
    QAPrediction,
    QuestionWeight,
    SaliencyOptions,
    TokenWeight,
    Usage,
)
from predictions.explanations.saliency import name_method
from predictions.models.data import Dataset, Question


class System(models.Model):
    """A system, served or known by its prediction files only."""

    name = models.CharField(max_length=100, unique=True)

    class Meta:
        constraints = [models.CheckConstraint(condition=~models.Q(name=""), name="system_has_name")]

    def __str__(self) -> str:
        return self.name


class PredictionRun(SlicedRun):
    """The predictions of one revision of a system on one dataset.

    ``saliency`` holds the options of its explanation weights in the wire form; NULL if nobody asked for
    weights. ``language_model`` holds the wire form of the language model that answered, with the address
    that texts were sent to, as of the latest start; NULL for other systems.
    """

    class Source(models.TextChoices):
        """The origin of the predictions."""

        SERVER = "server"
        FILE = "file"

    class Kind(models.TextChoices):
        """The work of the system: to answer questions, or to execute programs."""

        PREDICT = "predict", _("Predictions")
        EXECUTE = "execute", _("Program execution")

    dataset = models.ForeignKey(Dataset, on_delete=models.PROTECT, related_name="runs")
    system = models.ForeignKey(System, on_delete=models.PROTECT, related_name="runs")
    revision = models.CharField(max_length=64)
    schema_version = models.PositiveSmallIntegerField()
    source = models.CharField(max_length=10, choices=Source)
    kind = models.CharField(max_length=10, choices=Kind, default=Kind.PREDICT)
    saliency = models.JSONField(null=True)
    language_model = models.JSONField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["dataset", "system", "revision"], name="run_once_per_dataset_system_revision"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.system} on {self.dataset} ({self.revision})"

    @property
    def asked(self) -> LanguageModel | None:
        """The language model that answers, or None for another system."""
        return None if self.language_model is None else LanguageModel.model_validate(self.language_model)

    @property
    def saliency_method(self) -> str:
        """The method of the explanation weights, empty for none."""
        return name_method(None if self.saliency is None else SaliencyOptions.model_validate(self.saliency))

    @property
    def workspace(self) -> Workspace:
        """The workspace of the dataset."""
        return self.dataset.workspace

    def shared_roles(self, user: User) -> frozenset[Role]:
        """Return no roles: runs are shared as a part of their workspace."""
        return frozenset()


class Prediction(models.Model):
    """One answer with its explanation.

    The JSON columns have the form of ``modelserver.wire.schema``.

    Attributes:
        question_weights: Start, end and weight of the question's words; NULL if unknown.
        steps: The steps of a modular network (``predictions.explanations.program_steps``); NULL for
            other systems.
        saliency_error: Why the weights that the run asks for are missing.
    """

    run = models.ForeignKey(PredictionRun, on_delete=models.CASCADE, related_name="predictions")
    question = models.ForeignKey(Question, on_delete=models.PROTECT, related_name="predictions")
    answer = models.TextField(blank=True)
    answer_type = models.CharField(max_length=10, null=True)  # noqa: DJ001 (unknown is not the empty text)
    location = models.JSONField(null=True)
    facts = models.JSONField()
    fact_probabilities = models.JSONField(null=True)
    threshold = models.FloatField(null=True)
    explanation_weights = models.JSONField(null=True)
    question_weights = models.JSONField(null=True)
    rationale = models.TextField(null=True, blank=True)  # noqa: DJ001 (none is not the empty text)
    answer_logprob = models.FloatField(null=True)
    usage = models.JSONField(null=True)
    unknown_citations = models.JSONField(null=True)
    steps = models.JSONField(null=True)
    saliency_error = models.TextField(blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["run", "question"], name="prediction_once_per_run_and_question"),
        ]

    def __str__(self) -> str:
        return f"{self.question_id}: {self.answer[:60]}"

    def wire(self, external_id: str) -> QAPrediction:
        """Return the prediction as the model server gave it."""
        return QAPrediction(
            id=external_id,
            answer=self.answer,
            type=cast("AnswerType | None", self.answer_type),
            location=AnswerLocation.model_validate(self.location) if self.location is not None else None,
            facts=[tuple(fact) for fact in self.facts],
            fact_probabilities=None
            if self.fact_probabilities is None
            else [
                FactProbability(title=title, index=index, probability=p)
                for title, index, p in self.fact_probabilities
            ],
            threshold=self.threshold,
            explanation_weights=None
            if self.explanation_weights is None
            else [
                TokenWeight(title=title, index=index, start=start, end=end, weight=weight)
                for title, index, start, end, weight in self.explanation_weights
            ],
            question_weights=None
            if self.question_weights is None
            else [
                QuestionWeight(start=start, end=end, weight=weight)
                for start, end, weight in self.question_weights
            ],
            rationale=self.rationale,
            answer_logprob=self.answer_logprob,
            usage=None if self.usage is None else Usage.model_validate(self.usage),
            unknown_citations=self.unknown_citations,
        )

    @staticmethod
    def columns(prediction: QAPrediction) -> dict[str, Any]:
        """Return the column values of a prediction from the model server."""
        return {
            "answer": prediction.answer,
            "answer_type": prediction.type,
            "location": None if prediction.location is None else prediction.location.model_dump(mode="json"),
            "facts": [list(fact) for fact in prediction.facts],
            "fact_probabilities": None
            if prediction.fact_probabilities is None
            else [[f.title, f.index, f.probability] for f in prediction.fact_probabilities],
            "threshold": prediction.threshold,
            "explanation_weights": None
            if prediction.explanation_weights is None
            else [[w.title, w.index, w.start, w.end, w.weight] for w in prediction.explanation_weights],
            "question_weights": None
            if prediction.question_weights is None
            else [[w.start, w.end, w.weight] for w in prediction.question_weights],
            "rationale": prediction.rationale,
            "answer_logprob": prediction.answer_logprob,
            "usage": None if prediction.usage is None else prediction.usage.model_dump(mode="json"),
            "unknown_citations": prediction.unknown_citations,
        }


class PredictionFailure(models.Model):
    """The reason why a question has no prediction.

    Starting the run again tries it once more.
    """

    run = models.ForeignKey(PredictionRun, on_delete=models.CASCADE, related_name="failures")
    question = models.ForeignKey(Question, on_delete=models.PROTECT)
    kind = models.CharField(max_length=40)
    message = models.TextField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["run", "question"], name="failure_once_per_run_and_question"),
        ]

    def __str__(self) -> str:
        return f"{self.kind}: {self.message[:60]}"


class ReducedAnswer(models.Model):
    """The answer to a question without some facts, for FaRM.

    ``digest`` names the reduced context, so each distinct input of a prediction is computed once. If
    ``answer`` is NULL the system failed on the input, and ``error`` says why. ``target_logprob`` is the
    logarithm of the probability that the answer to the whole context still has; NULL if unknown.
    """

    prediction = models.ForeignKey(Prediction, on_delete=models.CASCADE, related_name="reduced_answers")
    digest = models.CharField(max_length=64)
    answer = models.TextField(null=True, blank=True)  # noqa: DJ001 (no answer is not the empty answer)
    error = models.TextField(blank=True)
    target_logprob = models.FloatField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["prediction", "digest"], name="reduced_answer_once_per_context"),
            models.CheckConstraint(
                condition=models.Q(answer__isnull=False) | ~models.Q(error=""),
                name="reduced_answer_or_error",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.digest[:8]}: {(self.answer or self.error)[:60]}"


class Score(models.Model):
    """The scores of a run as fractions; a missing score has a reason."""

    run = models.OneToOneField(PredictionRun, on_delete=models.CASCADE, related_name="score")
    schema_version = models.PositiveSmallIntegerField()
    n = models.PositiveIntegerField()
    values = models.JSONField()
    reasons = models.JSONField()
    computed_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"scores of {self.run}"


class QuestionScore(models.Model):
    """The parts of one question in the scores of a run.

    ``parts`` is a list as `predictions.scores.scoring.PARTS`, with null for scores that are not given.
    Confidence intervals need it.
    """

    score = models.ForeignKey(Score, on_delete=models.CASCADE, related_name="questions")
    question = models.ForeignKey(Question, on_delete=models.PROTECT, related_name="+")
    parts = models.JSONField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["score", "question"], name="question_scored_once_per_run"),
        ]

    def __str__(self) -> str:
        return f"{self.question_id}: {self.score_id}"
