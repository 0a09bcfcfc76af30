"""Items that are equal but for rounding in the last digits of their boxes."""

from typing import Any

from annotation.content.schemas import ItemRecord


def same(one: ItemRecord, other: ItemRecord) -> bool:
    """Whether two items are equal, numbers to nine decimals: formats count boxes in percent or pixels."""
    return close(one.model_dump(mode="json"), other.model_dump(mode="json"))


def close(one: Any, other: Any) -> bool:
    """Whether two JSON values are equal, numbers to nine decimals."""
    if isinstance(one, int | float) and isinstance(other, int | float):
        return abs(one - other) < 1e-9
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(close(value, other[key]) for key, value in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(close, one, other))
    return bool(one == other)
