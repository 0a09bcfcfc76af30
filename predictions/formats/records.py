"""The records that all readers of question files yield."""

from dataclasses import asdict, dataclass, field
from typing import Any

from modelserver.wire.schema import Context, Fact
from predictions.explanations.program_steps import IMAGES, STEPS, ItemImage, Step


@dataclass(frozen=True, slots=True)
class QuestionRecord:
    """One question of a file.

    Attributes:
        context: ``[(title, [sentence, ...]), ...]``.
        supporting_facts: None if unknown.
        steps: The gold steps of a program; None if unknown.
        labels: The answers to choose from; empty if the answer is free.
        source_item_id: The question that a changed item was made from; empty for others.
        source_dataset: The dataset that fills in what a changed item leaves out; it is not stored.
    """

    external_id: str
    text: str
    answer: str
    context: Context
    supporting_facts: list[Fact] | None
    kind: str = ""
    level: str = ""
    images: list[ItemImage] = field(default_factory=list)
    steps: list[Step] | None = None
    labels: list[str] = field(default_factory=list)
    source_item_id: str = ""
    source_dataset: str = ""

    def columns(self) -> dict[str, Any]:
        """Return the columns of ``Question`` as JSON gives them back."""
        values = asdict(self)
        del values["source_dataset"]
        values["context"] = [[title, sentences] for title, sentences in self.context]
        values["images"] = IMAGES.dump_python(self.images, mode="json")
        values["steps"] = None if self.steps is None else STEPS.dump_python(self.steps, mode="json")
        if self.supporting_facts is not None:
            values["supporting_facts"] = [list(fact) for fact in self.supporting_facts]
        return values

    def find_stray_facts(self) -> list[Fact]:
        """Return the gold facts that name no sentence of the context.

        The released HotpotQA has a few: their index lies beyond the article's sentences.
        """
        return find_stray_facts(self.context, self.supporting_facts or [])


def find_stray_facts(context: Any, facts: Any) -> list[Fact]:
    """Return the facts, (title, index), that name no sentence."""
    lengths: dict[str, int] = {}
    for title, sentences in context:
        # Two articles may share a title: a fact then names a sentence of either.
        lengths[title] = max(lengths.get(title, 0), len(sentences))
    return [(title, index) for title, index in facts if index >= lengths.get(title, 0)]
