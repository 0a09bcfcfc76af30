"""Types of requests and responses about datasets and predictions."""

from typing import Annotated, Literal

from pydantic import Field

from accounts.rest.bodies import Payload
from accounts.rest.pages import Page
from foundation.imports.import_fields import Text
from modelserver.wire.schema import SaliencyMethod
from touchstone.client.rows import (
    DatasetFormat,
    FailureGroup,
    Id,
    RunKind,
    RunStatus,
)

Name = Annotated[Text, Field(min_length=1, max_length=100)]


class NewRun(Payload):
    """The dataset, and a system that the model server serves.

    A reader can ``predict``, a modular system can ``execute`` programs.
    """

    dataset: Id
    system: Name
    kind: RunKind = "predict"


class NewSaliency(Payload):
    """The method by which words are weighed."""

    method: SaliencyMethod = "integrated-gradients"


class Failures(Payload):
    """The failures of a run, grouped by their reason."""

    results: list[FailureGroup]


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
    format: DatasetFormat | None = None
    dataset: Id | None = None
    system: Name | None = None
    dry_run: bool = False
    strict: bool = False
    licence: Annotated[Text, Field(max_length=100)] = ""
    file_name: Annotated[Text, Field(max_length=100)] = "upload"


class PredictionQuery(Page):
    """Filters of predictions."""

    question: Annotated[Text, Field(min_length=1, max_length=200)] | None = None
