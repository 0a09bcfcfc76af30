"""Read the released outputs of modules for DROP: lists of spans.

Their order is that of the question's type. Spans count tokens, end exclusive. (``answer_passage_spans`` and
the dates and numbers of the same file are end inclusive; they stay as they are.) Some lists cover two
steps, and the largest and smallest numbers are given as the events that they belong to: here each span gets
its own step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from analysis.io.errors import AnalysisError
from analysis.programs import Program, drop, lists_of, program_of
from annotation.content.completeness import resolve_references
from annotation.content.schemas import Box, Chosen, Document, Layer, Object, Span, Value
from annotation.formats.texts import Tokens, build_span, tokenize
from foundation.imports.findings import Findings
from foundation.imports.import_fields import Id, LongText, Text
from foundation.messages import extract_message, field_error, prefix_field

REPEATED_SPAN = "span given twice in a list, kept once"
UNMATCHED_SPAN = "span of a choosing step that equals none of the step below, kept as a new one"
JOINT_SPAN_RESOLVED = "span of two events together, given to the one whose words it shares or that is nearer"
JOINT_SPAN_UNRESOLVED = "span of two events together that nothing gives to one of them, given to both"
UNLINKED_VALUE = "number or date that lies in no single event, not linked"

Places = dict[tuple[int, int], Span]  # spans by their tokens


class _Answer(drop.Answer):
    spans: list[Text] = []

    def value(self) -> Value | None:
        """Return a number, spans joined by semicolons, or a date; else None.

        Dates are ``day month year``.
        """
        if self.number != "":
            return _parse_number(str(self.number))
        if self.spans:
            return "; ".join(self.spans)
        return str(self.date) or None


class Question(drop.Question):
    """A question whose texts a database can store."""

    query_id: Id
    question: LongText
    answer: _Answer = _Answer()

    def program(self) -> Program | None:
        """Return the program of the question's type; None without a type.

        Raises:
            ValueError: The type is unknown.
        """
        if not self.qtype:
            return None
        try:
            return program_of(self.qtype, self.arguments(), question=self.question)
        except AnalysisError as error:
            raise ValueError(prefix_field("qtype", extract_message(error))) from error


def _parse_number(text: str) -> int | float | str:
    """Parse a number; keep anything else as text."""
    try:
        value = float(text.replace(",", ""))
    except ValueError:
        return text
    return int(value) if value.is_integer() else value


class Lists:
    """The lists of one question, and their layers."""

    def __init__(
        self, question: Question, program: Program, passage: str, tokens: Tokens, findings: Findings
    ) -> None:
        """Read the lists.

        Raises:
            ValueError: Names a list that does not fit the question's type.
        """
        self._question = question
        self._program = program
        self._passage = passage
        self._tokens = tokens
        self._findings = findings
        self._spans: dict[int, Places] = {}
        given = question.module_output_annotations or []
        self._nodes = [
            (name, [program.representative[node] for node in nodes])
            for name, nodes in lists_of(question.qtype, len(question.arguments()))
        ]
        if [name for name, _spans in given] != [name for name, _nodes in self._nodes]:
            wanted = ", ".join(name for name, _nodes in self._nodes)
            raise field_error(
                "module_output_annotations",
                "a %(qtype)s has the lists %(wanted)s",
                qtype=question.qtype,
                wanted=wanted,
            )
        for number, ((name, nodes), (_name, spans)) in enumerate(zip(self._nodes, given, strict=True)):
            self._take(number, name, spans, nodes)

    def document(self) -> Document:
        """Return the gold."""
        layers: dict[int, Layer] = {}
        for index in self._program.walk:
            if index in self._spans:
                objects = tuple(self._object(index, span, layers) for span in self._spans[index].values())
                layers[index] = Layer(state="done" if objects else "nothing", objects=objects)
        return Document(layers=dict(sorted(layers.items())))

    def written(self, gold: Document) -> list[tuple[str, list[tuple[int, int]]]]:
        """Return the lists of some gold, unchanged if its spans are the same."""
        before, now = (resolve_references(document, self._program) for document in (self.document(), gold))
        lists = []
        for (name, nodes), (_name, spans) in zip(
            self._nodes, self._question.module_output_annotations or [], strict=True
        ):
            if any(_list_span_tokens(before, node) != _list_span_tokens(now, node) for node in nodes):
                events = name.startswith("after-m")
                shapes = (
                    self._event(shape, now) if events else shape
                    for node in nodes
                    for shape in now.get(node, ())
                )
                spans = list(dict.fromkeys(shape.tokens for shape in shapes if isinstance(shape, Span)))
            lists.append((name, spans))
        return lists

    def _event(self, number: Box | Span, now: Mapping[int, Sequence[Box | Span]]) -> Box | Span:
        """Return the event that a number is linked to, or the number itself."""
        drawn = {shape.id: shape for objects in now.values() for shape in objects}
        return next((drawn[link] for link in number.links if link in drawn), number)

    def _take(self, number: int, name: str, spans: list[tuple[int, int]], nodes: list[int]) -> None:
        """Assign the spans of a list to its step, or each to one of two steps."""
        for node in nodes:
            self._spans.setdefault(node, {})
        for first, beyond in spans:
            if not 0 <= first < beyond <= len(self._tokens):
                field = f"module_output_annotations[{number}]"
                raise field_error(
                    field, "tokens %(first)s to %(beyond)s are not in the passage", first=first, beyond=beyond
                )
            start, end = self._tokens[first][0], self._tokens[beyond - 1][1]
            for node in self._owners(nodes, (first, beyond)):
                spans_so_far = self._spans[node]
                if (first, beyond) in spans_so_far:
                    self._findings.note_repair(REPEATED_SPAN, f"{self._question.query_id}, {name}")
                    continue
                span = build_span(f"m{node}-{len(spans_so_far)}", start, end, self._passage, self._tokens)
                spans_so_far[first, beyond] = span

    def _owners(self, nodes: list[int], span: tuple[int, int]) -> list[int]:
        """Return the step of a span.

        Of two events it is the one whose words it shares; of groundings the nearer.
        """
        if len(set(nodes)) == 1:
            return nodes[:1]
        near = [self._nearness(node, nodes, span) for node in nodes]
        best = [node for node, nearness in zip(nodes, near, strict=True) if nearness == max(near)]
        self._findings.note_repair(
            JOINT_SPAN_RESOLVED if len(best) == 1 else JOINT_SPAN_UNRESOLVED, self._question.query_id
        )
        return best

    def _nearness(self, node: int, nodes: list[int], span: tuple[int, int]) -> int:
        below = self._program.nodes[node].children
        if below:
            events = self._spans.get(self._program.representative[below[0]], {})
            return -min((_count_tokens_beyond(span, event) for event in events), default=len(self._tokens))
        others = {word for other in nodes if other != node for word in self._argument(other)}
        start, end = self._tokens[span[0]][0], self._tokens[span[1] - 1][1]
        return len(_collect_words(self._passage[start:end]) & (self._argument(node) - others))

    def _argument(self, node: int) -> set[str]:
        return _collect_words(self._program.nodes[node].argument or "")

    def _object(self, index: int, span: Span, layers: Mapping[int, Layer]) -> Object:
        node = self._program.nodes[index]
        if node.role == "draw":
            return span
        below = self._spans.get(self._program.representative[node.children[0]], {})
        if node.role == "choose":
            # The file gives the largest and smallest numbers as the events around them.
            inside = [
                other for other in below.values() if _count_tokens_beyond(other.tokens, span.tokens) == 0
            ]
            equal = below.get(span.tokens) or (
                inside[0] if node.type == "numbers" and len(inside) == 1 else None
            )
            if equal is not None:
                return Chosen(id=span.id, ref=equal.id)
            self._findings.note_repair(UNMATCHED_SPAN, self._question.query_id)
            return span.model_copy(update={"reason": "as released: equals no span of the step below"})
        around = [other for other in below.values() if _count_tokens_beyond(span.tokens, other.tokens) == 0]
        if len(around) != 1 and node.module != "relocate":
            self._findings.note_repair(UNLINKED_VALUE, self._question.query_id)
        source = around if len(around) == 1 else list(below.values()) if len(below) == 1 else []
        return span.model_copy(update={"links": tuple(other.id for other in source)})


def _list_span_tokens(shapes: Mapping[int, Sequence[Box | Span]], node: int) -> list[tuple[int, int]] | None:
    return [span.tokens for span in shapes[node] if isinstance(span, Span)] if node in shapes else None


def _count_tokens_beyond(inner: tuple[int, int], outer: tuple[int, int]) -> int:
    """Return how many tokens one stretch extends beyond another."""
    return max(outer[0] - inner[0], 0) + max(inner[1] - outer[1], 0)


def _collect_words(text: str) -> set[str]:
    return {text[start:end].lower() for start, end in tokenize(text) if text[start].isalnum()}
