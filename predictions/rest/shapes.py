"""Types of requests and responses about datasets and predictions."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field

from accounts.rest.bodies import Payload
from accounts.rest.pages import Page, PageOf
from foundation.import_fields import Text
from modelserver.wire.schema import SaliencyMethod, SystemKind

Id = Annotated[str, Field(pattern=r"^[0-9]+$")]
RunKindName = Literal["predict", "execute"]
QuestionFormat = Literal[
    "hotpot", "musique", "squad", "quoref", "claims", "fever", "scifact", "esnli", "eraser-tasks", "changed"
]
RunStatus = Literal["pending", "running", "paused", "done", "failed", "cancelled"]
Name = Annotated[Text, Field(min_length=1, max_length=100)]


class DatasetRow(Payload):
    """A dataset with the number of its questions."""

    id: Id
    workspace: str
    name: str
    format: str
    licence: str
    questions: int
    created_at: datetime


class QuestionRow(Payload):
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


class PredictingSystemRow(Payload):
    """A system that has run on a dataset that you see.

    ``kind`` and ``revision`` are those of the model servers, null if none serves it now.
    """

    id: Id
    name: str
    kind: SystemKind | None
    revision: str | None


class ServedSystemRow(Payload):
    """A system that the model servers serve now.

    A reader answers questions (``predict``), a modular one executes programs (``execute``). ``revision`` is
    empty until the system is loaded for the first time.
    """

    name: str
    kind: SystemKind
    revision: str
    description: str
    loaded: bool


class ServerRow(Payload):
    """A model server: its host and port, and if it answers."""

    address: str
    answers: bool


class Served(Payload):
    """The model servers, and the systems that all of them that answer have."""

    servers: list[ServerRow]
    systems: list[ServedSystemRow]


class RunRow(Payload):
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
    kind: RunKindName
    status: RunStatus
    state: str
    saliency: SaliencyMethod | None
    error: str
    questions: int
    predictions: int
    failures: int
    created_at: datetime
    finished_at: datetime | None


class NewRun(Payload):
    """The dataset, and a system that the model server serves.

    A reader can ``predict``, a modular system can ``execute`` programs.
    """

    dataset: Id
    system: Name
    kind: RunKindName = "predict"


class NewSaliency(Payload):
    """The method by which words are weighed."""

    method: SaliencyMethod = "integrated-gradients"


class FailureRow(Payload):
    """The reason why a question of a run has no prediction."""

    question: str
    kind: str
    message: str


class FailureGroup(Payload):
    """The failures of a run that have one reason; ``first`` is one of them."""

    kind: str
    number: int
    first: FailureRow


class Failures(Payload):
    """The failures of a run, grouped by their reason."""

    results: list[FailureGroup]


class RunPredictionRow(Payload):
    """The answer of a run to a question, with the facts it gave as reasons."""

    id: Id
    question: str
    answer: str
    facts: list[tuple[str, int]]
    fact_probabilities: list[tuple[str, int, float]] | None
    rationale: str | None
    answer_logprob: float | None


class ScoreRow(Payload):
    """The scores of a run as fractions; a score of null has a reason."""

    run: Id
    n: int
    values: dict[str, float | None]
    reasons: dict[str, str]
    computed_at: datetime


class InWorkspace(Page):
    """A part of a list, and the workspace to list (all of yours)."""

    workspace: Name | None = None


class DatasetQuery(InWorkspace):
    """Filters of datasets."""

    name: Name | None = None


class QuestionQuery(Page):
    """Filters of questions: their ID, or words of their text or answer."""

    external_id: Annotated[Text, Field(min_length=1, max_length=200)] | None = None
    search: Annotated[Text, Field(min_length=1, max_length=200)] | None = None


class RunQuery(InWorkspace):
    """Filters of runs."""

    dataset: Id | None = None
    system: Name | None = None
    status: RunStatus | None = None


class ImportQuery(Payload):
    """The file to import, which is the body.

    A dataset needs ``workspace``, ``name`` and ``format``, predictions need ``dataset`` and ``system``. With
    ``dry_run`` the job reads all of the file and stores nothing: its result previews the import, which
    ``imports/ID/apply/`` does then. ``strict`` refuses predicted facts that are not [title, index], which
    otherwise score as in the official script. The file may be packed with zip or gzip.
    """

    kind: Literal["dataset", "predictions"]
    workspace: Name | None = None
    name: Name | None = None
    format: QuestionFormat | None = None
    dataset: Id | None = None
    system: Name | None = None
    dry_run: bool = False
    strict: bool = False
    licence: Annotated[Text, Field(max_length=100)] = ""
    file_name: Annotated[Text, Field(max_length=100)] = "upload"


class PredictionQuery(Page):
    """Filters of predictions."""

    question: Annotated[Text, Field(min_length=1, max_length=200)] | None = None


DatasetPage, QuestionPage, SystemPage = PageOf[DatasetRow], PageOf[QuestionRow], PageOf[PredictingSystemRow]
RunPage, PredictionPage = PageOf[RunRow], PageOf[RunPredictionRow]
