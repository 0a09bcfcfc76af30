"""Labels for the content of a log: kinds of events, details and values.

Exports, webhooks and addresses contain the identifiers; pages show the labels.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.functional import Promise
from django.utils.text import capfirst
from django.utils.translation import gettext

from foundation.translated_messages import translate_text

Labels = Mapping[str, str | Promise]


@dataclass(frozen=True)
class EventLabels:
    """The tables of one app.

    Attributes:
        kinds: The label of each kind of event.
        details: The label of each name of a detail.
        values: The labels of a detail's values, by the name of the detail.
    """

    kinds: Labels
    details: Labels
    values: Mapping[str, Labels]

    def check(self, kind: str) -> None:
        """Raise KeyError for a kind that the table lacks."""
        if kind not in self.kinds:
            raise KeyError(f"events of the kind {kind!r} have no label; add one to the app's event_labels")

    def kind_label(self, kind: str) -> str:
        """Return the label of a kind; a kind of an older release is its own."""
        return str(self.kinds.get(kind, kind))

    def detail_labels(self, data: Mapping[str, Any]) -> list[tuple[str, str]]:
        """Return the label and the shown value of each detail of an event."""
        return [(self._name(name), self._value(name, value)) for name, value in data.items()]

    def _name(self, name: str) -> str:
        return capfirst(str(self.details[name])) if name in self.details else name

    def _value(self, name: str, value: Any) -> str:
        if value is None or value == "":
            return "–"
        if isinstance(value, bool):
            return gettext("yes") if value else gettext("no")
        if isinstance(value, Mapping):
            return ", ".join(f"{inner}: {shown}" for inner, shown in self.detail_labels(value))
        if isinstance(value, list):
            return ", ".join(self._value(name, item) for item in value) or "–"
        return translate_text(str(self.values.get(name, {}).get(value, value)))
