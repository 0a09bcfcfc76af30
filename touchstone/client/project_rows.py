"""Types of the rows of annotation projects; see `rows`."""

from __future__ import annotations

from typing import Any, Literal, TypedDict

from .rows import RoleName, RunStatus

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


class ProjectRow(TypedDict):
    """An annotation project, and your roles in it."""

    id: str
    slug: str
    workspace: str
    title: str
    kind: Kind
    status: ProjectStatus
    roles: list[RoleName]
    annotators_per_item: int
    created_at: str


class ProjectDetail(ProjectRow):
    """A project with its settings, and counts of its items and annotations."""

    reservation_minutes: int
    show_answer: bool
    show_predictions: bool
    qualification_score: float | None
    hidden_gold_every: int | None
    due_on: str | None
    items: int
    complete: int
    gold: int
    assignments: int
    submitted: int


class ProjectMemberRow(TypedDict):
    """A person of a project; ``active`` is False if the share has ended."""

    id: str
    user: str
    role: ProjectRole
    active: bool
    roles: list[RoleName]
    qualified: bool | None
    blind: bool
    joined_at: str


class GuidelineRow(TypedDict):
    """A version of the instructions for a module ("" for the project)."""

    id: str
    module: str
    version: int
    text: str
    created_at: str
    created_by: str | None


class ImageRow(TypedDict):
    """An image of an item; ``url`` is empty if only its name is known."""

    id: str
    name: str
    width: int | None
    height: int | None
    url: str


class ItemRow(TypedDict):
    """An item; fields that could reveal gold are None for annotators."""

    id: str
    external_id: str
    position: int
    kind: Kind
    program: str
    text: str
    passage: str
    tokens: list[tuple[int, int]]
    images: list[ImageRow]
    answer: Any
    purpose: Purpose | None
    extra: dict[str, Any] | None
    annotators_wanted: int | None
    assigned: int | None
    submitted: int | None
    has_gold: bool | None


class ItemImport(TypedDict):
    """The counts of an import of items, or of its dry run."""

    added: int
    unchanged: int
    with_gold: int
    annotations: int
    images: int


class CommentRow(TypedDict):
    """A comment on an annotation, a node or an object."""

    id: str
    node: int | None
    object: str
    text: str
    by: str
    at: str
    resolved: bool


class AnnotationRow(TypedDict):
    """One person's annotation of an item, or an adjudication."""

    id: str
    project: str
    item_id: str
    item: str
    annotator: str
    task: Task
    status: AnnotationStatus
    revision: int
    started_at: str
    saved_at: str | None
    submitted_at: str | None
    active_seconds: float
    predictions_shown: list[str]
    document: dict[str, Any]


class BatchRow(TypedDict):
    """Items of one person; ``finished`` of them are submitted or beyond."""

    id: str
    name: str
    annotator: str
    due_on: str | None
    items: int
    finished: int
    overdue: bool
    created_at: str


class PaceRow(TypedDict):
    """The submissions of a person on a day, and their median seconds of work."""

    annotator: str
    day: str
    submitted: int
    median_seconds: float


class HistoryRow(TypedDict):
    """One edit and its inverse."""

    id: str
    revision: int
    by: str
    at: str
    edit: dict[str, Any]
    inverse: dict[str, Any]
    undoes: str | None


class AnnotationDetail(AnnotationRow):
    """An annotation with every edit, oldest first, and its comments."""

    history: list[HistoryRow]
    comments: list[CommentRow]


class SavedOperation(TypedDict):
    """A stored edit, the revision after it, and the inverse edit."""

    id: str
    revision: int
    inverse: dict[str, Any]


class Saved(TypedDict):
    """An annotation after its edits.

    ``values`` are those of the program's steps, and ``mismatch`` says if they contradict the answer.
    """

    revision: int
    values: list[Any]
    runs: list[list[Any]]
    mismatch: bool | None
    saved: list[SavedOperation]


class EditorState(TypedDict):
    """All that an annotator needs: item, program, document, guidelines."""

    revision: int
    values: list[Any]
    runs: list[list[Any]]
    mismatch: bool | None
    id: str
    task: Task
    status: AnnotationStatus
    reserved_until: str | None
    item: dict[str, Any]
    program: dict[str, Any]
    document: dict[str, Any]
    guidelines: dict[str, Any]
    comments: list[CommentRow]
    predictions: list[dict[str, Any]] | None
    others: dict[str, Any] | None
    history: list[dict[str, Any]]
    keys: dict[str, str]


class NextItem(TypedDict):
    """Your next annotation, or None and the reason."""

    annotation: EditorState | None
    reason: str


class GoldRow(TypedDict):
    """A version of an item's gold; ``annotation`` is the one it came from."""

    id: str
    item_id: str
    item: str
    version: int
    current: bool
    method: Literal["imported", "accepted", "adjudicated"]
    annotation: str | None
    by: str | None
    at: str
    document: dict[str, Any]


class AgreementRow(TypedDict):
    """A measure of inter-annotator agreement for a group of nodes."""

    by: str
    name: str
    measure: str
    value: float | None
    low: float | None
    high: float | None
    n: int
    reason: str | None


class FirstDifference(TypedDict):
    """The number of pairs of people who first differ at a module."""

    module: str | None
    pairs: int


class Agreement(TypedDict):
    """Inter-annotator agreement over the items that two or more finished."""

    items: int
    results: list[AgreementRow]
    first_differences: list[FirstDifference]


class OutputRow(TypedDict):
    """The output of one revision of a system for an item."""

    id: str
    item_id: str
    item: str
    system: str
    revision: str
    created_at: str
    proposals: list[list[tuple[float, float, float, float]]]
    modules: list[dict[str, Any]]
    answer: Any
    marks: dict[str, list[dict[str, Any]]]
    score: float | None


class OutputSystem(TypedDict):
    """A revision of a system, with its numbers of items and of gold."""

    system: str
    revision: str
    items: int
    with_gold: int


class Figure(TypedDict):
    """One score with a 95 % confidence interval."""

    n: int
    precision: float | None
    recall: float | None
    f1: float | None
    loss: float | None
    interval: tuple[float, float] | None


class WorstItem(TypedDict):
    """An item with its score, and its worst step."""

    item_id: str
    item: str
    score: float
    node: int | None
    module: str | None
    module_score: float | None


class Faithfulness(TypedDict):
    """A system against the current gold, by averaging and module."""

    system: str
    revision: str
    kind: Kind
    items: int
    without_gold: int
    figures: dict[str, dict[str, Figure]]
    upper: dict[str, dict[str, Figure]]
    worst: list[WorstItem]


class Comparison(TypedDict):
    """Two systems compared; ``difference`` is first minus second."""

    first: float
    second: float
    difference: float
    n: int
    trials: int
    as_extreme: int
    p: float


class OutputRun(TypedDict):
    """A run of a served system over the programs of a project."""

    id: str
    system: str
    revision: str
    status: RunStatus
    error: str
    items: int
    outputs: int
    failures: int
    created_at: str
    finished_at: str | None
