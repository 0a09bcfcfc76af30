"""The form of a step, built from the types of the definition.

Pure: no Django.

A field that is new to the definition shows up here by itself, with its description. Only what a plain field
cannot say has a builder of its own: the scale of a question, and the answers that a check or a rule names.
"""

import types
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from studyapp.definition.analysis_plan import Contrast, Margin
from studyapp.definition.checks import AttentionDefinition
from studyapp.definition.conditions import ConditionDefinition, ItemsDefinition
from studyapp.definition.exclusion_rules import KINDS as RULES
from studyapp.definition.exclusion_rules import MinTimeDefinition
from studyapp.definition.participation.recruitment import PLATFORMS
from studyapp.definition.participation.suspicion_flags import MEANINGS
from studyapp.definition.questions.display import EXPLAINED, UNEXPLAINED, InstructionPart, is_field_allowed
from studyapp.definition.questions.question import Question
from studyapp.definition.questions.questionnaires import Questionnaire
from studyapp.definition.schema import StudyDefinition
from studyapp.definition.tasks import KINDS, Criterion, Verification, expand_task
from studyapp.definition.yaml_document import Location
from studyapp.studio import answers, scale_fields, steps
from studyapp.studio.drafts import Draft, Problem
from studyapp.studio.edits import QUESTIONS
from studyapp.studio.steps import Step
from studyapp.studio.translating import fill_translation_rows
from studyapp.studio.widgets import Widget, format_value


class KnownNames(NamedTuple):
    """Names that a draft can refer to; languages with their names."""

    datasets: Sequence[str] = ()
    systems: Sequence[str] = ()
    languages: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True)
class Form:
    """The form of a step: widgets, and problems with their widgets."""

    widgets: list[Widget]
    problems: list[tuple[Widget, str]]


def build_form(
    step: Step, draft: Draft, names: KnownNames, problems: Sequence[Problem] = (), opened: str = ""
) -> Form:
    """Build the form of a step.

    ``opened`` is the path of a row that was just added.
    """
    build = _Builder(draft, names)
    fields = StudyDefinition.model_fields
    widgets = [build.field(fields[name], (name,), draft.get(name)) for name in step.fields]
    by_location = {widget.location: widget for top in widgets for widget in top.all()}
    located = []
    for problem in problems:
        if problem.location and problem.location[0] in step.fields:
            widget = next(
                by_location[problem.location[:length]]
                for length in range(len(problem.location), 0, -1)
                if problem.location[:length] in by_location
            )
            widget.errors.append(problem.message)
            located.append((widget, problem.message))
    for top in widgets:
        _open(top, opened)
    return Form(widgets, located)


def _open(widget: Widget, opened: str) -> bool:
    """Open the rows that hold an error, or that were just added."""
    inside = [_open(child, opened) for child in widget.children]
    widget.is_open = any(inside) or bool(widget.errors) or widget.path == opened
    return widget.is_open


class _Builder:
    """Builds widgets for the fields of one draft."""

    def __init__(self, draft: Draft, names: KnownNames) -> None:
        self.draft, self.names = draft, names

    def field(self, info: FieldInfo, location: Location, value: Any) -> Widget:
        """Return the widget of one field of a model."""
        hint = steps.lookup(steps.HINTS, location)
        named = Widget(
            "text",
            location,
            label=steps.find_label(location),
            hint=_format_sentence(info.description or "") if hint is None else hint,
            value="" if value is None else value,
        )
        pattern = _build_pattern(location)
        if pattern in _ANSWERS:
            return _ANSWERS[pattern](self.draft, named, value)
        if pattern in _SPECIAL:
            return _SPECIAL[pattern](self, named, value)
        return self._build_by_type(named, info.annotation, value, _read_default(info))

    def _build_by_type(self, widget: Widget, annotation: Any, value: Any, default: Any) -> Widget:
        kind, is_optional = _unwrap_type(annotation)
        if get_origin(kind) is Literal:
            return self._select(widget, get_args(kind), value, default, is_optional=is_optional)
        if get_origin(kind) is list:
            return self._list(widget, get_args(kind)[0], value)
        if get_origin(kind) is dict and get_origin(get_args(kind)[0]) is Literal:
            keys, inner = get_args(kind)
            return self._build_mapping(widget, keys, inner, value)
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            return self._group(widget, kind, value, is_optional=is_optional)
        if kind is bool:
            widget.kind, widget.value = "check", default if value is None else bool(value)
        elif kind in (int, float):
            widget.kind, widget.value = "number", format_value(default if value is None else value)
        elif kind is date:
            widget.kind = "date"
        else:
            widget.kind = "area" if steps.is_area(widget.location) else "text"
            widget.value = format_value(value)
        return widget

    def _select(
        self, widget: Widget, values: Sequence[Any], value: Any, default: Any, *, is_optional: bool = False
    ) -> Widget:
        labels = _OPTIONS.get(str(widget.location[-1]), {})
        chosen = "" if value is None else str(value)
        options = [
            (str(value_of_option), labels.get(value_of_option, str(value_of_option).replace("_", " ")))
            for value_of_option in values
        ]
        if is_optional or (default is None and not chosen):
            options.insert(0, ("", "–"))
        if chosen and chosen not in dict(options):
            options.append((chosen, chosen))
        widget.kind, widget.options, widget.is_worded = "select", options, True
        widget.value = chosen or ("" if is_optional or default is None else str(default))
        return widget

    def _list(self, widget: Widget, inner: Any, value: Any) -> Widget:
        kind, _optional = _unwrap_type(inner)
        rows = value if isinstance(value, list) else []
        if kind in (str, float):
            widget.kind, widget.value = "lines", "\n".join(format_value(row) for row in rows)
            return widget
        widget.adds = _list_additions(widget.location, self.names, rows)
        if widget.location == ("conditions",) and _can_add_control(self.draft, rows):
            widget.adds.append(("control", "Add a control without advice"))
        return self._fill_rows(widget, kind, rows)

    def _fill_rows(self, widget: Widget, kind: Any, rows: Sequence[Any]) -> Widget:
        widget.kind = "rows"
        widget.children = [
            self._row(kind, (*widget.location, index), row if isinstance(row, dict) else {})
            for index, row in enumerate(rows)
        ]
        return widget

    def _row(self, kind: Any, location: Location, row: Mapping[str, Any]) -> Widget:
        model = kind if isinstance(kind, type) else RULES.get(str(row.get("kind")), MinTimeDefinition)
        return Widget(
            "row",
            location,
            summary=_summarise_row(model, row),
            summary_labels=_list_summary_labels(row) if model is ConditionDefinition else [],
            children=list(self.fields(model, location, row)),
        )

    def _group(self, widget: Widget, model: type[BaseModel], value: Any, *, is_optional: bool) -> Widget:
        if is_optional and value is None:
            widget.kind, widget.adds = "absent", [("", "Add")]
            return widget
        fields = value if isinstance(value, dict) else {}
        widget.kind, widget.is_removable = "group", is_optional
        widget.children = list(self.fields(model, widget.location, fields))
        return widget

    def fields(self, model: type[BaseModel], location: Location, row: Mapping[str, Any]) -> Iterator[Widget]:
        """Yield the widgets of a model's fields."""
        fields = model.model_fields
        for name in _sort_fields(model):
            if not fields[name].exclude and _has(model, name, row):
                yield self._part(fields[name], name, location, row)
        if issubclass(model, Question):
            yield self._build_more_fields(location, row)

    def _part(self, info: FieldInfo, name: str, location: Location, row: Mapping[str, Any]) -> Widget:
        name = info.alias or name
        return self.field(info, (*location, name), row.get(name))

    def _build_more_fields(self, location: Location, row: Mapping[str, Any]) -> Widget:
        """Return the fields that say to whom and how a question is shown."""
        scale = row.get("scale")
        has_choices = isinstance(scale, dict) and "choices" in scale
        part = str(location[1] if location[0] == "questionnaire" else location[0])
        names = [
            name
            for name in _DISPLAY
            if is_field_allowed(part, name) and (has_choices or name not in ("random_choices", "fixed"))
        ]
        fields = Question.model_fields
        children = [self._part(fields[name], name, location, row) for name in names]
        used = [child.label for child in children if row.get(child.name)]
        label = "Conditions, order and sections"
        return Widget("more", (*location, "more"), label, children=children, summary_labels=used)

    def _build_mapping(self, widget: Widget, keys: Any, inner: Any, value: Any) -> Widget:
        """Return the group of a mapping with a fixed set of keys.

        Empty entries are left out of the draft.
        """
        fields = value if isinstance(value, dict) else {}
        widget.kind, widget.is_dropped_empty = "group", True
        for key in get_args(keys):
            location = (*widget.location, key)
            named = Widget("group", location, steps.find_label(location), is_dropped_empty=True)
            part = fields.get(key)
            named.children = list(self.fields(inner, named.location, part if isinstance(part, dict) else {}))
            widget.children.append(named)
        return widget

    def language(self, widget: Widget, value: Any) -> Widget:
        labels = dict(self.names.languages)
        widget = self._build_name_choice(widget, labels, value or "en", labels)
        del widget.options[0]  # every study has a language
        return widget

    def dataset(self, widget: Widget, value: Any) -> Widget:
        return self._build_name_choice(widget, self.names.datasets, value)

    def condition(self, widget: Widget, value: Any) -> Widget:
        return self._build_name_choice(widget, answers.list_condition_names(self.draft), value)

    def measure(self, widget: Widget, value: Any) -> Widget:
        labels = answers.measure_labels(self.draft)
        return self._build_name_choice(widget, labels, value, labels)

    def system(self, widget: Widget, value: Any) -> Widget:
        return self._build_name_choice(widget, self.names.systems, value)

    def _build_name_choice(
        self, widget: Widget, names: Collection[str], value: Any, labels: Mapping[str, str] | None = None
    ) -> Widget:
        """Return a selection of the known names and the present value."""
        chosen = "" if value is None else str(value)
        names = [*names, *([chosen] if chosen and chosen not in names else [])]
        widget.kind, widget.value, widget.is_worded = "select", chosen, labels is not None
        widget.options = [("", "–"), *((name, (labels or {}).get(name, name)) for name in names)]
        return widget

    def source(self, widget: Widget, value: Any) -> Widget:
        """Return what a condition shows: the ground truth or a system."""
        row = self.draft["conditions"][widget.location[1]]
        widget = self._build_name_choice(widget, self.names.systems, value)
        widget.options = [
            ("", "–"),
            ("ground_truth:", "Ground truth"),
            *((f"system:{name}", name) for name, _label in widget.options[1:]),
        ]
        widget.kind = "source"
        widget.value = "ground_truth:" if row.get("ground_truth") else f"system:{value}" if value else ""
        return widget

    def mark_absent(self, widget: Widget, _value: Any) -> Widget:
        """Return a field that another widget reads."""
        widget.kind = "absent"
        return widget

    def fix_value(self, widget: Widget, value: Any) -> Widget:
        widget.kind, widget.value = "fixed", value
        return widget

    def items(self, widget: Widget, value: Any) -> Widget:
        """Return the items, by one of three ways."""
        fields = value if isinstance(value, dict) else {}
        selection = (
            "hand" if fields.get("ids") is not None else "stratify" if fields.get("stratify") else "draw"
        )
        choice = Widget("select", ("items", "way"), "Selection", value=selection, is_worded=True)
        choice.options = [
            ("draw", "Random"),
            ("stratify", "Random, with a share of correct answers"),
            ("hand", "By hand"),
        ]
        children = list(self.fields(ItemsDefinition, ("items",), {"stratify": {}, **fields}))
        widget.kind, widget.children = "items", [choice, *children]
        return widget

    def task(self, widget: Widget, value: Any) -> Widget:
        """Return the kind of the task and the options of that kind."""
        written = expand_task(value)
        fields = written if isinstance(written, dict) else {}
        kind = str(fields.get("kind", "verification"))
        choice = Widget(
            "select", ("task", "kind"), steps.find_label(("task", "kind")), value=kind, is_worded=True
        )
        choice.hint = steps.HINTS["task.kind"]
        choice.options = [*steps.TASKS.items()]
        options = self.fields(KINDS.get(kind, Verification), ("task",), fields)
        widget.kind = "task"
        widget.children = [choice, *(option for option in options if option.name != "kind")]
        return widget

    def conditions(self, widget: Widget, value: Any) -> Widget:
        """Return a box for every condition, and for those with explanations."""
        chosen = [str(name) for name in (value if isinstance(value, list) else [value] if value else [])]
        names = [*answers.list_condition_names(self.draft), *chosen]
        widget.kind, widget.value = "answers", chosen
        widget.options = [
            (EXPLAINED, "All with explanations"),
            (UNEXPLAINED, "All without explanations"),
            *((name, name) for name in dict.fromkeys(names) if name not in (EXPLAINED, UNEXPLAINED)),
        ]
        widget.answers = {name: name for name, _label in widget.options}
        return widget

    def image(self, widget: Widget, _value: Any) -> Widget:
        widget.kind = "image"
        return widget

    def random_order(self, widget: Widget, value: Any) -> Widget:
        """Return a box for each part whose questions can be shuffled."""
        widget.kind, widget.is_worded = "answers", True
        widget.value = [str(part) for part in value] if isinstance(value, list) else []
        locations = (("questionnaire", part) for part in ("pre_survey", "item", "post_survey"))
        widget.options = [(location[-1], steps.find_label(location)) for location in locations]
        widget.answers = {part: part for part, _label in widget.options}
        return widget

    def instructions(self, widget: Widget, value: Any) -> Widget:
        """Return the text, or its parts if there are several."""
        widget.adds = [("", "Part for some conditions")]
        if isinstance(value, list) and value:
            return self._fill_rows(widget, InstructionPart, value)
        widget.kind = "area"
        widget.value = value if isinstance(value, str) else ""
        return widget

    def translations(self, widget: Widget, value: Any) -> Widget:
        return fill_translation_rows(widget, self.draft, value, self.names.languages)


_SPECIAL: dict[tuple[str, ...], Any] = {
    ("language",): _Builder.language,
    ("dataset",): _Builder.dataset,
    ("conditions", "*", "system"): _Builder.source,
    ("conditions", "*", "ground_truth"): _Builder.mark_absent,
    ("conditions", "*", "advice"): _Builder.fix_value,
    ("task",): _Builder.task,
    ("task", "source"): _Builder.dataset,
    ("items",): _Builder.items,
    ("items", "stratify", "system"): _Builder.system,
    ("attention", "*", "kind"): _Builder.fix_value,
    ("exclusions", "*", "kind"): _Builder.fix_value,
    ("exclusions", "*", "value"): _Builder.mark_absent,
    ("translations",): _Builder.translations,
    **{
        (*location, "*", *rest): method
        for location in QUESTIONS
        for rest, method in (
            (("scale",), scale_fields.fill_scale),
            (("scale", "choices"), scale_fields.fill_choices),
            (("scale", "rows"), scale_fields.fill_rows),
            (("only",), _Builder.conditions),
            (("except",), _Builder.conditions),
            (("image", "file"), _Builder.image),
        )
    },
    ("questionnaire", "random_order"): _Builder.random_order,
    ("instructions",): _Builder.instructions,
    ("instructions", "*", "only"): _Builder.conditions,
    ("instructions", "*", "except"): _Builder.conditions,
    ("plan", "baseline"): _Builder.condition,
    ("plan", "family", "*", "measure"): _Builder.measure,
    ("plan", "family", "*", "first"): _Builder.condition,
    ("plan", "family", "*", "second"): _Builder.condition,
    ("plan", "margins", "*", "measure"): _Builder.measure,
}
# Fields that name answers to questions of the draft.
_ANSWERS = {
    ("attention", "*", "expected"): answers.build_expected_field,
    ("exclusions", "*", "question"): answers.fill_rule_question,
    ("screening", "*", "accept"): answers.accept,
    ("screening", "*", "quotas"): answers.fill_quotas,
    ("comprehension", "questions", "*", "correct"): answers.build_correct_field,
    **{(*location, "*", "show_if"): answers.fill_show_if for location in QUESTIONS},
}
_OPTIONS: dict[str, dict[str, str]] = {
    **steps.OPTIONS,
    "platform": {name: platform.label for name, platform in PLATFORMS.items()},
    "flag": {str(flag): meaning for flag, meaning in MEANINGS.items()},
}


# Buttons that add a row to a list; other lists hold questions, which are added by kind.
_ADDITIONS: dict[Location, Collection[tuple[str, str]]] = {
    ("exclusions",): steps.RULES.items(),
    ("attention",): steps.ATTENTION.items(),
    ("plan", "family"): [("", "Comparison")],
    ("plan", "margins"): [("", "Margin")],
    ("scales",): [("", "Scale")],
    ("task", "criteria"): [("", "Criterion")],
}
# Fields of a condition that are about the answer that it shows.
_OF_ANSWERS = ("system", "explanation", "represents")
# Fields of a question that most questions leave empty.
_DISPLAY = (
    *("only", "except_", "unexplained_text", "show_if", "prefer_not_to_say", "random_choices", "fixed"),
    *("heading", "heading_text", "page_break"),
)


def _build_pattern(location: Location) -> tuple[str, ...]:
    return tuple("*" if isinstance(part, int) else part for part in location)


def _unwrap_type(annotation: Any) -> tuple[Any, bool]:
    """Return a type without annotations, and whether it may be None."""
    if get_origin(annotation) is Annotated:
        return _unwrap_type(get_args(annotation)[0])
    if get_origin(annotation) in (Union, types.UnionType):
        members = [member for member in get_args(annotation) if member is not type(None)]
        if len(members) < len(get_args(annotation)):
            inner, _none = _unwrap_type(members[0])
            return inner, True
        if all(get_origin(member) is Literal for member in members):
            return Literal[*(value for member in members for value in get_args(member))], False
        if all(_unwrap_type(member)[0] is str or get_origin(member) is Literal for member in members):
            return str, False
    return annotation, False


def _read_default(info: FieldInfo) -> Any:
    return None if info.is_required() else info.get_default(call_default_factory=True)


def _format_sentence(description: str) -> str:
    """Return a description as a sentence."""
    return description and f"{description[:1].upper()}{description[1:]}."


def _sort_fields(model: type[BaseModel]) -> list[str]:
    """Return the fields in the order in which people think of them.

    The wording comes before the name of its column.
    """
    first, last = (["pre_survey"] if model is Questionnaire else []), list[str]()
    if issubclass(model, Question):
        first, last = ["text", "scale"], ["key", "role", "required"]
    others = (name for name in model.model_fields if name not in (*first, *last))
    return [
        *first,
        *(name for name in others if not (issubclass(model, Question) and name in _DISPLAY)),
        *last,
    ]


def _has(model: type[BaseModel], name: str, row: Mapping[str, Any]) -> bool:
    """Return whether a row of this kind has the field."""
    if model is AttentionDefinition and name in ("text", "item", "answer"):
        return (name == "text") == (row.get("kind") == "instructed")
    if model is ConditionDefinition:
        is_control = row.get("advice") is False
        return name not in ({"ground_truth", *_OF_ANSWERS} if is_control else {"ground_truth", "advice"})
    return True


def _can_add_control(draft: Draft, rows: list[Any]) -> bool:
    """Return whether a control condition without advice can be added."""
    task = expand_task(draft.get("task"))
    has_control = any(isinstance(row, dict) and row.get("advice") is False for row in rows)
    return isinstance(task, dict) and task.get("kind") == "advice" and not has_control


def _list_additions(location: Location, names: KnownNames, rows: list[Any]) -> list[tuple[str, str]]:
    """Return what can be added to a list."""
    if location == ("conditions",):
        shown = {row.get("system") for row in rows if isinstance(row, dict)}
        unused = next((name for name in names.systems if name not in shown), "")
        first = unused or next(iter(names.systems), "")
        return [(first, "Add a system"), ("ground_truth", "Add the ground truth")]
    return [*_ADDITIONS.get(location, steps.KINDS.items())]


def _summarise_row(model: type[BaseModel], row: Mapping[str, Any]) -> str:
    """Return what a closed row says."""
    if issubclass(model, Question | InstructionPart | Criterion):
        return str(row.get("text") or row.get("key") or "")
    if model is ConditionDefinition:
        shows_system = not row.get("ground_truth") and row.get("advice") is not False
        system = (row.get("system") or "–") if shows_system else ""
        return " – ".join(str(part) for part in (row.get("label") or row.get("name"), system) if part)
    if model is AttentionDefinition:
        return f"{row.get('id', '')} – {row.get('text') or row.get('answer') or ''}"
    if model in (Contrast, Margin):
        return " – ".join(str(value) for value in row.values())
    return str(row.get("name", ""))


def _list_summary_labels(row: Mapping[str, Any]) -> list[str]:
    """Return labels of what a condition shows, to be translated on the page."""
    if row.get("advice") is False:
        return ["Control without advice"]
    style = steps.OPTIONS["explanation"].get(str(row.get("explanation", "facts")), "")
    return [*(["Ground truth"] if row.get("ground_truth") else []), *([style] if style else [])]
