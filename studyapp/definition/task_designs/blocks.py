"""The blocks of a simulation, and the definitions that they fit.

Pure: no Django. Each participant predicts in a test, in a learning block that shows the answers, and in a
second test (Hase and Bansal 2020, ACL). The block of each item is drawn for each participant, so
that no block is easier by its items.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from foundation.messages import value_error
from studyapp.definition.checks import AttentionDefinition
from studyapp.definition.conditions import ConditionDefinition, ItemsDefinition
from studyapp.definition.frozen.freezing import Design
from studyapp.definition.tasks import Blocks, Simulation, Task

BEFORE, LEARNING, AFTER = "before", "learning", "after"
BLOCKS = (BEFORE, LEARNING, AFTER)


def list_blocks_by_position(blocks: Blocks, practice: int, attention: Iterable[int]) -> list[str]:
    """Return the block of each page with an item, in order.

    Practice items have none. An attention item belongs to the block of the item after it, the last ones to
    that of the item before.

    Args:
        blocks: The sizes of the blocks.
        practice: The number of practice items, which come first.
        attention: The 1-based positions of attention items among all but practice items.

    >>> list_blocks_by_position(Blocks(before=2, learning=2, after=2), 1, [3])
    ['', 'before', 'before', 'learning', 'learning', 'learning', 'after', 'after']
    """
    laid_out = [name for name, size in blocks.sizes.items() for _item in range(size)]
    for position in sorted(attention):
        laid_out.insert(position - 1, laid_out[min(position, len(laid_out)) - 1])
    return [""] * practice + laid_out


def fill_item_count(data: dict[str, Any], task: Any) -> dict[str, Any]:
    """Return a written definition that draws the items of its blocks.

    Args:
        data: The definition.
        task: Its task as written; another one, or one with errors, changes nothing.
    """
    written = task.get("blocks", {}) if isinstance(task, dict) and task.get("kind") == "simulation" else None
    items = data.get("items", {})
    if not (isinstance(written, dict) and isinstance(items, dict)) or {"count", "ids"} & items.keys():
        return data
    sizes = Blocks().sizes | written
    if not all(type(size) is int for size in sizes.values()):
        return data
    return {**data, "items": {**items, "count": sum(sizes.values())}}


def check_design(task: Task | None, design: Design) -> None:
    """Raise ValueError if participants of a simulation see several conditions."""
    if isinstance(task, Simulation) and design != "between":
        raise value_error(
            "the task simulation needs design: between, because participants would take what they learn "
            "about one condition to the next"
        )


def check_conditions(task: Task | None, conditions: Sequence[ConditionDefinition]) -> None:
    """Raise ValueError if a condition of a simulation has no system."""
    for condition in conditions if isinstance(task, Simulation) else ():
        if condition.ground_truth:
            raise value_error(
                "%(name)r: the task simulation needs a system, whose answers can be right or wrong; the "
                "ground truth is always right",
                name=condition.name,
            )


def check_items(task: Task | None, items: ItemsDefinition) -> None:
    """Raise ValueError if the items do not fill the blocks of a simulation."""
    if not isinstance(task, Simulation):
        return
    if items.stratify is not None:
        raise value_error(
            "leave out stratify: a simulation draws as many correct as wrong answers of every system"
        )
    if items.total != task.blocks.total:
        raise value_error(
            "the blocks of the task need %(needed)s items, not %(n)s", needed=task.blocks.total, n=items.total
        )


def check_attention(task: Task | None, attention: Sequence[AttentionDefinition]) -> None:
    """Raise ValueError if an attention item of a simulation shows an answer."""
    for row in attention if isinstance(task, Simulation) else ():
        if row.kind == "contradiction":
            raise value_error(
                "attention item %(id)r: a contradiction would teach a wrong answer of the system; use "
                "the kind instructed",
                id=row.id,
            )
