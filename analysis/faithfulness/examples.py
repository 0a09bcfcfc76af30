"""Gold and module outputs over images: the input of box scores."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from ..io.errors import AnalysisError
from ..stats.arrays import Array
from .overlap import Index, list_range_members

OVERALL = "overall"


@dataclass(frozen=True)
class GoldModule:
    """Gold of one node.

    Attributes:
        index: Index of the node in the program, in pre-order.
        module: Name with hyphens.
        boxes: Per image n × 4, left, top, right, bottom; None for a node without gold boxes, such as a
            comparison.
        argument: The node's words, if known.
    """

    index: int
    module: str
    boxes: tuple[Array, ...] | None
    argument: str = ""


@dataclass(frozen=True)
class GoldExample:
    """Gold of one example.

    Attributes:
        id: Unique among the examples.
        modules: Gold of its nodes.
    """

    id: str
    modules: tuple[GoldModule, ...]


@dataclass(frozen=True)
class OutputModule:
    """A system's output for a node: a probability for every proposal.

    Attributes:
        index: Index of the node in the program, in pre-order.
        module: Name with hyphens.
        probabilities: Shape (proposals,), in [0, 1], image after image.
    """

    index: int
    module: str
    probabilities: Array


@dataclass(frozen=True)
class OutputExample:
    """A system's proposed boxes, per image n × 4, and outputs over them.

    Attributes:
        id: ID of the example.
        proposals: Proposed boxes per image, n × 4: left, top, right, bottom.
        modules: Outputs of the nodes over these boxes.
    """

    id: str
    proposals: tuple[Array, ...]
    modules: tuple[OutputModule, ...]


class MatchError(AnalysisError):
    """Gold and outputs do not fit together.

    Attributes:
        problem: The end of the message, after the colon.
        id: ID of the example.
        field: Its field, if one is wrong.
    """

    def __init__(self, problem: str, id: str, field: str = "") -> None:
        self.problem, self.id, self.field = problem, id, field
        super().__init__(f"example {id!r}{', ' + field if field else ''}: {problem}")


@dataclass(frozen=True)
class Cells:
    """Gold beside outputs, flat: one cell per scored node and image.

    examples, modules: names; the first module is `overall`. node: the cell's node; node_example,
    node_module, node_index: its example, its type (an index into `modules`) and its place in the program.
    boxes: all gold boxes, with the cell of each. proposals: all proposed boxes; a cell's are
    first_proposal, … and their probabilities first_probability, …, size of either.
    """

    examples: tuple[str, ...]
    modules: tuple[str, ...]
    node: Index
    node_example: Index
    node_module: Index
    node_index: Index
    boxes: Array
    box_cell: Index
    proposals: Array
    probabilities: Array
    first_proposal: Index
    first_probability: Index
    size: Index


@cache
def is_scored(module: str) -> bool:
    """Test whether a module's boxes count.

    All do but those of count and of the nodes that choose an image.
    """
    return module != "count" and not module.startswith("in-")


def normalise_module_name(module: str) -> str:
    """Return a module's name with hyphens and without its argument.

    Examples:
        >>> normalise_module_name("with_relation[holding]")
        'with-relation'
    """
    return module.partition("[")[0].strip().replace("_", "-").replace(" ", "-")


def arrange(
    gold: Sequence[GoldExample], outputs: Mapping[str, OutputExample], *, partial: bool = False
) -> Cells:
    """Put every scored gold node beside the system's output for it.

    outputs: by id; those without gold, and nodes without gold, are left out. partial: leave out gold
    examples without output, too.

    Raises MatchError if an output is missing or of another module, number of images or length, and for boxes
    and probabilities that are none.
    """
    kept = [example for example in gold if not partial or example.id in outputs]
    shown = [_find_output(example, outputs) for example in kept]
    indices, nodes, probabilities = _list_scored_nodes(kept, shown)
    modules = (OVERALL, *dict.fromkeys(node.module for node in nodes))
    code = {name: number for number, name in enumerate(modules)}
    boxes = [drawn for node in nodes for drawn in node.boxes or ()]
    proposals = [image for output in shown for image in output.proposals]
    sizes = _collect_numbers(map(len, proposals))
    images = _collect_numbers(len(output.proposals) for output in shown)
    node_example = _collect_numbers(indices)
    node, image = list_range_members((np.cumsum(images) - images)[node_example], images[node_example])
    size = sizes[image]
    return Cells(
        examples=tuple(example.id for example in kept),
        modules=modules,
        node=node,
        node_example=node_example,
        node_module=_collect_numbers(code[node.module] for node in nodes),
        node_index=_collect_numbers(node.index for node in nodes),
        boxes=_stack(boxes),
        box_cell=np.repeat(np.arange(len(node)), _collect_numbers(map(len, boxes))),
        proposals=_stack(proposals),
        probabilities=np.concatenate([*probabilities, np.zeros(0)]),
        first_proposal=(np.cumsum(sizes) - sizes)[image],
        first_probability=np.cumsum(size) - size,
        size=size,
    )


def _find_output(example: GoldExample, outputs: Mapping[str, OutputExample]) -> OutputExample:
    if example.id not in outputs:
        raise MatchError("there is no output", example.id)
    return outputs[example.id]


def _list_scored_nodes(
    gold: Sequence[GoldExample], outputs: Sequence[OutputExample]
) -> tuple[list[int], list[GoldModule], list[Array]]:
    """List scored nodes: the example's index, the gold, the probabilities.

    Raises:
        MatchError: Gold and output do not fit together.
    """
    indices, nodes, probabilities = [], [], []
    for index, (example, output) in enumerate(zip(gold, outputs, strict=True)):
        by_node = {node.index: node for node in output.modules}
        size = sum(map(len, output.proposals))
        for node in example.modules:
            if node.boxes is None or not is_scored(node.module):
                continue
            own = by_node.get(node.index)
            problem = _explain_misfit(node, own, len(output.proposals), size)
            if own is None or problem:
                raise MatchError(problem, example.id, f"module {node.index} ({node.module})")
            indices.append(index)
            nodes.append(node)
            probabilities.append(own.probabilities)
    return indices, nodes, probabilities


def _explain_misfit(node: GoldModule, output: OutputModule | None, images: int, proposals: int) -> str:
    """Explain why an output cannot be scored against gold; "" if it can."""
    if output is None:
        return "there is no output for this node"
    if output.module != node.module:
        return f"the output is of {output.module!r}"
    if len(node.boxes or ()) != images:
        return f"gold has {len(node.boxes or ())} images, the output {images}"
    if len(output.probabilities) != proposals:
        return f"there are {len(output.probabilities)} probabilities for {proposals} proposals"
    if not ((output.probabilities >= 0) & (output.probabilities <= 1)).all():
        return "a probability is not from 0 to 1"
    if any(len(image) and (image.shape[1:] != (4,) or np.isnan(image).any()) for image in node.boxes or ()):
        return "a gold box is not four numbers: left, top, right, bottom"
    return ""


def _collect_numbers(values: Iterable[int]) -> Index:
    return np.fromiter(values, dtype=np.int64)


def _stack(lists: Sequence[Array]) -> Array:
    """Concatenate the boxes of many lists: n × 4."""
    return np.concatenate([np.zeros((0, 4)), *lists])
