"""Filters of templates: values by key, labels, plain text as paragraphs."""

from collections.abc import Mapping
from typing import Any

from django import template

from foundation.pages.paragraphs import paragraphs
from foundation.translated_messages import translate_text
from studyapp.definition.participation.suspicion_flags import Flag
from studyapp.queries.participants.flag_labels import FLAG_LABELS

register = template.Library()
register.filter(paragraphs)
register.filter("link_label", translate_text)  # those that the site makes are English


@register.filter
def lookup(mapping: Mapping[Any, Any], key: Any) -> Any:
    """Return the value of a key, empty without one."""
    return mapping.get(key, "")


@register.filter
def flag_label(flag: Flag) -> str:
    """Return the label of a participant's flag."""
    return str(FLAG_LABELS[flag])
