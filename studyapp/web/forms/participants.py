"""Forms of participants: questions and page keys; forms of links and bots."""

import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

from django import forms
from django.core.signing import BadSignature, Signer
from django.template.loader import render_to_string
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from studyapp.definition.frozen.freezing import FrozenStudy
from studyapp.definition.questions.answer_scales import (
    Kind,
    MatrixScale,
    NumberScale,
    RankingScale,
    Scale,
    SliderScale,
    TextField,
)
from studyapp.definition.questions.flow import Viewer
from studyapp.definition.questions.question import DECLINED, Answer, Question, QuestionImage
from studyapp.definition.task_designs.task_questions import list_task_pages
from studyapp.models import Mode, StudyVersion
from studyapp.queries.question_pages import (
    PageName,
    build_part_pages,
    find_shown_page,
    is_shuffled,
    list_part_questions,
)
from studyapp.queries.studies import cache_per_version, find_image_slug, load_translated_study
from studyapp.rules.page_timing import PageTiming
from studyapp.simulation.behaviours import BEHAVIOURS
from studyapp.web.forms.posted_answers import Sent

CLOCK_FIELDS = tuple(field.name for field in fields(PageTiming))
MOST_WORDS = 7  # points of a rating that stand side by side with their labels
_PAGE = Signer(sep=".", salt="studyapp.page")


@dataclass(frozen=True)
class Row:
    """A question of a form, with the chosen answer and its error.

    ``parts`` are the rows of a matrix, or the choices of a ranking, with answers of their own.
    """

    key: str
    text: str
    kind: Kind
    choices: tuple[tuple[str, str], ...]
    required: bool
    scale: Scale
    chosen: tuple[str, ...] = ()
    error: str = ""
    image: QuestionImage | None = None
    heading: str = ""
    heading_text: str = ""
    can_decline: bool = False
    depends_on: str = ""
    opens_with: str = ""
    condition: str = ""
    label: str = ""
    parts: "tuple[Row, ...]" = ()

    @property
    def template(self) -> str:
        """The template of the kind."""
        is_choice = self.kind in ("yes_no", "likert", "single", "multiple")
        name = "many" if self.ends else "choices" if is_choice else self.kind
        return f"studyapp/participant/questions/{name}.html"

    @property
    def refused(self) -> str:
        """The error of an answer that was given, else empty."""
        return self.error if any(self.chosen) else ""

    @property
    def is_group(self) -> bool:
        """True if the question has several fields, which a fieldset joins."""
        return bool(self.choices or self.parts)

    @property
    def counted(self) -> tuple[str, ...]:
        """The keys whose changes are counted."""
        return tuple(part.key for part in self.parts) or (self.key,)

    @property
    def ends(self) -> tuple[str, str] | None:
        """The labels of the ends of a long rating that numbers its points."""
        labels = [label for _value, label in self.choices]
        if self.kind != "likert" or len(labels) <= MOST_WORDS or not all(map(str.isdecimal, labels[1:-1])):
            return None
        return labels[0].removeprefix("1 – "), labels[-1].removeprefix(f"{len(labels)} – ")

    @property
    def width(self) -> str:
        """The width of a row of points: 11 fit anywhere, 21 on a desk."""
        return "short" if len(self.choices) <= 11 else "medium" if len(self.choices) <= 21 else "long"

    @property
    def low(self) -> str:
        """The smallest number, as a field has it."""
        return f"{self.scale.min:.10g}" if isinstance(self.scale, NumberScale) else ""

    @property
    def high(self) -> str:
        """The largest number, as a field has it."""
        return f"{self.scale.max:.10g}" if isinstance(self.scale, NumberScale) else ""

    @property
    def step(self) -> str:
        """The distance between numbers, as a field has it."""
        return f"{self.scale.step:.10g}" if isinstance(self.scale, NumberScale) else ""

    @property
    def ranks(self) -> list[str]:
        """The ranks that a choice can get."""
        return [str(n + 1) for n in range(self.scale.ranks)] if isinstance(self.scale, RankingScale) else []

    @property
    def has_limits(self) -> bool:
        """True if a text says its limits beforehand."""
        return isinstance(self.scale, TextField) and (self.scale.counter or self.scale.min_length > 0)

    @property
    def described_by(self) -> str:
        """The IDs of error and hint of a text."""
        named = {"error": bool(self.error), "hint": self.has_limits}
        return " ".join(f"{self.key}-{name}" for name, is_there in named.items() if is_there)

    @property
    def declined(self) -> str:
        """The value that is sent in place of an answer."""
        return DECLINED

    @property
    def first_id(self) -> str:
        """The ID of the first field, the target of the error summary."""
        for part in sorted(self.parts, key=lambda part: not part.error):
            return part.first_id
        return f"{self.key}-1" if self.choices else self.key

    @property
    def written(self) -> str:
        """The text that was entered."""
        if self.chosen or not isinstance(self.scale, SliderScale) or self.scale.start is None:
            return self.chosen[-1] if self.chosen else ""
        return f"{self.scale.start:.10g}"

    @property
    def css(self) -> str:
        """The CSS classes of the choices."""
        if self.kind == "likert":
            return "likert" if len(self.choices) <= MOST_WORDS else "list"
        return "yes-no" if self.kind == "yes_no" else "list"


def build_rows(questions: Sequence[Question], sent: Sent, errors: Mapping[str, str]) -> list[Row]:
    """Return the questions with the submitted answers and their errors.

    One that depends on another question of the page says so; a script then shows and hides it.
    """
    on_page = {part.key: part for question in questions for part in question.parts}
    return [
        Row(
            key=question.key,
            text=question.text,
            kind=question.kind,
            choices=_label_choices(question),
            required=question.required,
            scale=question.scale,
            chosen=_list_texts(sent.get(question.key, [])),
            error=errors.get(question.key, ""),
            heading=question.heading or "",
            heading_text=question.heading_text or "",
            can_decline=question.prefer_not_to_say,
            **_describe_dependence(question, on_page),
            parts=_build_parts(question, sent, errors),
            image=question.image,
        )
        for question in questions
    ]


def _describe_dependence(question: Question, on_page: Mapping[str, Question]) -> dict[str, str]:
    """Return what a question depends on: as a sentence, and for the script."""
    shown = question.show_if
    if shown is None or shown.question not in on_page:
        return {}
    asked = on_page[shown.question]
    labels = dict(_label_choices(asked))
    values = (
        {}
        if shown.is_ is None
        else {sent: labels.get(sent, sent) for sent in _list_sent_values(asked, shown.is_)}
    )
    quoted = {
        "question": asked.text,
        "low": _format_bound(shown.at_least),
        "high": _format_bound(shown.at_most),
    }
    if shown.is_ is not None:
        answers = _(" or ").join(_("“%(answer)s”") % {"answer": label} for label in values.values())
        words = _("If you answered %(answers)s to “%(question)s”:") % {**quoted, "answers": answers}
    elif shown.at_least is None:
        words = _("If you answered %(high)s or less to “%(question)s”:") % quoted
    elif shown.at_most is None:
        words = _("If you answered %(low)s or more to “%(question)s”:") % quoted
    else:
        words = _("If you answered from %(low)s to %(high)s to “%(question)s”:") % quoted
    rule = {"values": [*values]} if values else {"from": shown.at_least, "to": shown.at_most}
    return {"depends_on": asked.key, "opens_with": json.dumps(rule), "condition": words}


def _list_sent_values(question: Question, answers: Sequence[Answer]) -> list[str]:
    """Return what a form sends for answers."""
    by_sent = question.values or {str(answer): answer for answer in answers}
    return [
        sent
        for sent, value in by_sent.items()
        if any(type(value) is type(answer) and value == answer for answer in answers)
    ]


def _format_bound(bound: float | None) -> str:
    return "" if bound is None else f"{bound:g}"


def _build_parts(question: Question, sent: Sent, errors: Mapping[str, str]) -> tuple[Row, ...]:
    """Return the rows of a matrix or the choices of a ranking, labelled."""
    match question.scale:
        case MatrixScale(rows=own):
            labels = [row.text for row in own]
        case RankingScale(choices=choices):
            labels = [choice.label for choice in choices]
        case _:
            return ()
    parts = zip(build_rows(question.parts, sent, errors), labels, strict=True)
    return tuple(replace(part, label=label) for part, label in parts)


def select_wrong_rows(filled: Sequence[Row]) -> list[Row]:
    """Return the rows with an error; of a matrix those of its rows."""
    rows = [part for row in filled for part in (row, *row.parts)]
    return [row for row in rows if row.error]


def _label_choices(question: Question) -> tuple[tuple[str, str], ...]:
    """Return the choices; the site translates yes and no."""
    return (("yes", _("Yes")), ("no", _("No"))) if question.kind == "yes_no" else question.choices


def _list_texts(sent: str | list[str]) -> tuple[str, ...]:
    return (sent,) if isinstance(sent, str) else tuple(sent)


def render_questions(filled: Sequence[Row], slug: str = "") -> SafeString:
    """Render one fieldset per question.

    ``slug`` is the study in the addresses of images.
    """
    has_kinds = any(row.parts or row.ends or row.has_limits or row.kind == "slider" for row in filled)
    context = {"rows": filled, "has_kinds": has_kinds, "slug": slug}
    return render_to_string("studyapp/participant/questions.html", context)


def render_empty_questions(
    version: StudyVersion, page: PageName, language: str, viewer: Viewer, number: int = 1
) -> SafeString:
    """Render the empty form of a page, once per process and conditions.

    ``language`` has to be the active one. The page must be the same for all participants of the viewer's
    conditions, see `is_same_for_all`.
    """
    return _render_empty_questions_once(version, page, language, viewer._replace(seed=None), number)


@cache_per_version(128)
def _render_empty_questions_once(
    version: StudyVersion, page: PageName, language: str, viewer: Viewer, number: int
) -> SafeString:
    pages = build_part_pages(load_translated_study(version, language), page, viewer)
    return render_questions(
        build_rows(find_shown_page(pages, number, {})[1], {}, {}), find_image_slug(version)
    )


def is_same_for_all(content: FrozenStudy, page: PageName) -> bool:
    """Return whether participants of a condition see a part alike.

    An item on several pages depends on the item and on the earlier answers.
    """
    if page == "item" and list_task_pages(content.task):
        return False
    questions = list_part_questions(content, page)
    return not is_shuffled(content, page) and not any(
        question.random_choices or (question.show_if and any(entry.page_break for entry in questions))
        for question in questions
    )


def make_page_key(page: PageName, pk: int, number: int = 1) -> str:
    """Sign the name of a page, so that its form fits no other page."""
    return _PAGE.sign(f"{page}-{pk}" if number == 1 else f"{page}-{pk}-{number}")


class ConsentPage(NamedTuple):
    """A consent page that was sent to a visitor.

    Attributes:
        public_id: Name of the participant that it creates: sent twice, it is one.
        version: Number of the version whose consent it shows.
    """

    public_id: str
    version: int


def make_consent_key(version: int) -> str:
    """Sign a new consent page of a version."""
    return _PAGE.sign(f"consent-{secrets.token_hex(10)}-{version}")


def read_consent_key(key: str) -> ConsentPage | None:
    """Return the consent page of a key; None if this site did not sign it."""
    try:
        kind, public_id, version = _PAGE.unsign(key).split("-")
    except (BadSignature, ValueError):
        return None
    return ConsentPage(public_id, int(version)) if kind == "consent" else None


BEHAVIOUR_LABELS = {
    "honest": gettext_lazy("honest"),
    "random": gettext_lazy("random answers"),
    "speeder": gettext_lazy("too fast"),
    "straight-liner": gettext_lazy("always the same answer"),
    "drop-out": gettext_lazy("leaves in the middle"),
    "two-tab": gettext_lazy("two tabs at once"),
}


class LinkForm(forms.Form):
    """A new entry link."""

    label = forms.CharField(
        label=gettext_lazy("Label"),
        max_length=100,
        required=False,
        help_text=gettext_lazy("The channel where you will share the link. Exports contain the label."),
    )
    mode = forms.ChoiceField(label=gettext_lazy("Mode"), choices=Mode.choices)
    quota = forms.IntegerField(
        label=gettext_lazy("Quota (participants)"), min_value=1, max_value=100_000, required=False
    )
    single_use = forms.BooleanField(label=gettext_lazy("Single use"), required=False)


class BotsForm(forms.Form):
    """A simulation with bots."""

    n = forms.IntegerField(label=gettext_lazy("Bots"), min_value=1, max_value=200, initial=40)
    behaviour = forms.ChoiceField(label=gettext_lazy("Behaviour"))

    def __init__(self, data: Any = None) -> None:
        super().__init__(data, auto_id="bots_%s")
        choices = [(name, BEHAVIOUR_LABELS[name]) for name in BEHAVIOURS]
        self.fields["behaviour"].choices = choices  # type: ignore[attr-defined]
