"""Types of the rows of a site, for its REST API and for its client.

The site checks its answers against them, and describes them in its OpenAPI document. Times are ISO 8601 in
UTC; null in JSON is None.
"""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict, Field, with_config
from pydantic_core import to_jsonable_python
from typing_extensions import TypedDict  # that of Python 3.11 does not keep what pydantic needs

Id = Annotated[str, Field(pattern=r"^[0-9]+$", max_length=18)]  # databases hold no more digits
_FromObject = BeforeValidator(to_jsonable_python)  # the site has a date where the client has its text
Time = Annotated[str, _FromObject, Field(json_schema_extra={"format": "date-time"})]
Day = Annotated[str, _FromObject, Field(json_schema_extra={"format": "date"})]
Uuid = Annotated[str, _FromObject, Field(json_schema_extra={"format": "uuid"})]
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


@with_config(ConfigDict(extra="forbid"))
class Row(TypedDict):
    """Base of the types of rows: no other fields."""


class WorkspaceRow(Row):
    """A workspace, and your roles in it."""

    id: str
    slug: str
    name: str
    roles: list[RoleName]
    created_at: Time


class ShareRow(Row):
    """A role of a person on one study or annotation project alone."""

    kind: str
    object: str
    role: RoleName


class MemberRow(Row):
    """A person with their roles in a workspace, and on objects of it."""

    user: str
    is_active: bool
    roles: list[RoleName]
    shares: list[ShareRow]


class InvitationRow(Row):
    """An invitation that can still be accepted.

    ``object`` is the study or project that it is for, null for the whole workspace.
    """

    id: str
    role: RoleName
    kind: str
    object: str | None
    email: str
    created_at: Time
    expires_at: Time


class NewInvitationRow(InvitationRow):
    """A new invitation with its address, which is shown once."""

    address: str


class JobRow(Row):
    """A job of yours: its progress, and its result once it is done.

    ``total`` is null while it is unknown; ``file`` is the address of the file that the job made, null
    without one.
    """

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
    created_at: Time
    finished_at: Time | None


class DatasetRow(Row):
    """A dataset with the number of its questions."""

    id: Id
    workspace: str
    name: str
    format: str
    licence: str
    questions: int
    created_at: Time


class QuestionRow(Row):
    """A question with its gold answer and facts, and its articles.

    ``context`` is ``[[title, [sentence, …]], …]``; ``supporting_facts`` is ``[[title, index], …]``, null if
    they are unknown.
    """

    id: Id
    external_id: str
    text: str
    answer: str
    kind: str
    level: str
    context: list[tuple[str, list[str]]]
    supporting_facts: list[tuple[str, int]] | None


class SystemRow(Row):
    """A system that has run on a dataset that you see.

    ``kind`` and ``revision`` are those of the model servers, null if none serves it now.
    """

    id: Id
    name: str
    kind: SystemKind | None
    revision: str | None


class ServedSystemRow(Row):
    """A system that the model servers serve now.

    A reader answers questions (``predict``), a modular one executes programs (``execute``). ``revision`` is
    empty until the system is loaded for the first time.
    """

    name: str
    kind: SystemKind
    revision: str
    description: str
    loaded: bool


class ServerRow(Row):
    """A model server: its host and port, and if it answers."""

    address: str
    answers: bool


class ServedRows(Row):
    """The model servers, and the systems that all of them that answer have."""

    servers: list[ServerRow]
    systems: list[ServedSystemRow]


class RunRow(Row):
    """A run of a revision of a system over a dataset, with its progress.

    ``source`` is ``server`` for predictions of the model server, ``file`` for imported ones. ``state`` is
    the label of the status, which also counts failures: ``Done with 3 failures``. ``saliency`` is the method
    of its weights, null for none.
    """

    id: Id
    dataset: Id
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
    created_at: Time
    finished_at: Time | None


class FailureRow(Row):
    """The reason why a question of a run has no prediction."""

    question: str
    kind: str
    message: str


class FailureGroup(Row):
    """The failures of a run that have one reason; ``first`` is one of them."""

    kind: str
    number: int
    first: FailureRow


class PredictionRow(Row):
    """The answer of a run to a question, with the facts it gave as reasons."""

    id: Id
    question: str
    answer: str
    facts: list[tuple[str, int]]
    fact_probabilities: list[tuple[str, int, float]] | None
    rationale: str | None
    answer_logprob: float | None


class ScoreRow(Row):
    """The scores of a run as fractions; a score of null has a reason."""

    run: Id
    n: int
    values: dict[str, float | None]
    reasons: dict[str, str]
    computed_at: Time


class StudyRow(Row):
    """A study, and the number of its versions."""

    id: str
    slug: str
    workspace: str
    title: str
    status: StudyStatus
    archived: bool
    versions: int
    created_at: Time


class DraftProblem(Row):
    """A reason that prevents a launch, and the field that it lies in."""

    field: str
    detail: str


class LaunchCheck(Row):
    """A check before a launch; one that is undecided needs a decision."""

    check: str
    state: Literal["done", "refused", "undecided", "decided", "waiting"]
    detail: str


class DecisionRow(Row):
    """A decision to launch although a check was open."""

    check: str
    reason: str
    by: str | None
    at: str


class VersionRow(Row):
    """A version that a launch froze; ``hash`` is the SHA-256 of its content."""

    id: str
    number: int
    hash: str
    frozen_at: Time
    decisions: list[DecisionRow]


class PaymentLine(Row):
    """One act of an order; ``earlier`` is the state of the same act before."""

    participant: str
    kind: str
    bonus: str
    amount: str | None
    is_due: bool
    earlier: str
    obstacle: str


class PaymentPlan(Row):
    """Acts of an order; ``job`` carries them out, null in a dry run."""

    payments: int
    total: str
    currency: str
    lines: list[PaymentLine]
    job: JobRow | None


class PaymentRow(Row):
    """An approval, a request to return, a bonus, or screen-out pay."""

    id: str
    participant: str
    kind: str
    bonus: str
    amount: str | None
    currency: str
    state: PaymentState
    note: str
    created_at: Time
    sent_at: Time | None


class LinkRow(Row):
    """An entry link. Its address is in the response that creates it alone."""

    id: str
    label: str
    mode: Mode
    single_use: bool
    quota: int | None
    used_at: Time | None
    created_at: Time


class NewLinkRow(LinkRow):
    """A new entry link with its address, which is shown once."""

    address: str


class WebhookRow(Row):
    """An address that receives events; all kinds if ``kinds`` is empty.

    ``waiting`` and ``failed`` count its deliveries.
    """

    id: str
    url: str
    kinds: list[str]
    active: bool
    created_at: Time
    waiting: int
    failed: int


class NewWebhookRow(WebhookRow):
    """A new webhook with its signing secret, which is shown only once."""

    secret: str


class DeliveryRow(Row):
    """One event for one address. ``next_at`` is null if delivered or failed."""

    id: str
    kind: str
    created_at: Time
    attempts: int
    next_at: Time | None
    delivered_at: Time | None
    last_error: str


class ConditionProgress(Row):
    """Progress of a study in one condition, or in a group of conditions.

    Of the assigned participants ``active`` were seen lately and ``stale`` were not; ``returned`` gave their
    submission back on the recruitment platform; the site sent ``ended`` away. ``quota`` is the smallest of
    the group, and ``median_seconds`` the median time of an item, null before the first.
    """

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


class ModeProgress(Row):
    """The participants who came in one mode.

    ``unassigned`` counts those who consented and have no condition, by outcome ("" is in progress).
    """

    mode: Mode
    conditions: list[ConditionProgress]
    unassigned: dict[str, int]


class Flow(Row):
    """The numbers of participants at each step, by mode and condition.

    ``modes`` has the form of ``flow.json`` in the export bundle.
    """

    modes: dict[str, dict[str, Any]]


class EstimateRow(Row):
    """A measure in a condition so far, with its 95 % confidence interval.

    ``value`` and the interval are null if they cannot be given; ``reason`` says why.
    """

    measure: str
    unit: str
    condition: str
    value: float | None
    low: float | None
    high: float | None
    participants: int
    reason: str | None


class EstimatesSoFar(Row):
    """Interim estimates of the newest version with responses.

    ``excluded`` of ``trials`` were left out by the rules of the study. ``version`` is null before the first
    response.
    """

    version: int | None
    trials: int
    excluded: int
    results: list[EstimateRow]


class Progress(Row):
    """The progress of a study; ``median_seconds`` is the time of an item."""

    study: str
    status: StudyStatus
    modes: list[ModeProgress]
