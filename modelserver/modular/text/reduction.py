"""Programs without sorting and comparing modules (N20, section 4.1).

Networks that are trained without those modules need them.
"""

from __future__ import annotations

from dataclasses import replace

from analysis.programs import Program, parse
from analysis.programs.notation import format_module
from modelserver.modular.text.examples import Example
from modelserver.modular.text.grammar import SORTING


def remove_sorting(example: Example) -> Example:
    """Return an example whose program neither sorts nor compares.

    The sorted input replaces the sorting. Two compared events become one `find` with the words of both,
    which then has to choose between them. The remaining nodes keep their gold.
    """
    program = example.program
    if program is None or all(node.module not in SORTING for node in program.nodes):
        return example
    kept: list[int | None] = []
    text = _reduce_subtree(program, 0, kept)
    left = {node: index for index, node in enumerate(kept) if node is not None}
    gold = tuple(
        replace(gold_list, nodes=tuple(left[node] for node in gold_list.nodes))
        for gold_list in example.gold
        if all(node in left for node in gold_list.nodes)
    )
    return replace(example, program=parse(text, kind="spans"), gold=gold)


def _reduce_subtree(program: Program, index: int, kept: list[int | None]) -> str:
    """Return a subtree as text, and append each kept node's old number.

    A new node has None.
    """
    node = program.nodes[index]
    if node.module in ("find-max-num", "find-min-num"):
        return _reduce_subtree(program, node.children[0], kept)
    if node.module in SORTING:
        below = program.nodes[index + 1 : program.end(index)]
        words = " ".join(
            descendant.argument
            for descendant in below
            if descendant.argument and descendant.module not in SORTING
        )
        kept.append(None)
        return format_module("find", words or None)
    kept.append(index)
    inside = ", ".join(_reduce_subtree(program, child, kept) for child in node.children)
    return format_module(node.module, node.argument) + (f"({inside})" if inside else "")
