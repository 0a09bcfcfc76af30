"""A value of a mapping by a key that a template holds in a variable."""

from collections.abc import Mapping
from typing import Any

from django import template

register = template.Library()


@register.filter
def lookup(mapping: Mapping[Any, Any], key: Any) -> Any:
    """Return the value of a key, empty without one."""
    return mapping.get(key, "")
