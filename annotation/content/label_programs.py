"""Plain tasks as programs, for operations and exports. No Django.

A plain task is a program with one node per layer below a root that asks for nothing, so that operations,
undo, agreement, adjudication and exports are those of programs.
"""

from dataclasses import dataclass
from functools import cached_property

from pydantic import ValidationError

from analysis.programs import Kind, Node, Program, ProgramError, Role
from annotation.content.labels import MARKS, LabelLayer, LabelTask, describe_mistake
from foundation.messages import say

ROOT = "task"


class LabelError(ProgramError):
    """A plain task is malformed; the message names the field."""

    def __init__(self, message: str, text: str) -> None:
        super().__init__(message, 1, text)

    def __str__(self) -> str:
        return self.message


@dataclass(frozen=True)
class LabelProgram(Program):
    """A plain task as a program: node 0 is the root, node i the i-th layer."""

    task: LabelTask

    @cached_property
    def walk(self) -> tuple[int, ...]:
        """The layers in their order; the root asks for nothing."""
        return tuple(range(1, len(self.nodes)))

    def layer(self, index: int) -> LabelLayer | None:
        """Return the layer of a node; the root has none."""
        return self.task.layers[index - 1] if index else None

    @cached_property
    def marks(self) -> tuple[int, ...]:
        """The layers of marks, which relations connect."""
        return tuple(index for index, layer in enumerate(self.task.layers, start=1) if layer.type in MARKS)

    @cached_property
    def conditions(self) -> dict[int, tuple[int, tuple[str, ...]]]:
        """The choice, as node and labels, that each conditional layer needs."""
        node_of = {layer.name: index for index, layer in enumerate(self.task.layers, start=1)}
        return {
            node_of[layer.name]: (node_of[layer.show_if.layer], layer.show_if.labels)
            for layer in self.task.layers
            if layer.show_if
        }

    def text(self, index: int = 0) -> str:
        """Return the layers as JSON; `label_program` reads it back."""
        return self.task.text if index == 0 else self.nodes[index].module


def is_label_text(program: str) -> bool:
    """Return True if the program of an item is a plain task."""
    return program.startswith("{")


def label_program(text: str, kind: Kind) -> LabelProgram:
    """Read the program of an item of a plain task.

    Raises:
        LabelError: Names the field that is wrong.
    """
    try:
        task = LabelTask.model_validate_json(text)
    except ValidationError as error:
        raise LabelError(describe_mistake(error), text) from error
    if task.kind not in (None, kind):
        spans, boxes = (
            "layers: the task marks spans, and the project boxes",
            "layers: the task marks boxes, and the project spans",
        )
        raise LabelError(say(spans if task.kind == "spans" else boxes), text)
    root = Node(0, ROOT, None, tuple(range(1, len(task.layers) + 1)), None, 0, "answers", "compute")
    layers = (
        Node(index, layer.name, None, (), 0, 1, kind if layer.type in MARKS else "answers", _find_role(layer))
        for index, layer in enumerate(task.layers, start=1)
    )  # fmt: skip
    return LabelProgram(kind, (root, *layers), task)


def _find_role(layer: LabelLayer) -> Role:
    if layer.type == "relations":
        return "relate"
    return "draw" if layer.type in MARKS else "answer"
