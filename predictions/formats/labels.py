"""The labels that the answers of a file choose from."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from foundation.errors import BadFile
from foundation.messages import say
from modelserver.wire.schema import MOST_LABELS
from predictions.formats.entries import read_elements

# As the releases write them, in their order, so that a sample without one of them has the same labels.
LABEL_SETS = (
    ("SUPPORTED", "NOT_SUPPORTED"),  # HoVer: Jiang et al. 2020
    ("SUPPORTS", "REFUTES", "NOT ENOUGH INFO"),  # FEVER: Thorne et al. 2018
    ("SUPPORT", "CONTRADICT", "NOT_ENOUGH_INFO"),  # SciFact: Wadden et al. 2020
    ("entailment", "neutral", "contradiction"),  # e-SNLI: Camburu et al. 2018
)


def read_labels(path: Path, fields: Iterable[str]) -> list[str]:
    """Return the labels of a file, which is read once for them.

    Those of a known dataset come whole and in its order, others by the alphabet. Wrong entries are passed
    over, because the reader of the records refuses them.

    Args:
        path: The file.
        fields: The names that the field of the label may have.

    Raises:
        BadFile: There are more than MOST_LABELS, so that the answers are no labels; or as `read_values`.
    """
    names, labels = list(fields), set[str]()
    for element in read_elements(path, on_error=lambda error: None):
        if label := _find_label(element.value, names):
            labels.add(label)
        if len(labels) > MOST_LABELS:
            reason = say("has more than %(most)s labels, so its answers are free", most=MOST_LABELS)
            raise BadFile(path, reason, line=element.line, field=names[0])
    return next((list(known) for known in LABEL_SETS if labels <= set(known)), sorted(labels))


def _find_label(entry: Any, names: Iterable[str]) -> str:
    given = (entry.get(name) for name in names) if isinstance(entry, Mapping) else ()
    return next((value for value in given if isinstance(value, str)), "")
