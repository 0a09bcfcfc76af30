"""Executions of programs: questions as requests, and outputs as steps.

A question is executed by the program of its gold steps; without any, the system parses the question itself.
"""

import re
from collections.abc import Mapping, Sequence

from analysis.programs import OBJECTS, Node, Program, parse
from analysis.programs.notation import format_module
from modelserver.wire.schema import Context, Execution, ModuleImage, ModuleItem, ModuleValue, NodeOutput
from predictions.explanations.highlights import compute_level
from predictions.explanations.program_steps import Step, StepBox

LIKELY = 0.5  # the probability above which a proposal counts as output
_WORD = re.compile(r"\w+|[^\w\s]")


def format_program(steps: Sequence[Step]) -> str:
    """Return the program of steps, the last of which is the root."""

    def text(number: int) -> str:
        step = steps[number - 1]
        inputs = ", ".join(text(child) for child in step.inputs)
        return format_module(step.module, step.argument) + (f"({inputs})" if inputs else "")

    return text(len(steps))


def find_words(passage: str) -> list[tuple[int, int]]:
    """Return the places of words and punctuation marks in a passage."""
    return [match.span() for match in _WORD.finditer(passage)]


def build_module_item(
    *, external_id: str, text: str, context: Context, steps: Sequence[Step] | None, images: list[ModuleImage]
) -> ModuleItem:
    """Return the request for a question.

    Raises:
        ValueError: It has neither images nor exactly one article.
    """
    if not images and len(context) != 1:
        raise ValueError(f"programs need images or one article, and the question has {len(context)} articles")
    passage = "" if images else "".join(context[0][1])
    return ModuleItem(
        id=external_id,
        text=text,
        program=format_program(steps) if steps else None,
        passage=passage,
        tokens=find_words(passage),
        images=images,
    )


def format_answer(value: ModuleValue) -> str:
    """Return an answer as text, whole numbers without a decimal point."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def list_steps(execution: Execution, item: ModuleItem) -> list[Step] | None:
    """Return the distinct steps of an execution in their order.

    Returns:
        None for a system without modules.

    Raises:
        ProgramError: The system executed something that is no program.
    """
    if not execution.modules:
        return None
    program = parse(execution.program, kind="boxes" if item.images else "spans")
    outputs = _map_outputs_to_nodes(program, {output.index: output for output in execution.modules})
    numbers = {index: number for number, index in enumerate(program.walk, start=1)}

    def step(node: Node) -> Step:
        output = outputs.get(node.index)
        boxes, tokens = _extract_boxes_and_tokens(output, execution, item)
        gives = node.type in OBJECTS
        return Step(
            module=node.module,
            argument=node.argument,
            inputs=[numbers[program.representative[child]] for child in node.children],
            value=None if output is None or node.type in ("boxes", "spans") else output.value,
            values=[] if output is None else output.values,
            boxes=boxes if gives and program.kind == "boxes" else None,
            tokens=tokens if gives and program.kind == "spans" else None,
        )

    return [step(program.nodes[index]) for index in program.walk]


def _map_outputs_to_nodes(program: Program, given: Mapping[int, NodeOutput]) -> dict[int, NodeOutput]:
    """Return outputs by node; one of equal subtrees has the output of all."""
    shared = {
        program.representative[index]: output for index, output in given.items() if index < len(program.nodes)
    }
    every = {
        node.index: given.get(node.index, shared.get(program.representative[node.index]))
        for node in program.nodes
    }
    return {index: output for index, output in every.items() if output is not None}


def _extract_boxes_and_tokens(
    output: NodeOutput | None, execution: Execution, item: ModuleItem
) -> tuple[list[StepBox] | None, list[tuple[int, int, int]] | None]:
    """Return the boxes and the tokens that a module found; None if unknown."""
    if output is None:
        return None, None
    placed = [(image, box) for image, boxes in enumerate(execution.proposals) for box in boxes]
    boxes: list[StepBox] = [
        (image, *box, p) for (image, box), p in zip(placed, output.probabilities, strict=False) if p > LIKELY
    ]
    most = max(output.attention, default=0.0)
    tokens = [
        (start, end, level)
        for (start, end), weight in zip(item.tokens, output.attention, strict=False)
        if most > 0 and (level := compute_level(weight / most))
    ]
    return boxes if output.probabilities else None, tokens if output.attention else None
