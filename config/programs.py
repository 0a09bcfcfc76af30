"""Convert an annotation project to a dataset for studies.

Items become questions, gold and model outputs become steps of programs. The two
apps do not import each other, so this module stands above both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from analysis.programs import OBJECTS, Execution, FoundBox, FoundSpan, Node, Program, Value
from annotation.content.completeness import execute_document
from annotation.models import Gold, ImageFile, Item, Project, SystemOutput
from annotation.parsed_items import parse_document, parse_item_program
from annotation.queries.node_outputs import LIKELY, compute_strength
from annotation.queries.outputs import map_outputs_to_nodes
from predictions.actions.programs import ExecutionRecord
from predictions.explanations.executions import format_answer
from predictions.explanations.program_steps import ItemImage, Step, StepBox
from predictions.formats.records import QuestionRecord

Tokens = list[tuple[int, int, int]]
Values = tuple[Value | None, list[Value]]  # the single value, or those of the runs for each image
Output = tuple[Values, list[StepBox] | None, Tokens | None]  # None: no output

GOLD_STRENGTH = 3  # a span is gold or it is not


@dataclass(frozen=True)
class Lacking:
    """The IDs of items that cannot become questions, by reason."""

    images: list[str]
    answer: list[str]


def build_questions(project: Project) -> tuple[list[QuestionRecord], Lacking]:
    """Convert items to questions, with the steps of their gold.

    Items without an answer or without the file of an image are left out.
    """
    files = {file.name: file for file in ImageFile.objects.filter(project=project)}
    gold = dict(Gold.objects.filter(item__project=project, current=True).values_list("item", "document"))
    records: list[QuestionRecord] = []
    lacking = Lacking([], [])
    for item in project.items.order_by("position"):
        images = _find_images(item, files)
        if item.answer is None or item.answer == "":
            lacking.answer.append(item.external_id)
        elif images is None:
            lacking.images.append(item.external_id)
        else:
            records.append(_build_question(item, project, images, gold.get(item.pk)))
    return records, lacking


def _build_question(item: Item, project: Project, images: list[ItemImage], gold: object) -> QuestionRecord:
    assert item.answer is not None  # others are lacking
    return QuestionRecord(
        external_id=item.external_id,
        text=item.text,
        answer=format_answer(item.answer),
        kind="sentence" if images else "question",
        context=[("", [item.passage])] if item.passage else [],
        supporting_facts=None,
        images=images,
        steps=None if gold is None else _build_gold_steps(parse_item_program(item, project.kind), gold),
    )


def _find_images(item: Item, files: Mapping[str, ImageFile]) -> list[ItemImage] | None:
    stored = [files[name] for name in item.images if name in files and files[name].path]
    if len(stored) < len(item.images):
        return None
    return [
        ItemImage(path=file.path, width=file.width or 1, height=file.height or 1, name=file.name)
        for file in stored
    ]


def build_executions(
    project: Project, system: str, revision: str, ids: Iterable[str]
) -> list[ExecutionRecord]:
    """Return the outputs of a system for these items that have an answer."""
    wanted = set(ids)
    rows = SystemOutput.objects.filter(item__project=project, system=system, revision=revision)
    return [
        ExecutionRecord(
            row.item.external_id,
            format_answer(row.answer),
            _build_system_steps(row, project) if row.modules else None,
        )
        for row in rows.select_related("item").order_by("item__position")
        if row.item.external_id in wanted and row.answer is not None and row.answer != ""
    ]


def _build_gold_steps(program: Program, stored: object) -> list[Step] | None:
    """Return the steps of the gold, None if the output of a step is unknown."""
    ran = execute_document(parse_document(stored), program)

    if any(ran.objects[node.index] is None for node in program.nodes if node.type in OBJECTS):
        return None

    def output(index: int) -> Output:
        objects = ran.objects[index] or ()
        boxes: list[StepBox] = [(box.image, *box.box, None) for box in objects if isinstance(box, FoundBox)]
        spans = sorted(
            (span.start, span.end, GOLD_STRENGTH) for span in objects if isinstance(span, FoundSpan)
        )
        return _select_values(ran, index, program.nodes[index].module), boxes, spans

    return _build_steps(program, output)


def _select_values(ran: Execution, index: int, module: str) -> Values:
    """Return the value of a node, or those of its runs if it has several."""
    runs = ran.runs[index]
    if len(runs) == 1 or module.isdecimal():  # a number in the program is the same for each image
        return ran.values[index], []
    values = [value for value in runs if value is not None]
    return None, values if len(values) == len(runs) else []


def _build_system_steps(row: SystemOutput, project: Project) -> list[Step]:
    program = parse_item_program(row.item, project.kind)
    outputs = map_outputs_to_nodes(program, {module["index"]: module for module in row.modules})

    def output(index: int) -> Output:
        module = outputs.get(index, {})
        boxes = (
            _select_likely_boxes(row.proposals, module["probabilities"])
            if "probabilities" in module
            else None
        )
        tokens = _select_attended_tokens(row.item, module["attention"]) if "attention" in module else None
        return (module.get("value"), module.get("values", [])), boxes, tokens

    return _build_steps(program, output)


def _build_steps(program: Program, output: Callable[[int], Output]) -> list[Step]:
    """Return the distinct steps in order of execution.

    Only steps that output objects have boxes or tokens.
    """
    numbers = {index: number for number, index in enumerate(program.walk, start=1)}

    def step(node: Node) -> Step:
        (value, values), boxes, tokens = output(node.index)
        gives = node.type in OBJECTS
        return Step(
            module=node.module,
            argument=node.argument,
            inputs=[numbers[program.representative[child]] for child in node.children],
            value=None if node.type in ("boxes", "spans") else value,  # how many there are
            values=[] if node.type in ("boxes", "spans") else values,
            boxes=boxes if gives and program.kind == "boxes" else None,
            tokens=tokens if gives and program.kind == "spans" else None,
        )

    return [step(program.nodes[index]) for index in program.walk]


def _select_likely_boxes(
    proposals: Sequence[Sequence[Sequence[float]]], probabilities: Sequence[float]
) -> list[StepBox]:
    placed = [(image, box) for image, boxes in enumerate(proposals) for box in boxes]
    return [
        (image, box[0], box[1], box[2], box[3], p)
        for (image, box), p in zip(placed, probabilities, strict=False)
        if p > LIKELY
    ]


def _select_attended_tokens(item: Item, attention: Sequence[float]) -> Tokens:
    most = max(attention, default=0.0)
    graded = (
        (start, end, compute_strength(weight, most))
        for (start, end), weight in zip(item.tokens, attention, strict=False)
    )
    return [token for token in graded if token[2]]
