"""Tables of the study app: data, systems' predictions and scores, studies, participants."""

from studyapp.models.correctness import JudgedAnswer, Judgement
from studyapp.models.data import Dataset, Question
from studyapp.models.drafts import DraftRevision
from studyapp.models.participants import (
    Event,
    Outcome,
    Participant,
    Stage,
    StageResponse,
    SurveyResponse,
    TimedPage,
    Trial,
)
from studyapp.models.predictions import (
    Prediction,
    PredictionFailure,
    PredictionRun,
    QuestionScore,
    ReducedAnswer,
    Score,
    System,
)
from studyapp.models.reading import ReadingInstance, ReadingProbe, ReadingRecord
from studyapp.models.recruitment import ExternalIds, ReceivedNotice
from studyapp.models.sizes import SizePlan
from studyapp.models.studies import Condition, EntryLink, Item, Mode, Stimulus, Study, StudyVersion

__all__ = [
    "Condition",
    "Dataset",
    "DraftRevision",
    "EntryLink",
    "Event",
    "ExternalIds",
    "Item",
    "JudgedAnswer",
    "Judgement",
    "Mode",
    "Outcome",
    "Participant",
    "Prediction",
    "PredictionFailure",
    "PredictionRun",
    "Question",
    "QuestionScore",
    "ReadingInstance",
    "ReadingProbe",
    "ReadingRecord",
    "ReceivedNotice",
    "ReducedAnswer",
    "Score",
    "SizePlan",
    "Stage",
    "StageResponse",
    "Stimulus",
    "Study",
    "StudyVersion",
    "SurveyResponse",
    "System",
    "TimedPage",
    "Trial",
]
