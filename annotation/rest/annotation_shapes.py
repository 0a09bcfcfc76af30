"""Types of requests and responses about annotations and the editor."""

from datetime import datetime
from typing import Annotated, Any

from pydantic import Field

from accounts.rest.bodies import Payload
from accounts.rest.pages import Page
from annotation.content.operations import OperationIn
from annotation.content.schemas import Document, Note, ObjectId, Position
from annotation.rest.shapes import Name, UserName
from foundation.imports.import_fields import Text
from touchstone.client.project_rows import AnnotationStatus, CommentRow, HistoryRow, Task

KeyName = Annotated[str, Field(max_length=40, pattern=r"^[^\x00]*$")]
OutputName = Annotated[Text, Field(min_length=3, max_length=201, pattern="@")]


class AnnotationRow(Payload):
    """One person's annotation of an item, or an adjudication."""

    id: str
    project: str
    item_id: str
    item: str
    annotator: str
    task: Task
    status: AnnotationStatus
    revision: int
    started_at: datetime
    saved_at: datetime | None
    submitted_at: datetime | None
    active_seconds: float
    predictions_shown: list[str]
    document: Document


class AnnotationQuery(Page):
    """Filters of annotations. Annotators see their own."""

    item: Name | None = None
    annotator: Name | None = None
    status: AnnotationStatus | None = None


class NewAssignment(Payload):
    """An item, by its external ID, and the person who is to annotate it."""

    item: Name
    annotator: UserName


class AnnotationDetail(AnnotationRow):
    """An annotation with every edit, oldest first, and its comments."""

    history: list[HistoryRow]
    comments: list[CommentRow]


class EditorState(Payload):
    """All that the editor shows of an annotation.

    ``values`` are those of the program's steps, and ``mismatch`` says if they contradict the answer. ``runs``
    has the values of a node for the left and the right image, below modules that take each alone.
    """

    revision: int
    values: list[Any]
    runs: list[list[Any]]
    mismatch: bool | None
    id: str
    task: Task
    status: AnnotationStatus
    reserved_until: datetime | None
    item: dict[str, Any]
    program: dict[str, Any]
    document: Document
    guidelines: dict[str, Any]
    comments: list[CommentRow]
    predictions: list[dict[str, Any]] | None
    others: dict[str, Any] | None
    history: list[dict[str, Any]]
    keys: dict[str, str]


class NextItem(Payload):
    """The state of your next annotation, or null and the reason."""

    annotation: EditorState | None
    reason: str = ""


class Following(Payload):
    """The page to continue at.

    ``annotation`` is the state of the next item, if ``go_on`` asked for one and there is one.
    """

    next: str
    annotation: EditorState | None = None


class Operations(Payload):
    """A batch of edits, in order."""

    operations: Annotated[tuple[OperationIn, ...], Field(min_length=1, max_length=500)]


class Submission(Payload):
    """The revision that the person sees, and if they want the next item."""

    revision: Position
    go_on: bool = False


class ShownOutputs(Payload):
    """Model outputs that are on the screen, each as ``system@revision``."""

    outputs: Annotated[tuple[OutputName, ...], Field(min_length=1, max_length=100)]


class Decision(Payload):
    """The revision that the reviewer sees."""

    revision: Position


class Return(Decision):
    """The requested changes, and the step that they are about."""

    text: Annotated[Note, Field(min_length=1)]
    node: Position | None = None


class NewComment(Payload):
    """A comment on an annotation, a node or an object."""

    text: Annotated[Note, Field(min_length=1)]
    node: Position | None = None
    object: ObjectId | None = None


class Keys(Payload):
    """Keyboard shortcuts by act of the editor."""

    keys: dict[KeyName, Annotated[KeyName, Field(min_length=1)]]
