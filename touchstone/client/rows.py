"""Types of the rows that a site returns.

They have the fields of the site's own types, as its OpenAPI document has them; a test compares the two. Times
are ISO 8601 in UTC.
"""

from __future__ import annotations

from typing import Any, Literal, TypedDict

RoleName = Literal["owner", "researcher", "analyst", "viewer", "manager", "adjudicator", "annotator"]
JobStatus = Literal["pending", "running", "done", "failed", "cancelled"]
RunStatus = Literal["pending", "running", "paused", "done", "failed", "cancelled"]
StudyStatus = Literal["draft", "open", "paused", "closed"]
Mode = Literal["live", "pilot", "bot"]
WebhookKind = Literal["participant_completed", "participant_flagged", "quota_reached"]
PaymentState = Literal["planned", "sent", "confirmed", "failed", "unknown"]
RunKind = Literal["predict", "execute"]
SystemKind = Literal["reader", "modular"]
SaliencyMethod = Literal["integrated-gradients", "occlusion", "gradient-x-input"]
DatasetFormat = Literal[
    "hotpot", "musique", "squad", "quoref", "claims", "fever", "scifact", "esnli", "eraser-tasks", "changed"
]
BundleFormat = Literal["csv", "parquet", "jsonl", "psych-ds"]
TableName = Literal["participants", "trials", "checks", "stages", "pre-survey", "post-survey", "events"]


class WorkspaceRow(TypedDict):
    """A workspace, and your roles in it."""

    id: str
    slug: str
    name: str
    roles: list[RoleName]
    created_at: str


class ShareRow(TypedDict):
    """A role of a person on one study or annotation project alone."""

    kind: str
    object: str
    role: RoleName


class MemberRow(TypedDict):
    """A person with their roles in a workspace, and on objects of it."""

    user: str
    is_active: bool
    roles: list[RoleName]
    shares: list[ShareRow]


class InvitationRow(TypedDict):
    """An invitation that can still be accepted."""

    id: str
    role: RoleName
    kind: str
    object: str | None
    email: str
    created_at: str
    expires_at: str


class NewInvitationRow(InvitationRow):
    """A new invitation with its address, which is shown once."""

    address: str


class JobRow(TypedDict):
    """A job: ``done`` of ``total`` (None if unknown), result and error."""

    id: str
    kind: str
    workspace: str
    subject: str
    status: JobStatus
    done: int
    total: int | None
    result: dict[str, Any] | None
    file: str | None
    error: str
    created_at: str
    finished_at: str | None


class DatasetRow(TypedDict):
    """A dataset with the number of its questions."""

    id: str
    workspace: str
    name: str
    format: str
    licence: str
    questions: int
    created_at: str


class QuestionRow(TypedDict):
    """A question with its gold answer and facts, and its articles."""

    id: str
    external_id: str
    text: str
    answer: str
    kind: str
    level: str
    context: list[tuple[str, list[str]]]
    supporting_facts: list[tuple[str, int]] | None


class SystemRow(TypedDict):
    """A system that has run on a dataset that you see.

    ``kind`` and ``revision`` are None if no model server serves it now.
    """

    id: str
    name: str
    kind: SystemKind | None
    revision: str | None


class ServedSystemRow(TypedDict):
    """A system that the model servers serve now."""

    name: str
    kind: SystemKind
    revision: str
    description: str
    loaded: bool


class ServerRow(TypedDict):
    """A model server: its host and port, and if it answers."""

    address: str
    answers: bool


class ServedRows(TypedDict):
    """The model servers, and the systems that all that answer have."""

    servers: list[ServerRow]
    systems: list[ServedSystemRow]


class RunRow(TypedDict):
    """A run of a revision of a system over a dataset, with its progress."""

    id: str
    dataset: str
    system: str
    revision: str
    source: Literal["server", "file"]
    kind: RunKind
    status: RunStatus
    state: str
    saliency: SaliencyMethod | None
    error: str
    questions: int
    predictions: int
    failures: int
    created_at: str
    finished_at: str | None


class FailureRow(TypedDict):
    """The reason why a question of a run has no prediction."""

    question: str
    kind: str
    message: str


class FailureGroup(TypedDict):
    """The failures of a run that have one reason; ``first`` is one of them."""

    kind: str
    number: int
    first: FailureRow


class PredictionRow(TypedDict):
    """The answer of a run to a question, with the facts as reasons."""

    id: str
    question: str
    answer: str
    facts: list[tuple[str, int]]
    fact_probabilities: list[tuple[str, int, float]] | None
    rationale: str | None
    answer_logprob: float | None


class ScoreRow(TypedDict):
    """The scores of a run as fractions; a score of None has a reason."""

    run: str
    n: int
    values: dict[str, float | None]
    reasons: dict[str, str]
    computed_at: str


class StudyRow(TypedDict):
    """A study, and the number of its versions."""

    id: str
    slug: str
    workspace: str
    title: str
    status: StudyStatus
    archived: bool
    versions: int
    created_at: str


class DraftProblem(TypedDict):
    """A reason that prevents a launch, and the field that it lies in."""

    field: str
    detail: str


class LaunchCheck(TypedDict):
    """A check before a launch; one that is undecided needs a decision."""

    check: str
    state: Literal["done", "refused", "undecided", "decided", "waiting"]
    detail: str


class DecisionRow(TypedDict):
    """A decision to launch although a check was open."""

    check: str
    reason: str
    by: str | None
    at: str


class VersionRow(TypedDict):
    """A version that a launch froze; ``hash`` is the SHA-256 of its content."""

    id: str
    number: int
    hash: str
    frozen_at: str
    decisions: list[DecisionRow]


class PaymentLine(TypedDict):
    """One act of an order; ``earlier`` is the state of the same act before."""

    participant: str
    kind: str
    bonus: str
    amount: str | None
    is_due: bool
    earlier: str
    obstacle: str


class PaymentPlan(TypedDict):
    """Acts of an order; ``job`` carries them out, None in a dry run."""

    payments: int
    total: str
    currency: str
    lines: list[PaymentLine]
    job: JobRow | None


class PaymentRow(TypedDict):
    """An approval, a request to return, a bonus, or screen-out pay."""

    id: str
    participant: str
    kind: str
    bonus: str
    amount: str | None
    currency: str
    state: PaymentState
    note: str
    created_at: str
    sent_at: str | None


class LinkRow(TypedDict):
    """An entry link."""

    id: str
    label: str
    mode: Mode
    single_use: bool
    quota: int | None
    used_at: str | None
    created_at: str


class NewLinkRow(LinkRow):
    """A new entry link with its address, which is shown once."""

    address: str


class WebhookRow(TypedDict):
    """A webhook; ``waiting`` and ``failed`` count its deliveries."""

    id: str
    url: str
    kinds: list[str]
    active: bool
    created_at: str
    waiting: int
    failed: int


class NewWebhookRow(WebhookRow):
    """A new webhook with its signing secret, which is shown once."""

    secret: str


class DeliveryRow(TypedDict):
    """One event for one webhook. ``next_at`` is None if delivered or failed."""

    id: str
    kind: str
    created_at: str
    attempts: int
    next_at: str | None
    delivered_at: str | None
    last_error: str


class ConditionProgress(TypedDict):
    """The participants of one condition, or of a group of conditions."""

    version: int
    condition: str
    label: str
    is_open: bool
    quota: int | None
    assigned: int
    completed: int
    active: int
    stale: int
    returned: int
    ended: int
    withdrawn: int
    median_seconds: float | None


class ModeProgress(TypedDict):
    """The participants who came in one mode."""

    mode: Mode
    conditions: list[ConditionProgress]
    unassigned: dict[str, int]


class Flow(TypedDict):
    """The numbers of participants at each step, by mode and condition."""

    modes: dict[str, dict[str, Any]]


class EstimateRow(TypedDict):
    """A measure in a condition so far, with its 95 % confidence interval."""

    measure: str
    unit: str
    condition: str
    value: float | None
    low: float | None
    high: float | None
    participants: int
    reason: str | None


class EstimatesSoFar(TypedDict):
    """Interim estimates of the newest version with responses."""

    version: int | None
    trials: int
    excluded: int
    results: list[EstimateRow]


class Progress(TypedDict):
    """The progress of a study."""

    study: str
    status: StudyStatus
    modes: list[ModeProgress]
