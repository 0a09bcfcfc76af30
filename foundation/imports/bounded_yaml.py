"""Bounded reading of YAML that anybody with a browser may send.

Pure: no Django. Depth, nodes, aliases and numbers are bounded before anything is made of them.
"""

from collections.abc import Iterator
from typing import Any

import yaml

from foundation.messages import say

MAX_DEPTH = 40
MAX_NODES = 100_000  # with aliases written out
MAX_DIGITS = 30  # of a number


class YamlError(ValueError):
    """A text that is not read; holds the 1-based line and the problem."""

    def __init__(self, line: int, problem: str) -> None:
        self.line, self.problem = line, problem
        super().__init__(f"line {line}: {problem}")


def _build_error(node: yaml.Node, problem: str) -> YamlError:
    return YamlError(node.start_mark.line + 1, problem)


class Loader(yaml.SafeLoader):
    """Makes plain data; a value that it cannot make is an error of its line."""

    _composed = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        """Return the next node. Raises YamlError at one too many.

        Composing takes most of the time, so the nodes are counted here and not afterwards.
        """
        self._composed += 1
        if self._composed > MAX_NODES:
            raise YamlError(self.line + 1, say("has too many parts"))
        return super().compose_node(parent, index)

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        """Return the value of a node. Raises YamlError."""
        kind = node.tag.rpartition(":")[2]
        if kind in ("int", "float") and (len(str(node.value)) > MAX_DIGITS or ":" in str(node.value)):
            raise _build_error(node, say("cannot be read as a number; write text in quotes"))
        try:
            return super().construct_object(node, deep)
        except YamlError:
            raise
        except (ValueError, ArithmeticError, LookupError, AttributeError) as error:
            message = say("%(text)r is not a valid %(kind)s", text=str(node.value)[:40], kind=kind)
            raise _build_error(node, message) from error


def read_yaml(text: str) -> tuple[yaml.Node | None, Any]:
    """Return a YAML text as nodes, which know their lines, and as plain data.

    Raises:
        YamlError: It is not valid YAML, or too large or too deep.
    """
    try:
        loader = Loader(text)
        node = loader.get_single_node()
        if node is None:
            return None, None
        if _measure(node, {})[0] > MAX_NODES:
            raise _build_error(node, say("has too many parts"))
        return node, loader.construct_document(node)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise YamlError(line, say("is not valid YAML: %(problem)s", problem=str(error.problem))) from error
    except RecursionError as error:
        raise YamlError(1, say("is nested too deeply")) from error
    except yaml.YAMLError as error:
        problem = str(error).splitlines()[0]
        raise YamlError(1, say("is not valid YAML: %(problem)s", problem=problem)) from error


def find_repeated_keys(node: yaml.Node | None) -> Iterator[tuple[int, str]]:
    """Yield line and name of each key that a mapping gives twice.

    YAML would silently take the last. Aliases are walked once.
    """
    yield from _find_repeated_keys(node, set())


def _find_repeated_keys(node: yaml.Node | None, walked: set[int]) -> Iterator[tuple[int, str]]:
    if id(node) in walked:
        return
    walked.add(id(node))
    if isinstance(node, yaml.SequenceNode):
        for child in node.value:
            yield from _find_repeated_keys(child, walked)
    if isinstance(node, yaml.MappingNode):
        seen = set()
        for key, child in node.value:
            # Keys that `<<` merges stand above the mapping, which may replace them.
            if isinstance(key, yaml.ScalarNode) and key.start_mark.index >= node.start_mark.index:
                if key.value in seen:
                    yield key.start_mark.line + 1, key.value
                seen.add(key.value)
            yield from _find_repeated_keys(child, walked)


def _measure(node: yaml.Node, measured: dict[int, tuple[int, int] | None]) -> tuple[int, int]:
    """Return the values at and below a node, and their depth.

    Aliases count as if they were written out. Each node is measured once, so that
    aliases of aliases cost what the file is long.
    """
    if id(node) not in measured:
        measured[id(node)] = None
        pairs = node.value if isinstance(node, yaml.MappingNode) else []
        items = node.value if isinstance(node, yaml.SequenceNode) else []
        below = [_measure(part, measured) for part in (*items, *(part for pair in pairs for part in pair))]
        depth = 1 + max((deep for _size, deep in below), default=0)
        if depth > MAX_DEPTH:
            raise _build_error(node, say("is nested too deeply"))
        measured[id(node)] = 1 + sum(size for size, _deep in below), depth
    both = measured[id(node)]
    if both is None:
        raise _build_error(node, say("is part of itself"))
    return both
