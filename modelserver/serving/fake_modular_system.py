"""A fake modular network: plain rules choose boxes and words.

`modelserver.serving.fake_server` serves it, without torch.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence

from analysis.programs import FoundBox, FoundSpan, Node, Program, ProgramError, date_of, number_of, parse, run
from modelserver.wire.errors import InvalidRequest, PredictionFailed
from modelserver.wire.schema import Box, Execution, ModuleItem, ModuleValue, NodeOutput

FAILS = "[[fail]]"

_WORD = re.compile(r"\w+")
# Proposals of every image: six boxes that do not touch, in two rows.
_PROPOSALS: list[Box] = [
    (
        round(0.04 + 0.32 * column, 2),
        round(0.06 + 0.48 * row, 2),
        round(0.32 + 0.32 * column, 2),
        0.46 + 0.48 * row,
    )
    for row in range(2)
    for column in range(3)
]
_WARM_UP = ModuleItem(
    id="warm-up",
    text="How many yards?",
    program="find-num(find[yards])",
    passage="It was 3 yards.",
    tokens=[(0, 2), (3, 6), (7, 8), (9, 14), (14, 15)],
)


class FakeModularSystem:
    """Rules instead of a network: deterministic, each item on its own.

    For an image it proposes six boxes. A ``find`` selects those that a digest of the image's name, the
    argument and the position chooses; modules that take boxes select some of them. In a passage a
    ``find`` attends to the words of its argument, modules that take spans attend to the same words, and
    ``find-num`` and ``find-date`` to numbers and dates near by. Values follow from `analysis.programs`.
    An item without a program, or with ``[[fail]]`` in its text, is an error, so that tests can provoke
    one.
    """

    description = "Digests of names, and word overlap; for tests"
    warm_up = _WARM_UP

    def __init__(self, name: str = "fake-modular") -> None:
        self.name = name
        self.revision = hashlib.sha256(f"1 {name}".encode()).hexdigest()[:12]

    def cost(self, item: ModuleItem) -> int:
        """Return the number of tokens and proposals."""
        return len(item.tokens) + len(_PROPOSALS) * len(item.images)

    def check(self, item: ModuleItem) -> None:
        """Raise InvalidRequest for an item without a usable program."""
        _program(item)

    def execute(self, items: Sequence[ModuleItem]) -> list[Execution]:
        """Execute each item's program."""
        return [_executed(item) for item in items]


def _program(item: ModuleItem) -> Program:
    if item.program is None:
        raise InvalidRequest("the item has none, and this system parses none itself", field="program")
    if bool(item.images) == bool(item.passage):
        raise InvalidRequest("the item has either images or a passage", field="images")
    try:
        return parse(item.program, kind="boxes" if item.images else "spans")
    except ProgramError as error:
        raise InvalidRequest(error.message, field="program") from error


def _executed(item: ModuleItem) -> Execution:
    if FAILS in item.text:
        raise PredictionFailed(f"the text holds {FAILS}")
    program = _program(item)
    proposals = [_PROPOSALS for _image in item.images]
    weights: dict[int, list[float]] = {}
    for index in program.walk:
        node = program.nodes[index]
        if node.type not in ("number", "truth"):
            below = [weights[program.representative[child]] for child in node.children]
            weights[index] = (
                _probabilities(item, program, node, below)
                if item.images
                else _attention(item, program, node, below)
            )
    values = _values(item, program, weights, proposals)
    modules = [_output(item, program, node, weights, values[node.index]) for node in program.nodes]
    answer = _answer(item, program, weights, values[0])
    return Execution(id=item.id, program=str(program), answer=answer, proposals=proposals, modules=modules)


def _output(
    item: ModuleItem,
    program: Program,
    node: Node,
    weights: Mapping[int, list[float]],
    value: ModuleValue | None,
) -> NodeOutput:
    node_weights = weights.get(program.representative[node.index], [])
    key = "probabilities" if item.images else "attention"
    return NodeOutput.model_validate(
        {"index": node.index, "module": node.module, "value": value}
        | ({key: node_weights} if node_weights else {})
    )


def _share(*parts: object) -> float:
    """A number in [0, 1) that the parts decide."""
    digest = hashlib.sha256("\x1f".join(map(str, parts)).encode()).digest()
    return int.from_bytes(digest[:4]) / 2**32


def _probabilities(item: ModuleItem, program: Program, node: Node, below: list[list[float]]) -> list[float]:
    """Return a probability for each proposal of each image.

    A module that takes boxes is never surer of a box than its input is.
    """
    own = [
        round(_share(image.name, node.argument or program.text(node.index), place), 3)
        for image in item.images
        for place in range(len(_PROPOSALS))
    ]
    half = len(_PROPOSALS)
    if node.module in ("in-left-image", "in-right-image"):
        kept = slice(0, half) if node.module == "in-left-image" else slice(half, None)
        own = [0.0] * len(own)
        own[kept] = below[0][kept]
        return own
    if node.module in ("in-one-image", "in-other-image"):
        return below[0]
    if node.module == "project" or not below:
        return own
    return [min(pair) for pair in zip(own, below[0], strict=True)]


def _attention(item: ModuleItem, program: Program, node: Node, below: list[list[float]]) -> list[float]:
    """Over the tokens; it sums to one unless there is nothing to attend to."""
    texts = [item.passage[start:end] for start, end in item.tokens]
    wanted = set(_WORD.findall((node.argument or item.text).lower()))
    if node.module in ("find-num", "find-date"):
        read = number_of if node.module == "find-num" else date_of
        raw = [_near(below[0], place) * (read(text) is not None) for place, text in enumerate(texts)]
    elif node.module in ("find", "extract-answer", "relocate") or not below:
        raw = [float(text.lower() in wanted) for text in texts]
    else:
        raw = [sum(pair) for pair in zip(*below, strict=True)]
    total = sum(raw)
    return [weight / total for weight in raw] if total else [0.0] * len(raw)


def _near(weights: Sequence[float], place: int) -> float:
    """How much of an attention lies near a place, falling with the distance."""
    return sum(weight / (1 + abs(place - other)) for other, weight in enumerate(weights) if weight)


def _values(
    item: ModuleItem, program: Program, weights: Mapping[int, list[float]], proposals: list[list[Box]]
) -> tuple[ModuleValue | None, ...]:
    boxes = [FoundBox(image, box) for image, placed in enumerate(proposals) for box in placed]
    outputs: dict[int, list[FoundBox] | list[FoundSpan]] = {}
    for index, node_weights in weights.items():
        if item.images:
            outputs[index] = [box for box, p in zip(boxes, node_weights, strict=True) if p > 0.5]
        else:
            outputs[index] = list(_spans(item, node_weights))
    return run(program, outputs).values


def _spans(item: ModuleItem, attention: Sequence[float]) -> Iterator[FoundSpan]:
    """The tokens with most of the attention, each by itself."""
    most = max(attention, default=0.0)
    for (start, end), weight in zip(item.tokens, attention, strict=True):
        if weight and weight > 0.9 * most:
            yield FoundSpan(start, end, item.passage[start:end])


def _answer(
    item: ModuleItem, program: Program, weights: Mapping[int, list[float]], value: ModuleValue | None
) -> ModuleValue:
    """Return the value of the root, or the words of its spans.

    A value that cannot be computed becomes false, 0 or the empty text.
    """
    if program.type == "spans":
        return " ".join(span.quote for span in _spans(item, weights[0]))
    if value is not None:
        return value
    return {"truth": False, "number": 0, "boxes": 0}.get(program.type, "")
