"""Identity of systems; answers of a user's own as predictions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MethodType
from typing import Any, TypedDict

from pydantic import ValidationError

from modelserver.wire.schema import (
    LONGEST_REVISION,
    AnswerLocation,
    Fact,
    QAItem,
    QAPrediction,
    format_first_problem,
)

WARM_UP = QAItem(
    id="warm-up",
    question="Which band did the singer found?",
    context=[("The singer", ["The singer founded the band.", " It toured for years."])],
)


class Labels(TypedDict):
    """The name of a system as people type it, and a line that describes it."""

    name: str
    description: str


class Identity(Labels):
    """Labels and the revision of a loaded system."""

    revision: str


class Identified:
    """Base of systems that are created with their `Identity`."""

    def __init__(self, *, name: str, description: str, revision: str) -> None:
        self.name, self.description, self.revision = name, description, revision


def count_words(item: QAItem) -> int:
    """Return the number of words in question and context.

    It is the cost of an item if the system does not define its own.
    """
    texts = (sentence for _, sentences in item.context for sentence in sentences)
    return len(item.question.split()) + sum(len(text.split()) for text in texts)


def complete_prediction(item: QAItem, answer: object) -> QAPrediction:
    """Return a foreign system's answer to an item as a prediction.

    ``answer`` is a QAPrediction or a mapping with its fields, of which ``answer`` alone is required;
    ``id`` defaults to the item's and ``facts`` to none. Raises ValueError, naming the field, also for a
    fact or a location that the item's context does not hold.
    """
    if isinstance(answer, QAPrediction):
        # Again, because it may have been created unchecked.
        answer = answer.model_dump(warnings=False)
    if not isinstance(answer, Mapping):
        raise ValueError(f"the answer to an item is a mapping or a QAPrediction, not {type(answer).__name__}")
    try:
        prediction = QAPrediction.model_validate({"id": item.id, "facts": []} | dict(answer))
    except ValidationError as error:
        raise ValueError(format_first_problem(error)) from error
    if prediction.id != item.id:
        raise ValueError(f"id: the answer to {item.id!r} has the id {prediction.id!r}")
    if "\0" in prediction.answer:
        raise ValueError("answer: it holds the character 0, which no database takes")
    _require_known_facts(item, prediction)
    return prediction


def _require_known_facts(item: QAItem, prediction: QAPrediction) -> None:
    texts: dict[Fact, str] = {}  # the longest of those that share title and number
    for title, sentences in item.context:
        for index, text in enumerate(sentences):
            texts[title, index] = max(texts.get((title, index), ""), text, key=len)
    for fact in prediction.facts:
        if fact not in texts:
            raise ValueError(f"facts: the context holds no sentence {fact[1]} of an article {fact[0]!r}")
    if len(set(prediction.facts)) < len(prediction.facts):
        raise ValueError("facts: one is named twice")
    facts = [(title, index) for title, sentences in item.context for index in range(len(sentences))]
    given = prediction.fact_probabilities
    # If articles share a title, a fact may be listed once, as our own systems do, or for each article.
    if given is not None and [probability.fact for probability in given] not in (facts, list(texts)):
        raise ValueError("fact_probabilities: they must be those of all sentences, in their order")
    if prediction.location is not None:
        _require_known_place(texts, prediction.location)


def _require_known_place(texts: Mapping[Fact, str], location: AnswerLocation) -> None:
    for fact in (location.first, location.last):
        if fact is not None and fact not in texts:
            raise ValueError(f"location: the context holds no sentence {fact[1]} of an article {fact[0]!r}")
    if location.first is not None and location.end is not None and location.end > len(texts[location.first]):
        raise ValueError(f"location.end: the sentence has {len(texts[location.first])} characters")


def require_revision(revision: object, whose: str) -> str:
    """Return a foreign revision if it is valid.

    Raises ValueError, which begins with ``whose``.
    """
    if not isinstance(revision, str) or not revision.strip() or not revision.isprintable():
        raise ValueError(f"{whose}: revision is {revision!r}, and not a text")
    if len(revision) > LONGEST_REVISION:
        raise ValueError(f"{whose}: revision has {len(revision)} characters, more than {LONGEST_REVISION}")
    return revision


def count_weight_bytes(system: object) -> int:
    """Return the bytes of a system's weights, which ``--max-memory`` bounds.

    That is its ``weight_bytes`` if it has such a number, else the parameters and buffers of the torch
    modules among its attributes, each tensor once. Memory that a batch needs while it is computed does
    not count.
    """
    declared = getattr(system, "weight_bytes", None)
    if declared is not None:
        return int(declared)
    attributes = getattr(system, "__dict__", {}).values()
    modules = [
        attribute
        for attribute in attributes
        if all(isinstance(getattr(attribute, kind, None), MethodType) for kind in ("parameters", "buffers"))
    ]
    tensors = {id(tensor): tensor for module in modules for tensor in _list_tensors(module)}
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors.values())


def _list_tensors(module: Any) -> Iterator[Any]:
    yield from module.parameters()
    yield from module.buffers()


def describe_error(error: BaseException) -> str:
    """Return type and text of an error, even if its text itself fails."""
    try:
        text = str(error)
    except Exception:  # user code
        text = ""
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def is_out_of_memory(error: BaseException) -> bool:
    """Return True if memory ran out: Python's, a GPU's, or torch's on the CPU."""
    # By name and text: this module does not import torch, and on the CPU torch raises a RuntimeError.
    named = isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError"
    return named or "can't allocate memory" in describe_error(error)
