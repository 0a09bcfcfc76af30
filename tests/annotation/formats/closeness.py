"""Items that are equal but for rounding in the last digits of their boxes."""

from typing import Any

from annotation.content.schemas import ItemRecord


def same(item: ItemRecord, other: ItemRecord) -> bool:
    """Return whether two items are equal, with numbers to nine decimals.

    Formats count boxes in percent or pixels.
    """
    return close(item.model_dump(mode="json"), other.model_dump(mode="json"))


def close(left: Any, right: Any) -> bool:
    """Return whether two JSON values are equal, with numbers to nine decimals."""
    if isinstance(left, int | float) and isinstance(right, int | float):
        return abs(left - right) < 1e-9
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(close(value, right[key]) for key, value in left.items())
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(close, left, right))
    return bool(left == right)
