"""The definition of a study that a researcher writes: its form, its defaults, and reading it from YAML.

Pure: no Django. Whether datasets and systems exist is for ``actions.studies`` to say.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Self
from urllib.parse import urlsplit

import yaml
from pydantic import Field, ValidationError, ValidationInfo, field_validator, model_validator

from studyapp import freezing
from studyapp.errors import StudyappError
from studyapp.freezing import Clock
from studyapp.questionnaires import TEMPLATES, Frozen, Questionnaire

Location = tuple[int | str, ...]
Name = Annotated[str, Field(min_length=1, max_length=100, pattern=r"^[^\s;][^\n;]*$")]


class DefinitionError(StudyappError):
    """A study definition is wrong; the message has one line per problem: file, line, field, sentence."""


class ConditionDefinition(Frozen):
    """One arm: the predictions of a system, or the gold answers with the gold facts."""

    system: Annotated[str, Field(min_length=1)] | None = Field(
        default=None, description="name of the system whose answers and facts are shown"
    )
    ground_truth: bool = Field(default=False, description="show the gold answer and the gold facts instead")
    name: Name = Field(default="", description="name in tables; if left out the system's, or `ground truth`")
    label: Annotated[str, Field(max_length=200)] = Field(
        default="", description="name in figures and reports; the name if left out"
    )
    weight: Annotated[float, Field(gt=0, le=1000)] = Field(
        default=1.0, description="share of participants, relative to the other conditions"
    )

    @model_validator(mode="before")
    @classmethod
    def _fill_names(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        default = "ground truth" if data.get("ground_truth") is True else data.get("system")
        named = {"name": default, **data} if default is not None else data
        return {"label": named["name"], **named} if "name" in named else named

    @model_validator(mode="after")
    def _shows_one_thing(self) -> Self:
        if self.ground_truth == (self.system is not None):
            raise ValueError("a condition has either a system or ground_truth: true")
        return self


class ItemsDefinition(Frozen):
    """Which questions are items: a number drawn by seed, or the ids themselves."""

    count: Annotated[int, Field(ge=1, le=1000)] | None = Field(
        default=None, description="how many questions are drawn; 25 if left out"
    )
    seed: int | None = Field(default=None, description="decides which questions are drawn; 1 if left out")
    ids: Annotated[list[Annotated[str, Field(min_length=1)]], Field(min_length=1)] | None = Field(
        default=None, description="ids of the questions, in order, instead of drawing"
    )

    @model_validator(mode="before")
    @classmethod
    def _fill_draw(cls, data: Any) -> Any:
        if not isinstance(data, dict) or data.get("ids") is not None:
            return data
        return {**data, "count": data.get("count", 25), "seed": data.get("seed", 1)}

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if self.ids is not None:
            if self.count is not None or self.seed is not None:
                raise ValueError("give either ids, or count and seed")
            _check_unique(self.ids, "ids")
        return self


class _Time(Frozen):
    name: Name = Field(description="name of the rule in every table")
    clock: Clock = Field(description="`server`, or in the browser `client_total` or `client_visible`")
    seconds: Annotated[float, Field(gt=0, le=86_400, allow_inf_nan=False)] = Field(
        description="the bound, in seconds"
    )

    @property
    def milliseconds(self) -> int:
        return round(self.seconds * 1000)


class MinTimeDefinition(_Time):
    """Excludes a trial that took less than the bound."""

    kind: Literal["min_time"] = Field(description="`min_time`")

    def freeze(self) -> freezing.Rule:
        return freezing.MinTimeRule(name=self.name, clock=self.clock, milliseconds=self.milliseconds)


class MaxTimeDefinition(_Time):
    """Excludes a trial that took more than the bound."""

    kind: Literal["max_time"] = Field(description="`max_time`")

    def freeze(self) -> freezing.Rule:
        return freezing.MaxTimeRule(name=self.name, clock=self.clock, milliseconds=self.milliseconds)


class AnsweredDefinition(Frozen):
    """Excludes a trial in which an item question was answered with a certain value."""

    name: Name = Field(description="name of the rule in every table")
    kind: Literal["answered"] = Field(description="`answered`")
    question: str = Field(description="key of the item question")
    value: bool | int = Field(description="the answer that excludes: true, false, or a scale point")

    def freeze(self) -> freezing.Rule:
        return freezing.AnsweredRule(name=self.name, question=self.question, value=self.value)


class ItemDefinition(Frozen):
    """Excludes every trial of one item."""

    name: Name = Field(description="name of the rule in every table")
    kind: Literal["item"] = Field(description="`item`")
    item_id: str = Field(description="id of the item; it must be one of the study's")

    def freeze(self) -> freezing.Rule:
        return freezing.ItemRule(name=self.name, item_id=self.item_id)


RuleDefinition = Annotated[
    MinTimeDefinition | MaxTimeDefinition | AnsweredDefinition | ItemDefinition, Field(discriminator="kind")
]

# Schuff et al. 2020, section 6.4. Their released times were measured by the browser too.
RULES_2020: list[RuleDefinition] = [
    MinTimeDefinition(name="too-fast", kind="min_time", clock="client_total", seconds=15),
    MaxTimeDefinition(name="too-slow", kind="max_time", clock="client_total", seconds=300),
    AnsweredDefinition(name="known-before", kind="answered", question="known_before", value=True),
]


class CompletionDefinition(Frozen):
    """What is offered after the completion code is shown."""

    redirect_url: str | None = Field(
        default=None, description="an https address to go on to; `{code}` in it becomes the completion code"
    )

    @field_validator("redirect_url")
    @classmethod
    def _is_a_safe_address(cls, url: str | None) -> str | None:
        if url is None:
            return None
        plain = url.replace("{code}", "")
        try:
            parts = urlsplit(url)
        except ValueError as error:
            raise ValueError(f"is not an address: {error}") from error
        if parts.scheme != "https" or not parts.hostname or parts.username is not None:
            raise ValueError("must be a whole address that begins with https://")
        if "{code}" in parts.netloc:
            raise ValueError("{code} may not be part of the host name")
        if not plain.isascii() or any(sign in plain for sign in "{}<>\"'\\^`| ") or not plain.isprintable():
            raise ValueError("holds a character that an address may not hold; the only {…} is {code}")
        return url


class StudyDefinition(Frozen):
    """A study, as written."""

    study: Annotated[str, Field(pattern=r"^[a-z0-9]+(?:[-_][a-z0-9]+)*$", max_length=100)] = Field(
        description="short name for addresses and commands: lower case, digits, - and _"
    )
    title: Annotated[str, Field(min_length=1, max_length=200)] = Field(description="shown to participants")
    dataset: Annotated[str, Field(min_length=1)] = Field(description="name of an imported dataset")
    conditions: Annotated[list[ConditionDefinition], Field(min_length=1, max_length=50)] = Field(
        description="the arms; each participant sees one"
    )
    items: ItemsDefinition = Field(
        default=ItemsDefinition(count=25, seed=1), description="which questions are shown"
    )
    questionnaire: Questionnaire = Field(
        default=TEMPLATES["xqa-2020"],
        description="a template, or a mapping with `item` and `post_survey`",
    )
    consent: Annotated[str, Field(min_length=1)] = Field(
        description="plain text that participants agree to; an empty line starts a paragraph"
    )
    instructions: str = Field(default="", description="plain text, below the consent and beside every item")
    exclusions: list[RuleDefinition] = Field(
        default=RULES_2020, description="rules by which the report leaves trials out; `[]` for none"
    )
    order_seed: int = Field(
        default=1, description="decides the order of items of each participant, and ties of assignment"
    )
    assignment_block: Annotated[int, Field(ge=1, le=100)] | None = Field(
        default=None,
        description="assign in shuffled blocks with each condition this often; else the fewest",
    )
    stale_after_minutes: Annotated[float, Field(gt=0, le=100_000, allow_inf_nan=False)] = Field(
        default=60, description="after this long without a page, a participant's place is given again"
    )
    completion: CompletionDefinition = Field(
        default=CompletionDefinition(), description="what is offered after the completion code"
    )

    @field_validator("questionnaire", mode="before")
    @classmethod
    def _template(cls, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        if value not in TEMPLATES:
            raise ValueError(f"there is no template {value!r}; there is {', '.join(sorted(TEMPLATES))}")
        return TEMPLATES[value]

    @field_validator("conditions")
    @classmethod
    def _names_differ(cls, conditions: list[ConditionDefinition]) -> list[ConditionDefinition]:
        _check_unique([condition.name for condition in conditions], "conditions")
        return conditions

    @field_validator("exclusions")
    @classmethod
    def _rules_fit(cls, rules: list[RuleDefinition], info: ValidationInfo) -> list[RuleDefinition]:
        _check_unique([rule.name for rule in rules], "rules")
        questionnaire, items = info.data.get("questionnaire"), info.data.get("items")
        for rule in rules:
            if isinstance(rule, AnsweredDefinition) and questionnaire is not None:
                _check_question(rule, questionnaire)
            if isinstance(rule, ItemDefinition) and items is not None and items.ids is not None:
                check_item_rule(rule, items.ids)
        return rules

    @model_validator(mode="before")
    @classmethod
    def _default_rules_fit(cls, data: Any) -> Any:
        """A questionnaire without known_before takes the default rules without the one that reads it."""
        if not isinstance(data, dict) or "exclusions" in data:
            return data
        questionnaire = data.get("questionnaire")
        asked = questionnaire.get("item") if isinstance(questionnaire, dict) else None
        if isinstance(asked, list):
            keys = [question.get("key") for question in asked if isinstance(question, dict)]
            return data if "known_before" in keys else {**data, "exclusions": RULES_2020[:2]}
        return data


def _check_unique(names: Sequence[str], kind: str) -> None:
    for name, times in Counter(names).items():
        if times > 1:
            raise ValueError(f"two {kind} are named {name!r}")


def _check_question(rule: AnsweredDefinition, questionnaire: Questionnaire) -> None:
    asked = {question.key: question for question in questionnaire.item}
    if rule.question not in asked:
        raise ValueError(
            f"rule {rule.name!r}: no item question has the key {rule.question!r}; there is {', '.join(asked)}"
        )
    values = asked[rule.question].values.values()
    # True == 1 in Python, so a truth value and a scale point are told apart by type.
    if (type(rule.value), rule.value) not in [(type(value), value) for value in values]:
        shown = ", ".join(str(value).lower() for value in values)
        raise ValueError(f"rule {rule.name!r}: {rule.question} is answered by {shown}, not {rule.value!r}")


def check_item_rule(rule: ItemDefinition, item_ids: Sequence[str]) -> None:
    """Raises ValueError where the rule names an item that the study has not."""
    if rule.item_id not in item_ids:
        raise ValueError(f"rule {rule.name!r}: {rule.item_id!r} is no item of this study")


def load_definition(path: Path) -> StudyDefinition:
    """Read a definition from a YAML file.

    Raises:
        DefinitionError: the file cannot be read, is no YAML, or breaks a rule of the form; every problem of
            the form is named at once.
    """
    node, data = _read(path)
    problems = [Problem(line, "", f"the key {key!r} is given twice") for line, key in _repeated(node)]
    if problems:
        raise _error(path, problems)
    try:
        return StudyDefinition.model_validate(data)
    except ValidationError as error:
        found = [(_without_tags(one["loc"]), _sentence(one)) for one in error.errors(include_url=False)]
        raise definition_error(path, found) from error


def _without_tags(location: Location) -> Location:
    """Pydantic names the chosen member of a union in a location; the file has no such field."""
    return tuple(
        part
        for place, part in enumerate(location)
        if not (place == 2 and location[0] == "exclusions") and not (place and location[place - 1] == "scale")
    )


class Problem(NamedTuple):
    """One thing wrong: 1-based line, dotted field ("" for the whole), sentence."""

    line: int
    field: str
    message: str


def definition_error(path: Path, found: Sequence[tuple[Location, str]]) -> DefinitionError:
    """The error about fields of a file, each with the line on which the field stands."""
    node, _data = _read(path)
    return _error(path, [Problem(*_place(node, location), message) for location, message in found])


def _error(path: Path, problems: Sequence[Problem]) -> DefinitionError:
    return DefinitionError(
        "\n".join(
            f"{path}:{line}: {field + ': ' if field else ''}{message}" for line, field, message in problems
        )
    )


def _read(path: Path) -> tuple[yaml.Node | None, Any]:
    """The document with its places, and as plain data."""
    try:
        loader = yaml.SafeLoader(path.read_text(encoding="utf-8"))
        node = loader.get_single_node()
        return node, None if node is None else loader.construct_document(node)
    except OSError as error:
        raise DefinitionError(f"{path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise DefinitionError(f"{path}: is not UTF-8 text ({error.reason})") from error
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise _error(path, [Problem(line, "", f"is no valid YAML: {error.problem}")]) from error
    except yaml.YAMLError as error:
        raise _error(path, [Problem(1, "", f"is no valid YAML: {str(error).splitlines()[0]}")]) from error


def _repeated(node: yaml.Node | None) -> Iterator[tuple[int, str]]:
    """Keys that a mapping gives twice; YAML would silently take the last."""
    if isinstance(node, yaml.SequenceNode):
        for child in node.value:
            yield from _repeated(child)
    if isinstance(node, yaml.MappingNode):
        seen = set()
        for key, child in node.value:
            if key.value in seen:
                yield key.start_mark.line + 1, key.value
            if isinstance(key, yaml.ScalarNode):
                seen.add(key.value)
            yield from _repeated(child)


def _place(node: yaml.Node | None, location: Location) -> tuple[int, str]:
    """Line and dotted field. What the file has not, such as a missing key, stands where its parent does."""
    line = node.start_mark.line + 1 if node is not None else 1
    field = ""
    for part in location:
        line, node = _child(node, part) or (line, None)
        field += f"[{part + 1}]" if isinstance(part, int) else f".{part}" if field else part
    return line, field


def _child(node: yaml.Node | None, part: int | str) -> tuple[int, yaml.Node] | None:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if key.value == part:
                return key.start_mark.line + 1, value
    if isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
        value = node.value[part]
        return value.start_mark.line + 1, value
    return None


def _sentence(found: Any) -> str:
    """The message of pydantic, in our words where its own are for programmers."""
    kind, message, context = found["type"], str(found["msg"]), found.get("ctx", {})
    if kind == "missing":
        return "is missing"
    if kind == "extra_forbidden":
        return "there is no such field"
    if kind == "value_error":
        return message.removeprefix("Value error, ")
    if kind == "string_type" and not isinstance(found["input"], dict | list) and found["input"] is not None:
        return f"must be text; write it in quotes: {str(found['input'])!r}"
    if kind == "union_tag_invalid":
        return f"there is no kind {context['tag']!r}; there is {context['expected_tags']}"
    if kind == "union_tag_not_found":
        return "kind is missing"
    if kind in ("model_type", "model_attributes_type", "dict_type"):
        return "must be a mapping of fields"
    return message[:1].lower() + message[1:]
