"""A fake modular network: plain rules choose boxes and words.

`modelserver.serving.fake_server` serves it, without torch.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence

from analysis.programs import FoundBox, FoundSpan, Node, Program, ProgramError, date_of, number_of, parse, run
from modelserver.wire.errors import InvalidRequest, PredictionFailed
from modelserver.wire.schema import Box, Execution, ModuleItem, ModuleValue, NodeOutput

FAILS = "[[fail]]"

_WORD = re.compile(r"\w+")
# Proposals of every image: six boxes that do not touch, in two rows.
_PROPOSALS: list[Box] = [
    (round(left, 2), round(top, 2), round(left + 0.28, 2), round(top + 0.4, 2))
    for top in (0.06, 0.54)
    for left in (0.04, 0.36, 0.68)
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
        _parse_program(item)

    def execute(self, items: Sequence[ModuleItem]) -> list[Execution]:
        """Execute each item's program."""
        return [_Run(item).execution() for item in items]


def _parse_program(item: ModuleItem) -> Program:
    if item.program is None:
        raise InvalidRequest("the item has none, and this system parses none itself", field="program")
    if bool(item.images) == bool(item.passage):
        raise InvalidRequest("the item has either images or a passage", field="images")
    try:
        return parse(item.program, kind="boxes" if item.images else "spans")
    except ProgramError as error:
        raise InvalidRequest(error.message, field="program") from error


class _Run:
    """The execution of one item's program; its nodes' weights by their index."""

    def __init__(self, item: ModuleItem) -> None:
        if FAILS in item.text:
            raise PredictionFailed(f"the text holds {FAILS}")
        self.item, self.program = item, _parse_program(item)
        self.proposals = [_PROPOSALS for _image in item.images]
        self.weights: dict[int, list[float]] = {}
        for node in (self.program.nodes[index] for index in self.program.walk):
            if node.type not in ("number", "truth"):
                below = [self.weights[self.program.representative[child]] for child in node.children]
                weigh = self._probabilities if item.images else self._attention
                self.weights[node.index] = weigh(node, below)

    def execution(self) -> Execution:
        """Return what the program comes to."""
        values = self._values()
        return Execution(
            id=self.item.id,
            program=str(self.program),
            answer=self._answer(values[0]),
            proposals=self.proposals,
            modules=[self._output(node, values[node.index]) for node in self.program.nodes],
        )

    def _output(self, node: Node, value: ModuleValue | None) -> NodeOutput:
        weights = self.weights.get(self.program.representative[node.index])
        key = "probabilities" if self.item.images else "attention"
        output = {"index": node.index, "module": node.module, "value": value}
        return NodeOutput.model_validate(output | ({key: weights} if weights else {}))

    def _probabilities(self, node: Node, below: list[list[float]]) -> list[float]:
        """Return a probability for each proposal of each image.

        A module that takes boxes is never surer of a box than its input is.
        """
        own = [
            round(_compute_share(image.name, node.argument or self.program.text(node.index), index), 3)
            for image in self.item.images
            for index in range(len(_PROPOSALS))
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

    def _attention(self, node: Node, below: list[list[float]]) -> list[float]:
        """Return weights of tokens; they sum to one unless all are zero."""
        texts = [self.item.passage[start:end] for start, end in self.item.tokens]
        wanted = set(_WORD.findall((node.argument or self.item.text).lower()))
        if node.module in ("find-num", "find-date"):
            read = number_of if node.module == "find-num" else date_of
            raw = [
                _sum_nearby(below[0], index) * (read(text) is not None) for index, text in enumerate(texts)
            ]
        elif node.module in ("find", "extract-answer", "relocate") or not below:
            raw = [float(text.lower() in wanted) for text in texts]
        else:
            raw = [sum(pair) for pair in zip(*below, strict=True)]
        total = sum(raw)
        return [weight / total for weight in raw] if total else [0.0] * len(raw)

    def _values(self) -> tuple[ModuleValue | None, ...]:
        boxes = [FoundBox(image, box) for image, placed in enumerate(self.proposals) for box in placed]
        outputs: dict[int, list[FoundBox] | list[FoundSpan]] = {}
        for index, weights in self.weights.items():
            if self.item.images:
                outputs[index] = [box for box, p in zip(boxes, weights, strict=True) if p > 0.5]
            else:
                outputs[index] = list(self._spans(weights))
        return run(self.program, outputs).values

    def _spans(self, attention: Sequence[float]) -> Iterator[FoundSpan]:
        """Yield the tokens with most of the attention, each by itself."""
        most = max(attention, default=0.0)
        for (start, end), weight in zip(self.item.tokens, attention, strict=True):
            if weight and weight > 0.9 * most:
                yield FoundSpan(start, end, self.item.passage[start:end])

    def _answer(self, value: ModuleValue | None) -> ModuleValue:
        """Return the value of the root, or the words of its spans.

        A value that cannot be computed becomes false, 0 or the empty text.
        """
        if self.program.type == "spans":
            return " ".join(span.quote for span in self._spans(self.weights[0]))
        if value is not None:
            return value
        return {"truth": False, "number": 0, "boxes": 0}.get(self.program.type, "")


def _compute_share(*parts: object) -> float:
    """Return a number in [0, 1) that the parts decide."""
    digest = hashlib.sha256("\x1f".join(map(str, parts)).encode()).digest()
    return int.from_bytes(digest[:4]) / 2**32


def _sum_nearby(weights: Sequence[float], position: int) -> float:
    """Sum an attention with weights that fall with the distance."""
    return sum(weight / (1 + abs(position - other)) for other, weight in enumerate(weights) if weight)
