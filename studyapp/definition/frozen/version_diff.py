"""Differences between two frozen studies, field by field.

Pure: no Django. Lists of things with a name are compared by name, so that one item more is one difference
and not one per item that moved down.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

NAMES = ("id", "key", "name")  # what names an item, a question, a condition or a rule
_ABSENT = object()


class Difference(NamedTuple):
    """One field.

    ``path`` leads to it, outermost first; what was added has no ``before``.
    """

    path: tuple[str, ...]
    kind: Literal["added", "removed", "changed", "moved"]
    before: Any = None
    after: Any = None


def find_differences(before: Any, after: Any) -> list[Difference]:
    """Return the differences between two JSON values.

    They are in the order of the first value, then what only the second has.

    >>> find_differences({"a": [{"id": "q", "n": 1}]}, {"a": [{"id": "q", "n": 2}]})
    [Difference(path=('a', 'q', 'n'), kind='changed', before=1, after=2)]
    """
    return list(_compare((), before, after))


def _compare(path: tuple[str, ...], before: Any, after: Any) -> Iterator[Difference]:
    if before == after:
        return
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        yield from _compare_fields(path, before, after)
    elif (old := _index_by_name(before)) is not None and (new := _index_by_name(after)) is not None:
        yield from _compare_fields(path, old, new)
        kept = [[name for name in row if name in other] for row, other in ((old, new), (new, old))]
        if kept[0] != kept[1]:
            yield Difference(path, "moved", kept[0], kept[1])
    else:
        yield Difference(path, "changed", before, after)


def _compare_fields(
    path: tuple[str, ...], before: Mapping[str, Any], after: Mapping[str, Any]
) -> Iterator[Difference]:
    for name in [*before, *(name for name in after if name not in before)]:
        old, new = before.get(name, _ABSENT), after.get(name, _ABSENT)
        if new is _ABSENT:
            yield Difference((*path, name), "removed", before=old)
        elif old is _ABSENT:
            yield Difference((*path, name), "added", after=new)
        else:
            yield from _compare((*path, name), old, new)


def _index_by_name(value: Any) -> dict[str, Any] | None:
    """Return a list of named things by name; None for any other value."""
    if not isinstance(value, Sequence) or isinstance(value, str) or not value:
        return None
    for field in NAMES:
        if all(isinstance(entry, Mapping) and isinstance(entry.get(field), str) for entry in value):
            by_name = {entry[field]: entry for entry in value}
            return by_name if len(by_name) == len(value) else None
    return None
