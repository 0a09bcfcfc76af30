"""The study definition that a researcher writes: its fields and checks.

Pure: no Django. ``queries.design.designs`` looks up the datasets and systems that it names.
"""

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationInfo, field_validator, model_validator

from foundation.blank_texts import VISIBLE
from foundation.frozen_model import FrozenModel
from foundation.messages import say, value_error
from studyapp.definition.analysis_plan import AnalysisPlan, check_plan, list_question_measures
from studyapp.definition.checks import AttentionDefinition, Comprehension, ScreeningQuestion, check_expected
from studyapp.definition.conditions import (
    ConditionDefinition,
    ItemsDefinition,
    PracticeDefinition,
    check_advice,
    check_groups,
    check_represents,
    check_unique,
    group_conditions,
    name_conditions,
)
from studyapp.definition.defaults import fill_task_defaults
from studyapp.definition.exclusion_rules import (
    RULES_2020,
    AnsweredDefinition,
    AnsweredNumberDefinition,
    ItemDefinition,
    RuleDefinition,
    check_item_rule,
    check_person_rule,
    check_question,
)
from studyapp.definition.frozen.freezing import Design, FrozenCondition, FrozenItem, FrozenStudy
from studyapp.definition.frozen.limits import freeze_instructions, freeze_questions, list_instruction_texts
from studyapp.definition.languages.translations import (
    Language,
    Translation,
    fill_translation,
    find_missing_fields,
    find_unknown_texts,
    translate_builtin_texts,
)
from studyapp.definition.participation.privacy import Privacy
from studyapp.definition.participation.recruitment import Recruitment, check_address
from studyapp.definition.questions.display import Instructions, check_display, check_names
from studyapp.definition.questions.question import Question, check_free, check_keys
from studyapp.definition.questions.questionnaires import (
    PARTS_ASKED,
    TEMPLATES,
    Questionnaire,
    find_template,
)
from studyapp.definition.questions.scale_scores import SCORED_PARTS, ScaleKey, check_scales, list_scale_keys
from studyapp.definition.task_designs.blocks import (
    check_attention,
    check_conditions,
    check_design,
    check_items,
)
from studyapp.definition.task_designs.comparing import (
    check_compared,
    check_compared_attention,
    check_compared_design,
    check_compared_items,
    check_compared_order,
    list_texts_to_translate,
)
from studyapp.definition.task_designs.task_questions import list_check_questions, select_page_questions
from studyapp.definition.tasks import Preference, Task, Verification, expand_task, is_reserved


class CompletionDefinition(FrozenModel):
    """The page after the completion code."""

    redirect_url: str | None = Field(
        default=None, description="https address to continue to; `{code}` in it becomes the completion code"
    )

    @field_validator("redirect_url")
    @classmethod
    def _is_a_safe_address(cls, url: str | None) -> str | None:
        return None if url is None else check_address(url, ("code",))


class StudyDefinition(FrozenModel):
    """A study, as written."""

    study: Annotated[str, Field(pattern=r"^[a-z0-9]+(?:[-_][a-z0-9]+)*$", max_length=100)] = Field(
        description="short name for addresses and commands: lower case, digits, - and _"
    )
    title: Annotated[str, Field(min_length=1, max_length=200), VISIBLE] = Field(
        description="title on staff pages, in exports and in reports"
    )
    title_for_participants: Annotated[str, Field(min_length=1, max_length=200), VISIBLE] | None = Field(
        default=None,
        description="title on the pages of participants, which should not name the hypothesis; if left out, "
        "they see `title`",
    )
    language: Language = Field(
        default="en",
        description="language of the texts written here, and of the pages: `en`, `de`, …; with `de` our "
        "templates and scales ask in German",
    )
    dataset: Annotated[str, Field(min_length=1)] = Field(description="name of an imported dataset")
    task: Task = Field(
        default=Verification(),
        description="what participants do: `verification`, `advice`, `simulation`, `counterfactual` or "
        "`preference`; a "
        "word, or a mapping with `kind` and the options below",
    )
    design: Design = Field(
        default="between",
        description="`between`: each participant sees one condition; `within`: all of them; `mixed`: all "
        "those of one group; `within` with the task `preference`",
    )
    condition_order: Literal["blocked", "shuffled"] = Field(
        default="blocked",
        description="for participants who see several conditions: `blocked`, one after the other, or "
        "`shuffled`, mixed item by item; `shuffled` with the task `preference`",
    )
    conditions: Annotated[list[ConditionDefinition], Field(min_length=1, max_length=50)] = Field(
        description="the conditions"
    )
    items: ItemsDefinition = Field(
        default=ItemsDefinition(count=25, seed=1), description="which questions are shown"
    )
    practice: PracticeDefinition | None = Field(
        default=None, description="practice items before the others: `count` and `seed`, or `ids`"
    )
    questionnaire: Questionnaire = Field(
        default=TEMPLATES["xqa-2020"],
        validate_default=True,
        description="a template, or a mapping with `item`, `post_survey` and `pre_survey`",
    )
    consent: Annotated[str, Field(min_length=1)] = Field(
        description="plain text that participants agree to; an empty line starts a paragraph"
    )
    instructions: Instructions = Field(
        default="",
        description="plain text, below the consent and beside every item; or a list of parts, each with "
        "`text` and, for some conditions, `only` or `except`, on a page of their own",
    )
    instructions_page: bool = Field(
        default=False,
        description="show the instructions on a page of their own after consent and screening, not below the "
        "consent; always so with a comprehension check",
    )
    screening: list[ScreeningQuestion] = Field(
        default=[], description="questions after consent that decide who may take part"
    )
    comprehension: Comprehension | None = Field(
        default=None, description="questions about the instructions that must be answered correctly"
    )
    scales: list[ScaleKey] = Field(
        default=[], description="scoring keys of scales of your own, by name or as a list; see below"
    )
    attention: list[AttentionDefinition] = Field(
        default=[], description="pages among the items that show whether participants read"
    )
    translations: dict[Language, Translation] = Field(
        default={}, description="the texts in other languages, by language; see below"
    )
    exclusions: list[RuleDefinition] = Field(
        default=RULES_2020, description="rules by which the report excludes trials; `[]` for none"
    )
    order_seed: int = Field(
        default=1, description="seed of each participant's order of items, and of ties in the assignment"
    )
    assignment_block: Annotated[int, Field(ge=1, le=100)] | None = Field(
        default=None,
        description="assign in shuffled blocks that hold each condition this often; if left out, each "
        "participant gets the condition with the fewest participants",
    )
    stale_after_minutes: Annotated[float, Field(gt=0, le=100_000, allow_inf_nan=False)] = Field(
        default=60, description="minutes without activity after which a participant's reservation expires"
    )
    participants: Annotated[int, Field(ge=1, le=1_000_000)] | None = Field(
        default=None,
        description="live participants whom this version admits; the places of those who leave, fail a check "
        "or time out become free again",
    )
    closes: date | None = Field(
        default=None,
        description="last day on which participants are admitted, such as `2027-06-30`; those in progress "
        "may finish",
    )
    completion: CompletionDefinition = Field(
        default=CompletionDefinition(), description="what follows the completion code"
    )
    recruitment: Recruitment | None = Field(
        default=None, description="the platform that participants come from, and its codes; see below"
    )
    privacy: Privacy = Field(default=Privacy(), description="withdrawal and retention")
    plan: AnalysisPlan | None = Field(
        default=None, description="what the analysis declares before the data, for the report; see below"
    )

    @model_validator(mode="before")
    @classmethod
    def _fill_defaults(cls, data: Any) -> Any:
        return fill_task_defaults(data) if isinstance(data, dict) else data

    @field_validator("task", mode="before")
    @classmethod
    def _expand_task(cls, value: Any) -> Any:
        return expand_task(value)

    @field_validator("design")
    @classmethod
    def _design_fits(cls, design: Design, info: ValidationInfo) -> Design:
        check_design(info.data.get("task"), design)
        check_compared_design(design, info.data.get("task", Verification()))
        return design

    @field_validator("condition_order")
    @classmethod
    def _order_fits(cls, order: str, info: ValidationInfo) -> str:
        check_compared_order(order, info.data.get("task", Verification()))
        return order

    @field_validator("questionnaire", mode="before")
    @classmethod
    def _template(cls, value: Any) -> Any:
        return find_template(value) if isinstance(value, str) else value

    @field_validator("questionnaire")
    @classmethod
    def _conditions_exist(cls, asked: Questionnaire, info: ValidationInfo) -> Questionnaire:
        conditions = name_conditions(info.data.get("conditions", []))
        for part in PARTS_ASKED if conditions else ():
            for question in getattr(asked, part):
                where = say("%(part)s: %(key)s", part=part, key=question.key)
                check_names(question.only, question.except_, conditions, where)
        _check_task(asked, info.data.get("task", Verification()))
        return asked

    @field_validator("questionnaire")
    @classmethod
    def _translate_questionnaire(cls, asked: Questionnaire, info: ValidationInfo) -> Questionnaire:
        language = info.data.get("language", "en")
        return asked.model_copy(
            update={part: translate_builtin_texts(getattr(asked, part), language) for part in PARTS_ASKED}
        )

    @field_validator("instructions")
    @classmethod
    def _parts_fit(cls, instructions: Instructions, info: ValidationInfo) -> Instructions:
        conditions = name_conditions(info.data.get("conditions", []))
        parts = [] if isinstance(instructions, str) or not conditions else instructions
        for number, part in enumerate(parts, start=1):
            check_names(part.only, part.except_, conditions, say("part %(n)s", n=number))
        return instructions

    @field_validator("conditions")
    @classmethod
    def _names_differ(
        cls, conditions: list[ConditionDefinition], info: ValidationInfo
    ) -> list[ConditionDefinition]:
        check_unique([condition.name for condition in conditions], say("conditions"))
        check_groups(conditions, info.data.get("design", "between"))
        check_represents(conditions)
        if "task" in info.data:
            check_advice(conditions, info.data["task"].kind)
            check_conditions(info.data["task"], conditions)
            check_compared(conditions, info.data["task"])
        return conditions

    @field_validator("items")
    @classmethod
    def _items_suffice(cls, items: ItemsDefinition, info: ValidationInfo) -> ItemsDefinition:
        conditions = info.data.get("conditions")
        if conditions and isinstance(info.data.get("task"), Preference):
            check_compared_items(items, conditions)
        elif conditions and info.data.get("design") in ("within", "mixed"):
            largest = max(len(group) for group in group_conditions(info.data["design"], conditions).values())
            if items.total < largest:
                raise value_error(
                    "%(n)s items are too few to show %(largest)s conditions", n=items.total, largest=largest
                )
        check_items(info.data.get("task"), items)
        return items

    @field_validator("practice")
    @classmethod
    def _check_practice(
        cls, practice: PracticeDefinition | None, info: ValidationInfo
    ) -> PracticeDefinition | None:
        items = info.data.get("items")
        if practice and practice.ids and items and items.ids:
            check_unique([*set(items.ids), *practice.ids], say("items and practice items"))
        return practice

    @field_validator("screening")
    @classmethod
    def _screening_keys_differ(
        cls, questions: list[ScreeningQuestion], info: ValidationInfo
    ) -> list[ScreeningQuestion]:
        check_keys(questions, "screening")
        check_display(questions, "screening")
        return translate_builtin_texts(questions, info.data.get("language", "en"))

    @field_validator("comprehension")
    @classmethod
    def _check_comprehension(cls, check: Comprehension | None, info: ValidationInfo) -> Comprehension | None:
        if check and not info.data.get("instructions", "missing"):
            raise value_error("there are no instructions to comprehend")
        if check:
            check_keys([*info.data.get("screening", []), *check.questions], "screening and comprehension")
        return check

    @field_validator("scales", mode="before")
    @classmethod
    def _scale_list(cls, keys: Any) -> Any:
        return list_scale_keys(keys)

    @field_validator("scales")
    @classmethod
    def _scales_fit(cls, own: list[ScaleKey], info: ValidationInfo) -> list[ScaleKey]:
        if (asked := info.data.get("questionnaire")) is not None:
            check_scales(own, {name: getattr(asked, name) for name in SCORED_PARTS})
        return own

    @field_validator("attention")
    @classmethod
    def _attention_fits(
        cls, attention: list[AttentionDefinition], info: ValidationInfo
    ) -> list[AttentionDefinition]:
        check_unique([row.id for row in attention], say("attention items"))
        questionnaire, task = info.data.get("questionnaire"), info.data.get("task", Verification())
        asked = None
        if questionnaire is not None:
            asked = [*list_check_questions(task), *select_page_questions(task, "", questionnaire.item)]
        _check_attention(attention, info.data.get("items"), asked)
        check_attention(task, attention)
        check_compared_attention(attention, task)
        return attention

    @field_validator("translations")
    @classmethod
    def _translations_fit(
        cls, translations: dict[str, Translation], info: ValidationInfo
    ) -> dict[str, Translation]:
        if info.data.get("language") in translations:
            raise value_error(
                "%(language)r is the language of the study itself", language=info.data["language"]
            )
        if {"task", "questionnaire", "screening", "comprehension", "attention"} <= info.data.keys():
            for language, words in translations.items():
                for part, key in find_unknown_texts(
                    words, _collect_questions(info.data), _list_instructed_ids(info.data["attention"])
                ):
                    raise value_error(
                        "%(place)s: there is no %(key)r to translate", place=f"{language}.{part}", key=key
                    )
        return translations

    @field_validator("exclusions")
    @classmethod
    def _rules_fit(cls, rules: list[RuleDefinition], info: ValidationInfo) -> list[RuleDefinition]:
        check_unique([rule.name for rule in rules], say("rules"))
        questionnaire, items = info.data.get("questionnaire"), info.data.get("items")
        for rule in rules:
            if isinstance(rule, AnsweredDefinition | AnsweredNumberDefinition) and questionnaire is not None:
                check_question(rule, questionnaire)
            if isinstance(rule, ItemDefinition) and items is not None and items.ids is not None:
                check_item_rule(rule, items.ids)
            if questionnaire is not None and {"attention", "comprehension"} <= info.data.keys():
                check_person_rule(
                    rule,
                    questionnaire,
                    attention=bool(info.data["attention"]),
                    comprehension=info.data["comprehension"] is not None,
                )
        return rules

    @field_validator("plan")
    @classmethod
    def _plan_fits(cls, plan: AnalysisPlan | None, info: ValidationInfo) -> AnalysisPlan | None:
        if plan and {"conditions", "questionnaire", "scales", "task"} <= info.data.keys():
            conditions = {row.name: row.ground_truth for row in info.data["conditions"]}
            task = info.data["task"].model_dump()
            measures = list_question_measures(info.data["questionnaire"], info.data["scales"], task)
            check_plan(plan, conditions, {measure.key: measure.geometric for measure in measures})
        return plan

    @property
    def parts(self) -> dict[str, Sequence[Question]]:
        """The questions by the part of the study that asks them."""
        parts = _collect_questions(
            {name: getattr(self, name) for name in ("task", "screening", "comprehension", "questionnaire")}
        )
        conditions = name_conditions(self.conditions)
        return parts | {name: freeze_questions(parts[name], conditions) for name in PARTS_ASKED}

    def fill_translations(self) -> dict[str, Translation]:
        """Return the translations, completed from our templates and scales."""
        return {
            language: fill_translation(words, language, self.parts)
            for language, words in self.translations.items()
        }

    def find_missing_texts(self) -> dict[str, list[str]]:
        """Return by language the fields that a translation still lacks.

        One that lacks any is not offered.
        """
        return {
            language: find_missing_fields(
                words,
                self.parts,
                instructions=list_instruction_texts(self.instructions),
                attention=_list_instructed_ids(self.attention),
            )
            for language, words in self.fill_translations().items()
        }

    def freeze(
        self, *, items: Sequence[FrozenItem], conditions: Sequence[FrozenCondition], **fields: Any
    ) -> FrozenStudy:
        """Return the frozen study of this definition.

        Args:
            items: The items, in order.
            conditions: The conditions with what each shows.
            fields: Further fields of `FrozenStudy` that a definition alone does not decide.
        """
        limits = name_conditions(self.conditions)
        asked = self.questionnaire
        instructions = freeze_instructions(self.instructions, limits)
        return FrozenStudy(
            **{name: getattr(self, name) for name in _AS_WRITTEN},
            items_seed=self.items.seed,
            items=list(items),
            conditions=list(conditions),
            pre_survey=freeze_questions(asked.pre_survey, limits),
            item_questionnaire=freeze_questions(asked.item, limits),
            post_survey=freeze_questions(asked.post_survey, limits),
            random_order=asked.random_order,
            instructions=instructions,
            instructions_page=self.instructions_page
            or self.comprehension is not None
            or not isinstance(instructions, str),
            redirect_url=self.completion.redirect_url,
            plan=self.plan.freeze() if self.plan else None,
            **fields,
        )


# The fields that a launch freezes as they are written.
_AS_WRITTEN = (
    *("title", "title_for_participants", "language", "dataset", "task", "screening", "comprehension"),
    *("scales", "consent", "order_seed", "assignment_block", "stale_after_minutes", "participants"),
    *("closes", "recruitment", "privacy"),
)


def _check_attention(
    attention: Sequence[AttentionDefinition],
    items: ItemsDefinition | None,
    asked: Sequence[Question] | None,
) -> None:
    """Check positions and expected answers of attention items."""
    check_unique([str(row.position) for row in attention], say("attention positions"))
    for row in attention:
        if asked is not None:
            check_expected(row.expected, asked, say("attention item %(id)r", id=row.id))
        if items is not None and row.position > (pages := items.total + len(attention)):
            raise value_error(
                "attention item %(id)r: position %(position)s is beyond the %(pages)s pages",
                id=row.id,
                position=row.position,
                pages=pages,
            )
        if items is not None and items.ids is not None and {row.id, row.item} & set(items.ids):
            raise value_error("attention item %(id)r: is an item of the study already", id=row.id)


def _check_task(asked: Questionnaire, task: Task) -> None:
    """Raise ValueError if a question takes a name of the task's own questions."""
    if task.kind == "verification":
        if not asked.item:
            raise value_error("item: must have at least 1 item")
        return
    columns = (column.name for question in asked.item for column in question.columns)
    check_free(filter(is_reserved, columns), "item")


def _list_instructed_ids(attention: Sequence[AttentionDefinition]) -> list[str]:
    return [row.id for row in attention if row.kind == "instructed"]


def _collect_questions(fields: Mapping[str, Any]) -> dict[str, Sequence[Question]]:
    check, asked = fields["comprehension"], fields["questionnaire"]
    return {
        "screening": fields["screening"],
        "comprehension": check.questions if check else [],
        "pre_survey": asked.pre_survey,
        "item": [*list_texts_to_translate(fields["task"]), *asked.item],
        "post_survey": asked.post_survey,
    }
