"""Plan a program over boxes: its jobs, each a node in one run, in order.

Equal subtrees are one job. The modules that take each image alone run their subtree for the left and for
the right image (Subramanian et al. 2020, Table 3), so that a node below them has a job for each.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

from analysis.programs import parse
from analysis.programs.modules import Type
from analysis.programs.program import Node, Program

IMAGES = 2
WORDED = frozenset({"find", "filter", "project", "with-relation"})  # modules that read words
SCORED = WORDED - {"with-relation"}  # with a score for each box
RELATED = frozenset({"project", "with-relation"})  # with a score for each pair of boxes


@dataclass(frozen=True)
class Scope:
    """The images that a run looks at, and which of them is "one", if any."""

    images: tuple[bool, ...] = (True,) * IMAGES
    one_image: int | None = None

    def limit_to_image(self, image: int) -> Scope:
        """Return the scope limited to one image."""
        return replace(self, images=tuple(seen and i == image for i, seen in enumerate(self.images)))


@dataclass(frozen=True)
class Job:
    """A node in a run.

    ``children`` are places in the plan's jobs; ``level`` is above theirs.
    """

    node: int
    module: str
    type: Type
    images: tuple[bool, ...]
    children: tuple[int, ...]
    level: int


@dataclass(frozen=True)
class Plan:
    """A program as jobs, children first; the last is the root.

    ``runs`` has the jobs of every node.
    """

    program: Program
    jobs: tuple[Job, ...]
    runs: tuple[tuple[int, ...], ...]

    def nodes(self, modules: frozenset[str]) -> list[int]:
        """Return the distinct nodes of these modules."""
        return sorted({job.node for job in self.jobs if job.module in modules})


@lru_cache(maxsize=20_000)
def plan_program(program: str) -> Plan:
    """Lay out a program given as nested text.

    Raises ProgramError for one that is none over boxes.
    """
    parsed = parse(program, kind="boxes")
    return _Planner(parsed).plan()


class _Planner:
    def __init__(self, program: Program) -> None:
        self.program = program
        self.jobs: list[Job] = []
        self.known: dict[tuple[int, Scope], int] = {}

    def plan(self) -> Plan:
        self._add(0, Scope())
        runs: list[dict[int, None]] = [{} for _ in self.program.nodes]
        for (node, _), job in self.known.items():
            runs[node][job] = None
        first = self.program.representative
        return Plan(self.program, tuple(self.jobs), tuple(tuple(runs[node]) for node in first))

    def _add(self, index: int, scope: Scope) -> int:
        node = self.program.nodes[self.program.representative[index]]
        key = (node.index, scope)
        if key not in self.known:
            children = tuple(
                self._add(child, inner) for inner in _list_scopes(node, scope) for child in node.children
            )
            level = 1 + max((self.jobs[child].level for child in children), default=-1)
            self.jobs.append(Job(node.index, node.module, node.type, scope.images, children, level))
            self.known[key] = len(self.jobs) - 1
        return self.known[key]


def _list_scopes(node: Node, scope: Scope) -> list[Scope]:
    """Return the scopes that a node's children run in."""
    match node.module:
        case "in-each-image" | "in-at-least-one-image":
            return [scope.limit_to_image(image) for image in range(IMAGES)]
        case "in-one-other-image":
            return [replace(scope, one_image=image) for image in range(IMAGES)]
        case "in-one-image" | "in-other-image" if scope.one_image is not None:
            return [
                scope.limit_to_image(
                    scope.one_image if node.module == "in-one-image" else 1 - scope.one_image
                )
            ]
    return [scope]
