"""The frozen study: its form, its canonical JSON and its hash.

Pure: no Django. Participants see the frozen study, so that no later change can alter what they see.
"""

import hashlib
import json
from collections.abc import Sequence
from datetime import date
from typing import Any, Literal

from analysis.participants.exclusion_rules import DeclaredRule
from analysis.planning.declared_plan import PlanFile
from foundation.frozen_model import FrozenModel, Growing
from predictions.explanations.program_steps import ItemImage, Level, Step
from studyapp.definition.checks import Comprehension, FrozenAttention, ScreeningQuestion
from studyapp.definition.languages.translations import PARTS, Language, Translation, translate
from studyapp.definition.participation.privacy import Privacy
from studyapp.definition.participation.recruitment import Recruitment
from studyapp.definition.questions.display import Instructions
from studyapp.definition.questions.flow import Viewer
from studyapp.definition.questions.question import Question
from studyapp.definition.questions.scale_scores import ScaleKey
from studyapp.definition.tasks import Preference, Task, Verification


class FrozenChange(FrozenModel):
    """The changed version of an item, about which participants predict.

    ``change`` is the kind of change. ``gold_answer`` is empty if it is unknown.
    """

    id: str
    change: str
    question: str
    context: list[tuple[str, list[str]]]
    gold_answer: str


class FrozenItem(Growing):
    """A question as it is shown.

    ``context`` is ``[[title, [sentence, ...]], ...]``.

    ``images`` are shown above it, the left one first; the question is then a sentence about them.
    ``options`` are the answers that participants choose among if they answer themselves; without any they
    type or mark theirs. ``changed`` is the changed version, in the task counterfactual.
    """

    id: str
    question: str | None
    gold_answer: str | None
    context: list[tuple[str, list[str]]] | None
    images: list[ItemImage] = []
    options: list[str] = []
    changed: FrozenChange | None = None


Explanation = Literal["facts", "tokens", "both", "none", "program", "rationale", "facts+rationale"]
WITH_FACTS: frozenset[Explanation] = frozenset({"facts", "both", "facts+rationale"})
WITH_TOKENS: frozenset[Explanation] = frozenset({"tokens", "both"})
WITH_RATIONALE: frozenset[Explanation] = frozenset({"rationale", "facts+rationale"})
Design = Literal["between", "within", "mixed"]


class Shown(Growing):
    """The answer that a condition shows for an item, and its explanation.

    ``facts`` are ``[title, index]``.

    ``tokens`` are the highlighted pieces ``[title, index, start, end, level]``: code points in the sentence,
    end exclusive, in order and apart from each other; None if the condition highlights no tokens.
    ``question_tokens`` are those of the question, ``[start, end, level]``; None if their weights are unknown.
    ``steps`` are those of the program that came to the answer; None if the condition shows none.
    ``rationale`` is the explanation that the system wrote; None if the condition shows none.
    ``changed_answer`` is what the system answers to the changed version, which nobody is shown, and
    ``changed_correct`` whether that is correct, None if that is unknown; ``options`` are the answers that
    participants choose from. ``correct`` is whether the answer is correct, if participants predict it.
    """

    answer: str | None
    facts: list[tuple[str, int]] | None
    tokens: list[tuple[str, int, int, int, Level]] | None = None
    question_tokens: list[tuple[int, int, Level]] | None = None
    steps: list[Step] | None = None
    rationale: str | None = None
    changed_answer: str | None = None
    changed_correct: bool | None = None
    options: list[str] = []
    correct: bool | None = None

    @property
    def outcome(self) -> tuple[str | None, bool | None]:
        """The answer that participants predict, and whether it is correct."""
        if self.changed_answer is None:
            return self.answer, self.correct
        return self.changed_answer, self.changed_correct


class FrozenCondition(Growing):
    """A frozen condition; ``shown`` is keyed by item ID.

    ``system`` and ``revision`` are None for the ground truth, and for a control condition without ``advice``.

    ``group`` is what participants are assigned to; empty in a between-subject design, where that is the
    condition itself. ``saliency`` names the method that the weights of highlighted tokens come from, empty
    if they came with the predictions or there are none. A condition without advice has nothing in ``shown``.
    """

    name: str
    label: str
    system: str | None
    revision: str | None
    ground_truth: bool
    weight: float
    explanation: Explanation = "facts"
    group: str = ""
    saliency: str = ""
    represents: bool = False
    quota: int | None = None
    advice: bool = True
    shown: dict[str, Shown]


class FrozenStudy(Growing):
    """All that is hashed.

    Items are in the order of the definition. None means unknown, as in an imported study; a launch knows
    everything but ``items_seed`` (items may be listed by ID), and the optional ``assignment_block`` and
    ``redirect_url``. ``translations`` holds complete ones only.
    """

    FIRST = frozenset({"schema_version"})

    schema_version: Literal[1] = 1
    title: str
    title_for_participants: str | None = None
    language: Language = "en"
    translations: dict[Language, Translation] = {}
    dataset: str | None
    task: Task = Verification()
    items_seed: int | None
    items: list[FrozenItem]
    practice: list[FrozenItem] = []
    attention: list[FrozenAttention] = []
    design: Design = "between"
    condition_order: Literal["blocked", "shuffled"] = "blocked"
    conditions: list[FrozenCondition]
    screening: list[ScreeningQuestion] = []
    comprehension: Comprehension | None = None
    pre_survey: list[Question] = []
    item_questionnaire: list[Question]
    post_survey: list[Question]
    random_order: list[Literal["item", "pre_survey", "post_survey"]] = []
    scales: list[ScaleKey] = []
    consent: str
    instructions: Instructions
    instructions_page: bool = False
    rules: list[DeclaredRule]
    order_seed: int | None
    assignment_block: int | None
    stale_after_minutes: float | None
    participants: int | None = None
    closes: date | None = None
    redirect_url: str | None
    recruitment: Recruitment | None = None
    privacy: Privacy = Privacy()
    plan: PlanFile | None = None

    def canonical(self) -> dict[str, Any]:
        """Return the JSON object that is stored and hashed."""
        return self.model_dump(mode="json")

    def hash(self) -> str:
        """Return the SHA-256 of the canonical JSON, in hex."""
        return hash_canonical(self.canonical())

    def item(self, item_id: str) -> FrozenItem:
        """Return an item or practice item.

        Raises:
            KeyError: one of another study.
        """
        return self._find_row([*self.items, *self.practice], "id", item_id)

    def advice_of(self, condition: str, item_id: str) -> str | None:
        """Return the answer that a condition shows; None if it shows none."""
        shown = self.condition(condition).shown.get(item_id)
        return shown.answer if shown else None

    def options_of(self, condition: str, item_id: str) -> list[str]:
        """Return the answers that a condition lets people choose among."""
        shown = self.condition(condition).shown.get(item_id)
        return (shown.options if shown else []) or self.item(item_id).options

    def attention_item(self, item_id: str) -> FrozenAttention | None:
        """Return the attention item with an ID, or None."""
        return next((row for row in self.attention if row.id == item_id), None)

    def condition(self, name: str) -> FrozenCondition:
        """Return a condition; raise KeyError for one of another study."""
        return self._find_row(self.conditions, "name", name)

    def conditions_of(self, group: str) -> list[FrozenCondition]:
        """Return the conditions that participants of a group see.

        Before the assignment, with an empty group, these are all conditions.
        """
        return [
            condition
            for condition in self.conditions
            if not group or group == (condition.group or condition.name)
        ]

    def viewer(self, conditions: Sequence[FrozenCondition], seed: int | None = None) -> Viewer:
        """Return what decides which questions somebody sees."""
        names = frozenset(condition.name for condition in conditions)
        return Viewer(names, any(condition.explanation != "none" for condition in conditions), seed)

    def instructions_for(self, viewer: Viewer) -> str:
        """Return the instructions of the viewer's conditions."""
        if isinstance(self.instructions, str):
            return self.instructions
        return "\n\n".join(
            part.text
            for part in self.instructions
            if part.only is None or not viewer.conditions.isdisjoint(part.only)
        )

    @property
    def shown_title(self) -> str:
        """The title on the pages of participants."""
        return self.title_for_participants or self.title

    @property
    def languages(self) -> list[str]:
        """The languages that participants may choose, the definition's first."""
        return [self.language, *sorted(self.translations.keys() - {self.language})]

    @property
    def pages(self) -> int:
        """Number of items and attention items, without practice items."""
        return len(self.items) + len(self.attention)

    @property
    def comprehension_questions(self) -> list[Question]:
        """The questions of the comprehension check; empty without one."""
        return [*self.comprehension.questions] if self.comprehension else []

    @property
    def asked(self) -> list[Question]:
        """The questions of all parts."""
        surveys = (*self.pre_survey, *self.item_questionnaire, *self.post_survey)
        return [*self.screening, *self.comprehension_questions, *surveys]

    def translate_into(self, language: str) -> "FrozenStudy":
        """Return the study with its texts in another language, if it has it."""
        words = self.translations.get(language)
        if words is None:
            return self
        check = self.comprehension
        return self.model_copy(
            update={
                "title_for_participants": words.title,
                "task": self.task.translate_criteria(words.item)
                if isinstance(self.task, Preference)
                else self.task,
                "consent": words.consent,
                "instructions": _translate_instructions(self.instructions, words),
                "screening": _translate_questions(self.screening, words, "screening"),
                "comprehension": check
                and check.model_copy(
                    update={"questions": _translate_questions(check.questions, words, "comprehension")}
                ),
                "pre_survey": _translate_questions(self.pre_survey, words, "pre_survey"),
                "item_questionnaire": _translate_questions(self.item_questionnaire, words, "item"),
                "post_survey": _translate_questions(self.post_survey, words, "post_survey"),
                "attention": [
                    row.model_copy(update={"text": words.attention.get(row.id, row.text)})
                    for row in self.attention
                ],
            }
        )

    @staticmethod
    def _find_row(rows: list[Any], field: str, value: str) -> Any:
        for row in rows:
            if getattr(row, field) == value:
                return row
        raise KeyError(value)


def has_stages(content: FrozenStudy) -> bool:
    """Return whether a page lies between the consent and the items."""
    return bool(content.screening or content.instructions_page or content.comprehension or content.pre_survey)


def _translate_questions(questions: Sequence[Question], words: Translation, part: str) -> list[Question]:
    assert part in PARTS
    texts = getattr(words, part)
    return [translate(question, texts[question.key], words.labels) for question in questions]


def _translate_instructions(instructions: Instructions, words: Translation) -> Instructions:
    """Return the instructions in another language, part by part."""
    texts = words.instructions or ""
    if isinstance(instructions, str):
        return texts if isinstance(texts, str) else "\n\n".join(texts)
    return [part.model_copy(update={"text": text}) for part, text in zip(instructions, texts, strict=True)]


def hash_canonical(frozen: dict[str, Any]) -> str:
    """Return the SHA-256, in hex, of the JSON with sorted keys in UTF-8."""
    text = json.dumps(frozen, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()
