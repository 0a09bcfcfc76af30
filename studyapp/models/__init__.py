"""Tables of studies, versions, links, participants and judgements."""

from studyapp.models.conduct import ItemTime
from studyapp.models.correctness import JudgedAnswer, Judgement, ProposedVerdict
from studyapp.models.drafts import DraftRevision
from studyapp.models.launches import LaunchDecision
from studyapp.models.participants import (
    Device,
    Event,
    Outcome,
    Participant,
    Stage,
    StageResponse,
    SurveyResponse,
    TimedPage,
    Trial,
)
from studyapp.models.payments import Payment
from studyapp.models.recruitment import ExternalIds, ReceivedNotice
from studyapp.models.results import ManualExclusion, Report
from studyapp.models.sizes import SizePlan
from studyapp.models.studies import (
    Condition,
    EntryLink,
    Item,
    Mode,
    Stimulus,
    Study,
    StudyShare,
    StudyVersion,
)
from studyapp.models.webhooks import StudyDelivery, StudyWebhook, WebhookEvent

__all__ = [
    "Condition",
    "Device",
    "DraftRevision",
    "EntryLink",
    "Event",
    "ExternalIds",
    "Item",
    "ItemTime",
    "JudgedAnswer",
    "Judgement",
    "LaunchDecision",
    "ManualExclusion",
    "Mode",
    "Outcome",
    "Participant",
    "Payment",
    "ProposedVerdict",
    "ReceivedNotice",
    "Report",
    "SizePlan",
    "Stage",
    "StageResponse",
    "Stimulus",
    "Study",
    "StudyDelivery",
    "StudyShare",
    "StudyVersion",
    "StudyWebhook",
    "SurveyResponse",
    "TimedPage",
    "Trial",
    "WebhookEvent",
]
