"""Tables of datasets, predictions, scores and reading probes."""

from predictions.models.data import Dataset, Question
from predictions.models.events import Event
from predictions.models.predictions import (
    Prediction,
    PredictionFailure,
    PredictionRun,
    QuestionScore,
    ReducedAnswer,
    Score,
    System,
)
from predictions.models.reading import ReadingInstance, ReadingProbe, ReadingRecord

__all__ = [
    "Dataset",
    "Event",
    "Prediction",
    "PredictionFailure",
    "PredictionRun",
    "Question",
    "QuestionScore",
    "ReadingInstance",
    "ReadingProbe",
    "ReadingRecord",
    "ReducedAnswer",
    "Score",
    "System",
]
