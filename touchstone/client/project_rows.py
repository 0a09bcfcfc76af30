"""Types of the rows of annotation projects; see `rows`."""

from typing import Any, Literal

from .rows import Day, RoleName, Row, RunStatus, Time, Uuid

Kind = Literal["boxes", "spans"]
ProjectStatus = Literal["open", "closed"]
ProjectRole = Literal["annotator", "adjudicator", "manager"]
ItemStatus = Literal["open", "complete", "gold", "no gold"]
Purpose = Literal["ordinary", "qualification", "hidden gold"]
Task = Literal["annotation", "adjudication"]
AnnotationStatus = Literal[
    "reserved", "submitted", "in review", "returned", "accepted", "expired", "released"
]
ImportFormat = Literal[
    "jsonl",
    "nlvr",
    "nlvr2",
    "drop",
    "faithful-nmn",
    "labelstudio",
    "coco",
    "reasons",
    "images",
    "plain",
    "doccano",
    "prodigy",
    "eraser",
    "conll",
    "webanno",
    "brat",
    "w3c",
    "yolo",
    "voc",
    "cvat",
]
ExportFormat = Literal[
    "jsonl",
    "parquet",
    "faithful-nmn",
    "drop",
    "coco",
    "labelstudio",
    "w3c",
    "brat",
    "reasons",
    "doccano",
    "prodigy",
    "eraser",
    "conll",
    "webanno",
    "yolo",
    "voc",
    "cvat",
]
Order = Literal["file", "random", "uncertain", "disputed", "first", "last"]
Averaging = Literal["per_example", "cumulative", "per_occurrence", "negative_iou"]


class ProjectRow(Row):
    """A project that you see, and your roles in it: by share or workspace."""

    id: str
    slug: str
    workspace: str
    title: str
    kind: Kind
    status: ProjectStatus
    roles: list[RoleName]
    annotators_per_item: int
    created_at: Time


class ProjectDetail(ProjectRow):
    """A project with its settings and its progress.

    The progress counts ordinary items and their annotations. ``complete`` items have enough submitted
    annotations; ``assignments`` is the number of annotations wanted over all items.
    """

    reservation_minutes: int
    show_answer: bool
    show_predictions: bool
    qualification_score: float | None
    hidden_gold_every: int | None
    due_on: Day | None
    items: int
    complete: int
    gold: int
    assignments: int
    submitted: int


class ProjectMemberRow(Row):
    """A person of the project, with all of their roles in it.

    ``role`` is that of the share, which has ended or never was if ``active`` is false.
    """

    id: str
    user: str
    role: ProjectRole
    active: bool
    roles: list[RoleName]
    qualified: bool | None
    blind: bool
    joined_at: Time


class GuidelineRow(Row):
    """A version of the instructions for a module ("" for the project)."""

    id: str
    module: str
    version: int
    text: str
    created_at: Time
    created_by: str | None


class ImageRow(Row):
    """An image of an item; ``url`` is empty if only its name is known."""

    id: str
    name: str
    width: int | None
    height: int | None
    url: str


class ItemRow(Row):
    """An item. For annotators, fields that could reveal gold are null.

    These are purpose, extra, counts, and the answer if the project hides it.
    """

    id: str
    external_id: str
    position: int
    kind: Kind
    program: str
    text: str
    passage: str
    tokens: list[tuple[int, int]]
    images: list[ImageRow]
    answer: bool | int | float | str | None
    purpose: Purpose | None
    extra: dict[str, Any] | None
    annotators_wanted: int | None
    assigned: int | None
    submitted: int | None
    has_gold: bool | None


class ItemImport(Row):
    """The results of an import, or of its dry run."""

    added: int
    unchanged: int
    with_gold: int
    annotations: int
    images: int


class CommentRow(Row):
    """A comment on an annotation, a node or an object."""

    id: str
    node: int | None
    object: str
    text: str
    by: str
    at: Time
    resolved: bool


class AnnotationRow(Row):
    """One person's annotation of an item, or an adjudication."""

    id: str
    project: str
    item_id: str
    item: str
    annotator: str
    task: Task
    status: AnnotationStatus
    revision: int
    started_at: Time
    saved_at: Time | None
    submitted_at: Time | None
    active_seconds: float
    predictions_shown: list[str]
    document: dict[str, Any]


class BatchRow(Row):
    """Items of one person; ``finished`` of them are submitted or beyond."""

    id: str
    name: str
    annotator: str
    due_on: Day | None
    items: int
    finished: int
    overdue: bool
    created_at: Time


class PaceRow(Row):
    """The submissions of a person on a day, and their median seconds of work."""

    annotator: str
    day: Day
    submitted: int
    median_seconds: float


class HistoryRow(Row):
    """One edit and its inverse."""

    id: Uuid
    revision: int
    by: str
    at: Time
    edit: dict[str, Any]
    inverse: dict[str, Any]
    undoes: Uuid | None


class AnnotationDetail(AnnotationRow):
    """An annotation with every edit, oldest first, and its comments."""

    history: list[HistoryRow]
    comments: list[CommentRow]


class SavedOperation(Row):
    """A stored edit, the revision after it, and the inverse edit."""

    id: Uuid
    revision: int
    inverse: dict[str, Any]


class Saved(Row):
    """An annotation after its edits.

    ``values`` are those of the program's steps, and ``mismatch`` says if they contradict the answer. ``runs``
    has the values of a node for the left and the right image, below modules that take each alone.
    """

    revision: int
    values: list[Any]
    runs: list[list[Any]]
    mismatch: bool | None
    saved: list[SavedOperation]


class EditorState(Row):
    """All that an annotator needs: item, program, document, guidelines."""

    revision: int
    values: list[Any]
    runs: list[list[Any]]
    mismatch: bool | None
    id: str
    task: Task
    status: AnnotationStatus
    reserved_until: Time | None
    item: dict[str, Any]
    program: dict[str, Any]
    document: dict[str, Any]
    guidelines: dict[str, Any]
    comments: list[CommentRow]
    predictions: list[dict[str, Any]] | None
    others: dict[str, Any] | None
    history: list[dict[str, Any]]
    keys: dict[str, str]


class NextItem(Row):
    """Your next annotation, or None and the reason."""

    annotation: EditorState | None
    reason: str


class GoldRow(Row):
    """A version of an item's gold; ``annotation`` is the one it came from."""

    id: str
    item_id: str
    item: str
    version: int
    current: bool
    method: Literal["imported", "accepted", "adjudicated"]
    annotation: str | None
    by: str | None
    at: Time
    document: dict[str, Any]


class AgreementRow(Row):
    """A measure of inter-annotator agreement with its confidence interval.

    ``by`` and ``name`` are the group of nodes: all, those of a module or depth, or those of a module at whose
    children two people agree. ``value`` is null if it cannot be given; ``reason`` says why.
    """

    by: str
    name: str
    measure: str
    value: float | None
    low: float | None
    high: float | None
    n: int
    reason: str | None


class FirstDifference(Row):
    """The number of pairs of people who first differ at a module (or never)."""

    module: str | None
    pairs: int


class Agreement(Row):
    """Inter-annotator agreement over the items that two or more finished."""

    items: int
    results: list[AgreementRow]
    first_differences: list[FirstDifference]


class OutputRow(Row):
    """The output of one revision of a system for an item."""

    id: str
    item_id: str
    item: str
    system: str
    revision: str
    created_at: Time
    proposals: list[list[tuple[float, float, float, float]]]
    modules: list[dict[str, Any]]
    answer: Any
    marks: dict[str, list[dict[str, Any]]]
    score: float | None


class OutputSystem(Row):
    """A revision of a system, with its numbers of items and of gold."""

    system: str
    revision: str
    items: int
    with_gold: int


class Figure(Row):
    """One score with a 95 % confidence interval.

    Precision, recall and F1 of boxes, or the loss of spans in nats.
    """

    n: int
    precision: float | None
    recall: float | None
    f1: float | None
    loss: float | None
    interval: tuple[float, float] | None


class WorstItem(Row):
    """An item with its score (F1, or loss) and its worst step."""

    item_id: str
    item: str
    score: float
    node: int | None
    module: str | None
    module_score: float | None


class Faithfulness(Row):
    """A system against the current gold, with the worst items first."""

    system: str
    revision: str
    kind: Kind
    items: int
    without_gold: int
    figures: dict[str, dict[str, Figure]]
    upper: dict[str, dict[str, Figure]]
    worst: list[WorstItem]


class Comparison(Row):
    """Two systems compared by a paired permutation test.

    ``difference`` is first minus second.
    """

    first: float
    second: float
    difference: float
    n: int
    trials: int
    as_extreme: int
    p: float


class OutputRun(Row):
    """A run of a served system over the programs of a project."""

    id: str
    system: str
    revision: str
    status: RunStatus
    error: str
    items: int
    outputs: int
    failures: int
    created_at: Time
    finished_at: Time | None
