"""Claims of Subramanian et al. (2020), from the released annotations.

The release has the gold boxes and spans. It has neither the outputs of the systems nor the regions that the
detector proposes, so that no score of a system and no upper bound can be computed again.
"""

import csv
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from ..faithfulness.examples import GoldExample
from ..faithfulness.faithful_nmn import read_faithful_nmn
from ..faithfulness.files import read_span_gold
from ..faithfulness.reference import change
from ..faithfulness.spans import GROUPS, GoldSpans, resolve_module
from ..io.errors import InputError
from .claims import Claim, build_cell_claims
from .published import Value, load_paper

PAPER = load_paper("subramanian2020")
FILES = {
    "boxes": "nlvr2_test_box_annotations.csv",
    "programs": "all_annotations_round4.tsv",
    "spans": "drop_module_output_annotations.json",
}
BOX_MODULES = ("find", "filter", "with-relation", "project")
LABELS = {
    "with-relation": "with-relation",
    "overall_cross_entropy": "overall",
    "drop_f1": "F1 on DROP",
    "f1": "F1",
}
NO_OUTPUTS = "The release has no outputs of this system."
NO_PROPOSALS = "The release has no region proposals, which the upper bound is made of."
NO_EXAMPLES = (
    "The released file lists sentences; to count their examples it needs the training and development sets."
)
AS_SCORED = "The paper's areas are those of the gold after the changes that its code makes before scoring."
FINDINGS = (
    "The release has the gold annotations only: scores of systems need outputs, and upper bounds need the "
    "region proposals.",
    "The paper's average areas of gold boxes are those after the changes that its code makes before scoring; "
    "the boxes as annotated give 0.20 for filter.",
    "Before it scores, the released code changes the gold: it keeps boxes of filter and with-relation only "
    "where their first child has the same box, and drops those of relocate in images where its child has "
    "none. The paper does not mention it.",
    "The paper counts a best overlap of exactly 0.5 as not aligned. In the released code such a box counts "
    "neither as good nor as bad.",
    "The released permutation test for boxes compares with the unsigned difference on one side only: if the "
    "first system is worse, p is 1. In that for DROP every permuted difference is 0.",
    "The overall column of Table 2 is a mean over modules in which find-num and find-date count twice, "
    "because the released script leaves them beside their group find-arg.",
    "Two cells of the box file hold an object in place of a list: one box each here, none in the released "
    "reader.",
)


@dataclass(frozen=True)
class Annotations:
    """The released gold.

    Attributes:
        boxes: The usable examples with boxes, repaired.
        scored: The same as the released code scores them.
        spans: The questions of DROP.
        sentences: Sentences with a program.
    """

    boxes: tuple[GoldExample, ...]
    scored: list[GoldExample]
    spans: list[GoldSpans]
    sentences: int


def find_files(folder: Path) -> dict[str, Path]:
    """Find the files of the release in a folder or below it.

    Raises:
        InputError: A file is missing.
    """
    paths_by_key = {}
    for key, name in FILES.items():
        paths = sorted(folder.rglob(name))
        if not paths:
            raise InputError(folder, f"holds no {name}, a file of the release ({PAPER.release})")
        paths_by_key[key] = paths[0]
    return paths_by_key


def read(folder: Path) -> Annotations:
    """Read the released annotations.

    Raises:
        InputError: A file is missing or malformed.
    """
    paths = find_files(folder)
    reading = read_faithful_nmn(paths["boxes"], paths["programs"])
    raw = read_faithful_nmn(paths["boxes"], paths["programs"], as_released=True)
    with paths["programs"].open(encoding="utf-8", newline="") as file:
        sentences = sum(1 for _ in csv.DictReader(file, delimiter="\t"))
    return Annotations(reading.examples, change(raw.examples), read_span_gold(paths["spans"]), sentences)


def list_claims() -> list[Claim[Annotations]]:
    """Declare the numbers of the paper about its gold, and its score tables."""
    return [
        *_list_data_claims(),
        *_list_object_claims(),
        *_list_gold_box_claims(),
        *_list_box_table_claims(),
        *_list_span_table_claims(),
        *_list_gold_span_claims(),
    ]


def _list_data_claims() -> list[Claim[Annotations]]:
    location = "Section 5.1"

    def fact(
        row: str, key: str, ours: Callable[[Annotations], Value] | None, reason: str = ""
    ) -> Claim[Annotations]:
        return Claim(location, row, PAPER.facts[key], ours, decimals=0, reason=reason)

    return [
        fact("Examples of NLVR2 with gold boxes", "box_examples", lambda data: len(data.boxes)),
        fact("Questions of DROP with gold spans", "drop_questions", lambda data: len(data.spans)),
        fact("Examples of the training set with a program", "programs_train", None, NO_EXAMPLES),
        fact("Examples of the development set with a program", "programs_dev", None, NO_EXAMPLES),
        Claim(location, "Sentences with a program", None, lambda data: data.sentences, decimals=0),
    ]


def _list_object_claims() -> list[Claim[Annotations]]:
    location = "Section 5.3"
    objects = ("dogs", "roll of toilet paper", "barbell", "safety pin")
    return [
        *build_cell_claims(
            PAPER.grids["areas"],
            lambda row, module: partial(_compute_mean_area, module, "scored"),
            location=location,
        ),
        *build_cell_claims(
            PAPER.grids["areas"],
            lambda row, module: partial(_compute_mean_area, module, "boxes"),
            location=location,
            labels={"mean area of gold boxes": "the same, boxes as annotated"},
            reason=AS_SCORED,
        ),
        *(
            Claim[Annotations](
                location, f"Faithfulness of find[{name}]", PAPER.facts[name], None, reason=NO_OUTPUTS
            )
            for name in objects
        ),
    ]


def _list_gold_box_claims() -> list[Claim[Annotations]]:
    location = "Released code, gold boxes before it scores"
    counts: dict[str, Callable[[str, Annotations], Value]] = {
        "nodes": lambda module, data: sum(1 for _ in _list_node_boxes(data.boxes, module)),
        "boxes": lambda module, data: _count_boxes(data.boxes, module),
        "boxes that are scored": lambda module, data: _count_boxes(data.scored, module),
    }
    return [
        Claim[Annotations](location, module, None, partial(count, module), column, decimals=0)
        for module in BOX_MODULES
        for column, count in counts.items()
    ]


def _list_box_table_claims() -> list[Claim[Annotations]]:
    def f1(row: str, column: str) -> Callable[[Annotations], Value] | None:
        return partial(_compute_published_f1, row) if column == "f1" and row != "LXMERT" else None

    def find_no_formula(row: str, column: str) -> None:
        return None

    def reason(row: str, column: str) -> str:
        return NO_PROPOSALS if row == "Upper Bound" else NO_OUTPUTS

    return [
        claim
        for name in ("table_1", "table_4", "table_5", "table_6")
        for claim in build_cell_claims(
            PAPER.grids[name],
            f1 if name == "table_4" else find_no_formula,
            labels=LABELS,
            reason=reason,
            basis="paper",
            tolerance=0.01,
        )
    ]


def _list_span_table_claims() -> list[Claim[Annotations]]:
    def find_overall_formula(row: str, column: str) -> Callable[[Annotations], Value] | None:
        return partial(_compute_micro_average, row) if column == "overall_cross_entropy" else None

    # The columns have one digit, so that their mean may be off by half of its unit on top of its own.
    def reason(row: str, column: str) -> str | Callable[[Annotations], str]:
        return partial(_explain_average, row) if column == "overall_cross_entropy" else NO_OUTPUTS

    return build_cell_claims(
        PAPER.grids["table_2"],
        find_overall_formula,
        labels=LABELS,
        reason=reason,
        basis="both",
        tolerance=0.1,
    )


def _list_gold_span_claims() -> list[Claim[Annotations]]:
    location = "Released DROP annotations"
    counts: dict[str, Callable[[str, Annotations], Value]] = {
        "lists": lambda group, data: len(_list_gold_spans(data, group)),
        "spans": lambda group, data: sum(map(len, _list_gold_spans(data, group))),
    }
    return [
        Claim[Annotations](location, group, None, partial(count, group), column, decimals=0)
        for group in PAPER.grids["table_2"].columns[2:]
        for column, count in counts.items()
    ]


def _list_node_boxes(examples: Iterable[GoldExample], module: str) -> Iterable[tuple[np.ndarray, ...]]:
    name = "project" if module == "relocate" else module
    return (
        node.boxes
        for example in examples
        for node in example.modules
        if node.module == name and node.boxes is not None
    )


def _count_boxes(examples: Iterable[GoldExample], module: str) -> int:
    return sum(len(image) for images in _list_node_boxes(examples, module) for image in images)


def _compute_mean_area(module: str, gold: str, data: Annotations) -> float:
    boxes = np.concatenate(
        [image for images in _list_node_boxes(getattr(data, gold), module) for image in images]
    )
    return float(np.mean((boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])))


def _compute_published_f1(row: str, data: Annotations) -> float:
    precision, recall = (_read_published("table_4", row, column) for column in ("precision", "recall"))
    return 2 * precision * recall / (precision + recall)


def _explain_average(row: str, data: Annotations) -> str:
    once = _compute_micro_average(row, data, times=1)
    return f"More than the rounding of the columns explains; with find-arg counted once it is {once:.2f}."


def _compute_micro_average(row: str, data: Annotations, times: int = 2) -> float:
    """Average the columns of modules by their instances, find-arg twice."""
    losses = {group: _read_published("table_2", row, group) for group in PAPER.grids["table_2"].columns[2:]}
    counts = Counter({group: len(_list_gold_spans(data, group)) for group in losses})
    counts["find-arg"] *= times
    return sum(losses[group] * counts[group] for group in losses) / counts.total()


def _list_gold_spans(data: Annotations, group: str) -> list[np.ndarray]:
    """Return the gold spans of each instance of a module or of a group."""
    members = GROUPS.get(group, (group,))
    return [
        spans
        for question in data.spans
        for name, spans in question.modules
        if resolve_module(name)[0] in members
    ]


def _read_published(grid: str, row: str, column: str) -> float:
    value = PAPER.grids[grid].get(row, column)
    assert isinstance(value, int | float)
    return float(value)
