"""The participant flow as an SVG diagram, a column per condition.

The SVG stands alone and prints in black and white: main boxes have solid borders, losses dashed ones. Its
description holds the same facts for readers who do not see it. Form: Schulz, Altman and Moher 2010 (CONSORT).
"""

import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

from ...participants.attrition import ConditionFlow, ParticipantFlow
from ..tables import format_count

BOX = 210  # width of a box
GAP = 26  # between columns, and between rows
LINE = 17  # height of a line of text
PAD = 9
MARGIN = 12
CHARACTERS = 30  # that fit into a box at 13 px


@dataclass(frozen=True)
class _Row:
    """One row of boxes: the facts in each column's box; no fact is no box."""

    facts: list[list[str]]
    loss: bool = False

    @property
    def lines(self) -> list[list[str]]:
        """The facts, broken to fit."""
        return [[part for fact in facts for part in textwrap.wrap(fact, CHARACTERS)] for facts in self.facts]


@dataclass(frozen=True)
class Box:
    """A box of the diagram with its lines of text."""

    x: int
    y: int
    width: int
    lines: Sequence[str]
    loss: bool = False

    @property
    def height(self) -> int:
        """Height of the box."""
        return len(self.lines) * LINE + 2 * PAD

    @property
    def middle(self) -> int:
        """Middle of the box from the left."""
        return self.x + self.width // 2

    @property
    def baselines(self) -> list[int]:
        """Baseline of each line of text from above."""
        return [self.y + PAD + 13 + number * LINE for number in range(len(self.lines))]


@dataclass(frozen=True)
class Layout:
    """Boxes and arrows (x, from, to) of the diagram, in pixels from above."""

    width: int
    height: int
    boxes: Sequence[Box]
    arrows: Sequence[tuple[int, int, int]]


def compute_flow_layout(flow: ParticipantFlow) -> Layout:
    """Place the boxes, a column per condition.

    Raises:
        ValueError: The flow has no conditions.
    """
    if not flow.conditions:
        raise ValueError("the flow has no conditions")
    width = 2 * MARGIN + len(flow.conditions) * (BOX + GAP) - GAP
    boxes: list[Box] = []
    arrows: list[tuple[int, int, int]] = []
    ends: list[int | None] = [None] * len(flow.conditions)  # lower edge of the last box of each column
    y = MARGIN
    if flow.consented is not None:
        boxes.append(Box(MARGIN, y, width - 2 * MARGIN, [f"Consented: {flow.consented}"]))
        y += boxes[0].height
        ends = [y] * len(flow.conditions)
    for row in _build_rows(flow.conditions):
        y += GAP if y > MARGIN else 0
        lowest = y
        for column, lines in enumerate(row.lines):
            if not lines:
                continue
            box = Box(MARGIN + column * (BOX + GAP), y, BOX, lines, row.loss)
            if (end := ends[column]) is not None:
                arrows.append((box.middle, end, y))
            boxes.append(box)
            ends[column] = y + box.height
            lowest = max(lowest, y + box.height)
        y = lowest
    return Layout(width, y + MARGIN, boxes, arrows)


def draw_flow_svg(flow: ParticipantFlow, *, title: str = "Participant flow", prefix: str = "flow") -> str:
    """Draw the diagram as SVG text.

    Args:
        flow: Counts from consent to retained trials.
        title: Title of the diagram for screen readers.
        prefix: Prefix of the ids, for pages that hold several diagrams.

    Returns:
        An SVG document in black on white, with title and description.

    Raises:
        ValueError: The flow has no conditions.

    Examples:
        >>> draw_flow_svg(ParticipantFlow(None, ()))
        Traceback (most recent call last):
        ValueError: the flow has no conditions
    """
    layout = compute_flow_layout(flow)
    shapes = [_draw_arrow(*arrow, prefix) for arrow in layout.arrows]
    shapes += [part for box in layout.boxes for part in _draw_box_shapes(box)]
    return _build_document(shapes, layout.width, layout.height, title, describe_flow(flow), prefix)


def describe_flow(flow: ParticipantFlow) -> str:
    """Describe the flow in sentences, with the same facts."""
    text = [f"{format_count(flow.consented, 'participant')} consented."] if flow.consented is not None else []
    for condition in flow.conditions:
        text.append(
            "; ".join(fact for row in _build_rows([condition]) for facts in row.facts for fact in facts) + "."
        )
    return " ".join(text)


def _build_rows(flows: Sequence[ConditionFlow]) -> list[_Row]:
    steps: tuple[tuple[Callable[[ConditionFlow], list[str]], bool], ...] = (
        (lambda flow: [flow.title, *_format_count_lines("Assigned", flow.assigned)], False),
        (lambda flow: _format_count_lines("Never started", _count_never_started(flow) or None), True),
        (lambda flow: _format_count_lines("Started", flow.started), False),
        (_describe_dropouts, True),
        (
            lambda flow: [
                *_format_count_lines("Completed", flow.completed),
                f"Submitted trials: {flow.trials}",
            ],
            False,
        ),
        (_describe_exclusions, True),
        (
            lambda flow: [
                f"Retained trials: {flow.retained}",
                f"of {format_count(flow.contributing, 'participant')}",
            ],
            False,
        ),
    )
    rows = [_Row([facts(flow) for flow in flows], loss) for facts, loss in steps]
    return [row for row in rows if any(row.facts)]


def _format_count_lines(label: str, count: int | None) -> list[str]:
    return [] if count is None else [f"{label}: {count}"]


def _count_never_started(flow: ConditionFlow) -> int:
    return 0 if flow.assigned is None or flow.started is None else flow.assigned - flow.started


def _describe_dropouts(flow: ConditionFlow) -> list[str]:
    """Describe participants who started and did not complete."""
    if flow.started is None or flow.completed is None or flow.started <= flow.completed:
        return []
    # Participants who never started have submitted 0 items, and have a box already.
    dropped_at = {k: n - (_count_never_started(flow) if k == 0 else 0) for k, n in flow.dropped_at.items()}
    shown = [f"{k}\N{NO-BREAK SPACE}({n})" for k, n in dropped_at.items() if n > 0]
    facts = [f"Not completed: {flow.started - flow.completed}"]
    facts += ["after items (people): " + ", ".join(shown)] if shown else []
    facts += [f"of all assigned, withdrawn: {flow.withdrawn}"] if flow.withdrawn else []
    facts += [f"of all assigned, still open: {flow.active}"] if flow.active else []
    return facts


def _describe_exclusions(flow: ConditionFlow) -> list[str]:
    if not flow.excluded:
        return []
    people = [f"Excluded participants: {flow.gone}"] if flow.gone else []
    people += [f"{rule}: {count}" for rule, count in sorted(flow.out.items())]
    facts = [f"Excluded trials: {flow.excluded}"]
    facts += [f"{rule}: {count}" for rule, count in flow.hit.items() if count]
    return facts + (["some by several rules"] if sum(flow.hit.values()) > flow.excluded else []) + people


def _draw_box_shapes(box: Box) -> list[str]:
    look = 'fill="#f2f2f2" stroke-dasharray="5 3"' if box.loss else 'fill="#ffffff"'
    size = f'width="{box.width}" height="{box.height}"'
    rect = f'<rect x="{box.x}" y="{box.y}" {size} rx="3" stroke="#1a1a1a" {look}/>'
    texts = [
        f'<text x="{box.middle}" y="{y}" text-anchor="middle">{escape(line)}</text>'
        for y, line in zip(box.baselines, box.lines, strict=True)
    ]
    return [rect, *texts]


def _draw_arrow(x: int, top: int, bottom: int, prefix: str) -> str:
    return (
        f'<path d="M{x} {top}V{bottom - 1}" stroke="#1a1a1a" fill="none" marker-end="url(#{prefix}-arrow)"/>'
    )


def _build_document(
    shapes: Sequence[str], width: int, height: int, title: str, description: str, prefix: str
) -> str:
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
            f'height="{height}" role="img" aria-labelledby="{prefix}-title {prefix}-desc" '
            'font-family="system-ui, sans-serif" font-size="13">',
            f'<title id="{prefix}-title">{escape(title)}</title>',
            f'<desc id="{prefix}-desc">{escape(description)}</desc>',
            f'<defs><marker id="{prefix}-arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
            'markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" fill="#1a1a1a"/></marker></defs>',
            *shapes,
            "</svg>",
            "",
        ]
    )
