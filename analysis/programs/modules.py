"""Modules of programs: the inputs, output and annotation of each.

Boxes: Subramanian et al. 2020 (N20), Table 3, with `in-one-image` and
`in-other-image`, which the released programs use inside `in-one-other-image`.
Spans: Gupta et al. 2020 and N20 §2.2. There, finding the number or date of an
event also happens inside the comparing modules; here it is a node of its own,
so that its outputs can be annotated and scored.
"""

from dataclasses import dataclass
from typing import Literal

Kind = Literal["boxes", "spans"]
"""The objects of a program: boxes in images, or spans of a passage."""

Type = Literal["boxes", "spans", "numbers", "dates", "number", "truth", "answers"]
"""The type of a node's output.

Boxes, spans, numbers and dates are objects that have a place (that of a number is its digits in the text);
"number" and "truth" are values without one. "answers" are those of people to a plain task, which no module
takes.
"""

Role = Literal["draw", "choose", "link", "answer", "relate", "compute"]
"""The task of a person at a node.

Draw any object; choose among those of the first child; link each new one to an object of the child; answer a
question of a plain task; or nothing, because it is computed. "answer" and "relate" are of plain tasks, see
`annotation.content.label_programs`.
"""

Argument = Literal["none", "optional", "required"]

OBJECTS: frozenset[Type] = frozenset({"boxes", "spans", "numbers", "dates"})
"""The types of outputs that are objects with a place in an image or a text."""


@dataclass(frozen=True)
class Module:
    """One row of the table.

    Attributes:
        name: Name with hyphens.
        inputs: The types that each child may have.
        output: Type of the output; None stands for that of the first child.
        role: The task of a person at a node.
        meaning: Its task, for readers.
        argument: "none", "optional" or "required".
        choices: The only arguments allowed, if any.
        fewest: The number of children that it needs; None for all of them.
        alike: Dates may only stand beside dates.
    """

    name: str
    inputs: tuple[tuple[Type, ...], ...]
    output: Type | None
    role: Role
    meaning: str
    argument: Argument = "none"
    choices: tuple[str, ...] = ()
    fewest: int | None = None
    alike: bool = False

    @property
    def least(self) -> int:
        """The smallest number of children."""
        return len(self.inputs) if self.fewest is None else self.fewest


_BOXES: tuple[Type, ...] = ("boxes",)
_SPANS: tuple[Type, ...] = ("spans",)
_PLACES: tuple[Type, ...] = ("spans", "numbers", "dates")
_COUNTS: tuple[Type, ...] = ("numbers", "number")
_NUMBER: tuple[Type, ...] = ("number",)
_TRUTH: tuple[Type, ...] = ("truth",)

_OF_BOXES = (
    Module("find", (), "boxes", "draw", "the objects that the words name", "optional"),
    Module("filter", (_BOXES,), None, "choose", "those that the words hold for", "optional"),
    Module("with-relation", (_BOXES, _BOXES), None, "choose",
           "those of the first that stand so to one of the second", "optional"),
    Module("project", (_BOXES,), "boxes", "link", "what the words name, at or of those objects", "optional"),
    Module("intersect", (_BOXES, _BOXES), None, "choose", "those that are in both"),
    Module("discard", (_BOXES, _BOXES), None, "choose", "those of the first that are not in the second"),
    Module("in-left-image", (_BOXES,), "boxes", "compute", "those in the left image"),
    Module("in-right-image", (_BOXES,), "boxes", "compute", "those in the right image"),
    Module("in-one-image", (_BOXES,), "boxes", "compute", "those in the one image of in-one-other-image"),
    Module("in-other-image", (_BOXES,), "boxes", "compute", "those in the other image of in-one-other-image"),
    Module("count", (_BOXES,), "number", "compute", "how many there are"),
    Module("exist", (_BOXES,), "truth", "compute", "whether there is one"),
    Module("equal", (_NUMBER, _NUMBER), "truth", "compute", "whether the two are the same"),
    Module("less", (_NUMBER, _NUMBER), "truth", "compute", "whether the first is less than the second"),
    Module("less-equal", (_NUMBER, _NUMBER), "truth", "compute", "whether the first is at most the second"),
    Module("greater", (_NUMBER, _NUMBER), "truth", "compute", "whether the first is more than the second"),
    Module("greater-equal", (_NUMBER, _NUMBER), "truth", "compute",
           "whether the first is at least the second"),
    Module("and", (_TRUTH, _TRUTH), "truth", "compute", "whether both hold"),
    Module("or", (_TRUTH, _TRUTH), "truth", "compute", "whether at least one holds"),
    Module("sum", (_NUMBER, _NUMBER), "number", "compute", "the first plus the second"),
    Module("difference", (_NUMBER, _NUMBER), "number", "compute", "the first minus the second"),
    Module("division", (_NUMBER, _NUMBER), "number", "compute", "the first divided by the second"),
    Module("in-at-least-one-image", (_TRUTH,), "truth", "compute", "whether it holds in some image alone"),
    Module("in-each-image", (_TRUTH,), "truth", "compute", "whether it holds in each image alone"),
    Module("in-one-other-image", (_TRUTH,), "truth", "compute",
           "whether it holds with left and right as the one and the other image, or with right and left"),
    *(Module(str(n), (), "number", "compute", f"the number {n}", "optional") for n in range(10)),
)  # fmt: skip

_OF_SPANS = (
    Module("find", (), "spans", "draw", "the events that the words name", "optional"),
    Module("filter", (_SPANS,), None, "choose", "those that the words hold for", "optional"),
    Module("relocate", (_PLACES,), "spans", "link", "what the words ask for, of those events", "optional"),
    Module("find-num", (_SPANS,), "numbers", "link", "the number that belongs to each"),
    Module("find-date", (_SPANS,), "dates", "link", "the date that belongs to each"),
    Module("find-max-num", (("numbers", "spans"),), None, "choose", "the one with the largest number"),
    Module("find-min-num", (("numbers", "spans"),), None, "choose", "the one with the smallest number"),
    Module("num-compare", (("numbers", "spans"),) * 2, "spans", "compute",
           "the event whose number is greater, or less", "required", ("greater", "less")),
    Module("date-compare", (("dates", "spans"),) * 2, "spans", "compute",
           "the event whose date is earlier, or later", "required", ("earlier", "later")),
    Module("count", (_PLACES,), "number", "compute", "how many there are"),
    Module("addition", (_COUNTS, _COUNTS), "number", "compute", "the first plus the second"),
    Module("subtraction", (("numbers", "number", "dates"),) * 2, "number", "compute",
           "the first minus the second; of dates, the years between; of one child, of its two",
           fewest=1, alike=True),
    Module("extract-answer", (), "spans", "draw", "the answer itself, without steps", "optional"),
)  # fmt: skip

MODULES: dict[Kind, dict[str, Module]] = {
    "boxes": {module.name: module for module in _OF_BOXES},
    "spans": {module.name: module for module in _OF_SPANS},
}
"""The modules of each kind of program, by name."""

# Other names in use for the same module: in the papers' texts, in their code, in people's fingers.
ALIASES: dict[Kind, dict[str, str]] = {
    "boxes": {"relocate": "project", "bool-and": "and", "bool-or": "or", "exists": "exist"},
    "spans": {"project": "relocate", "compare-num": "num-compare", "compare-date": "date-compare"},
}  # fmt: skip
