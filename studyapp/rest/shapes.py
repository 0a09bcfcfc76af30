"""Types of requests and responses about studies."""

from decimal import Decimal
from typing import Annotated, Any

from pydantic import Field, JsonValue, StringConstraints

from accounts.rest.bodies import Payload
from accounts.rest.pages import Page
from foundation.imports.import_fields import Filled, Text
from studyapp.definition.participation.payments import MOST_ROWS, Amount, Group
from studyapp.queries.running.progress import ModeName
from studyapp.simulation_job import BehaviourName
from touchstone.client.rows import (
    BundleFormat,
    DraftProblem,
    LaunchCheck,
    StudyStatus,
    WebhookKind,
)

Name = Annotated[Text, Field(min_length=1, max_length=100)]


class PersonData(Payload):
    """All that is stored about a participant, by table, and the consent text."""

    tables: dict[str, list[dict[str, Any]]]


class StudyQuery(Page):
    """Filters of studies."""

    workspace: Name | None = None
    status: StudyStatus | None = None
    archived: bool | None = None


class NewDraft(Payload):
    """The definition that replaces the draft; it need not be complete."""

    definition: dict[str, JsonValue]


class NewStudy(NewDraft):
    """A study definition, as its YAML file has it; it need not be complete."""

    workspace: Name


class DraftState(Payload):
    """The draft of a study, its revision, and what prevents a launch."""

    revision: int
    definition: dict[str, Any]
    problems: list[DraftProblem]
    checks: list[LaunchCheck]


class LaunchOrder(Payload):
    """Decisions to launch although checks are open: a reason by check."""

    accept: dict[Text, Text] = {}


Reason = Annotated[Filled, StringConstraints(strip_whitespace=True, max_length=200)]


class Revocation(Payload):
    """Reason of an act on a participant for the log, without names or IDs."""

    reason: Reason


class NewLink(Payload):
    """The label, the mode and the limits of a new entry link."""

    label: Annotated[Text, Field(max_length=100)] = ""
    mode: ModeName = "live"
    single_use: bool = False
    quota: Annotated[int, Field(ge=1, le=1_000_000)] | None = None


class EstimatesQuery(Payload):
    """The mode of the participants whose responses count."""

    mode: ModeName = "live"


class Table(Payload):
    """A part of an exported table; its columns are those of the codebook."""

    next: str | None
    results: list[dict[str, Any]]


class NewExport(Payload):
    """The variant and the format of an export bundle.

    ``psych-ds`` is CSV with copies for Psych-DS.
    """

    public: bool = False
    format: BundleFormat = "csv"


class NewReport(Payload):
    """The options of a report; ``public`` makes it from the public bundle."""

    public: bool = False
    mode: ModeName | None = None
    seed: Annotated[int, Field(ge=0, lt=2**31)] = 1
    resamples: Annotated[int, Field(ge=0, le=20_000)] = 2000


class NewStudyWebhook(Payload):
    """An address to send events to."""

    url: Annotated[Text, Field(min_length=1, max_length=500)]
    kinds: Annotated[list[WebhookKind], Field(max_length=3)] = []


class DryRun(Payload):
    """A dry run stores and pays nothing."""

    dry_run: bool = False


class NewPayments(Payload):
    """An order of payments, with the number and the sum that its dry run said.

    ``returns`` are the groups that are asked to return their submission; ``bonus`` is the name of the bonus,
    which a participant gets once.
    """

    approve: bool = False
    returns: list[Group] = []
    bonus: Annotated[Text, Field(min_length=1, max_length=50)] = "bonus"
    bonus_each: Amount | None = None
    bonus_amounts: Annotated[dict[Text, Amount], Field(max_length=MOST_ROWS)] = {}
    screen_out: Amount | None = None
    currency: Annotated[str, Field(pattern="^[A-Z]{3}$")] = "GBP"
    payments: Annotated[int, Field(ge=0)] = 0
    total: Annotated[Decimal, Field(ge=0)] = Decimal(0)


class Settlement(Payload):
    """The answer of a person who looked up an unknown payment."""

    paid: bool


class NewRehearsal(Payload):
    """The number and the behaviour of the bots that rehearse a draft."""

    n: Annotated[int, Field(ge=1, le=200)] = 4
    behaviour: BehaviourName = "honest"


class RehearsalLink(Payload):
    """A link by which the team rehearses the draft; it is shown once."""

    address: str
