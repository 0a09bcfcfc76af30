"""The words for what a log holds: kinds of events, the names of their details, and values among them.

Machines read the identifiers, in exports, webhooks and addresses; people are shown these words.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.functional import Promise
from django.utils.text import capfirst
from django.utils.translation import gettext as translated

Words = Mapping[str, str | Promise]


@dataclass(frozen=True)
class EventWords:
    """The tables of one app. ``values`` has, by the name of a detail, the words for its values."""

    kinds: Words
    details: Words
    values: Mapping[str, Words]

    def check(self, kind: str) -> None:
        """Raises KeyError for a kind that the table lacks."""
        if kind not in self.kinds:
            raise KeyError(f"events of the kind {kind!r} have no words; add them to the app's event_words")

    def kind(self, kind: str) -> str:
        """A kind in words; one of an older release that the table lacks is shown as it is."""
        return str(self.kinds.get(kind, kind))

    def told(self, data: Mapping[str, Any]) -> list[tuple[str, str]]:
        """The details of an event: each name and value, in words."""
        return [(self._name(name), self._value(name, value)) for name, value in data.items()]

    def _name(self, name: str) -> str:
        return capfirst(str(self.details[name])) if name in self.details else name

    def _value(self, name: str, value: Any) -> str:
        if value is None or value == "":
            return "–"
        if isinstance(value, bool):
            return translated("yes") if value else translated("no")
        if isinstance(value, Mapping):
            return ", ".join(f"{inner}: {shown}" for inner, shown in self.told(value))
        if isinstance(value, list):
            return ", ".join(self._value(name, one) for one in value) or "–"
        return str(self.values.get(name, {}).get(value, value))
