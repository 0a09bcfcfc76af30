"""What a launch freezes: its form, its canonical JSON and its hash. Pure: no Django.

Participants are shown what stands here, so nothing that changes later can change what they see.
"""

import hashlib
import json
from typing import Annotated, Any, Literal

from pydantic import Field

from studyapp.questionnaires import Frozen, Question

Clock = Literal["server", "client_total", "client_visible"]


class MinTimeRule(Frozen):
    """Excludes a trial that took less than ``milliseconds`` on ``clock``."""

    name: str
    kind: Literal["min_time"] = "min_time"
    clock: Clock
    milliseconds: int


class MaxTimeRule(Frozen):
    """Excludes a trial that took more than ``milliseconds`` on ``clock``."""

    name: str
    kind: Literal["max_time"] = "max_time"
    clock: Clock
    milliseconds: int


class AnsweredRule(Frozen):
    """Excludes a trial whose answer to ``question`` is ``value``."""

    name: str
    kind: Literal["answered"] = "answered"
    question: str
    value: bool | int


class ItemRule(Frozen):
    """Excludes every trial of one item."""

    name: str
    kind: Literal["item"] = "item"
    item_id: str


Rule = Annotated[MinTimeRule | MaxTimeRule | AnsweredRule | ItemRule, Field(discriminator="kind")]


class FrozenItem(Frozen):
    """A question as it is shown. ``context`` is ``[[title, [sentence, ...]], ...]``."""

    id: str
    question: str | None
    gold_answer: str | None
    context: list[tuple[str, list[str]]] | None


class Shown(Frozen):
    """What a condition shows for an item: the answer, and the facts ``[title, index]`` that explain it."""

    answer: str | None
    facts: list[tuple[str, int]] | None


class FrozenCondition(Frozen):
    """One arm. ``shown`` is keyed by item id; ``system`` and ``revision`` are None for the ground truth."""

    name: str
    label: str
    system: str | None
    revision: str | None
    ground_truth: bool
    weight: float
    shown: dict[str, Shown]


class FrozenStudy(Frozen):
    """All that is hashed. Items stand in the order of the definition.

    What is None is unknown, as in a study that was run elsewhere and brought in; a launch knows it all but
    ``items_seed`` (items may be named), ``assignment_block`` and ``redirect_url`` (optional).
    """

    schema_version: Literal[1] = 1
    title: str
    dataset: str | None
    items_seed: int | None
    items: list[FrozenItem]
    conditions: list[FrozenCondition]
    item_questionnaire: list[Question]
    post_survey: list[Question]
    consent: str
    instructions: str
    rules: list[Rule]
    order_seed: int | None
    assignment_block: int | None
    stale_after_minutes: float | None
    redirect_url: str | None

    def canonical(self) -> dict[str, Any]:
        """The JSON object that is stored and hashed."""
        return self.model_dump(mode="json")

    def hash(self) -> str:
        return hash_canonical(self.canonical())

    def item(self, item_id: str) -> FrozenItem:
        """Raises KeyError for an item of another study."""
        return self._only(self.items, "id", item_id)

    def condition(self, name: str) -> FrozenCondition:
        """Raises KeyError for a condition of another study."""
        return self._only(self.conditions, "name", name)

    @staticmethod
    def _only(rows: list[Any], field: str, value: str) -> Any:
        for row in rows:
            if getattr(row, field) == value:
                return row
        raise KeyError(value)


def hash_canonical(frozen: dict[str, Any]) -> str:
    """SHA-256, in hex, of the JSON with sorted keys, no white space, UTF-8."""
    text = json.dumps(frozen, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()
