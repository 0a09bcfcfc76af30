"""Scores of scales: items, reversed items, and range.

Pure: no Django. The published keys are in `PUBLISHED`; a definition can add its own, or give another key to a
published scale. A score is only given if every item was answered.

References:
    1. Brooke (1996). SUS: a quick and dirty usability scale. Usability Evaluation in Industry, 189-194.
       Odd items count answer - 1, even items 5 - answer; the sum times 2.5 is in [0, 100].
    2. Hart and Staveland (1988). Development of NASA-TLX. Advances in Psychology 52, 139-183. Six ratings of
       21 gradations, 0 to 100 in steps of 5; performance runs from perfect to failure.
    3. Hart (2006). NASA-Task Load Index; 20 years later. Proceedings of HFES 50, 904-908. The raw index is
       the mean of the ratings, without weights.
    4. Lewis, Utesch and Maher (2013). UMUX-LITE: when there's no time for the SUS. CHI, 2099-2102. Two items
       of 7 points, (sum - 2) times 100 / 12; SUS is estimated as 0.65 times that plus 22.9.
    5. Lah, Lewis and Sumak (2020). Perceived usability and the modified technology acceptance model.
       International Journal of Human-Computer Interaction 36, 1216-1230.
    6. Jian, Bisantz and Drury (2000). Foundations for an empirically determined scale of trust in automated
       systems. International Journal of Cognitive Ergonomics 4, 53-71. Twelve items of 7 points; the first
       five speak of distrust.
    7. Spain, Bustamante and Bliss (2008). Towards an empirically developed scale for system trust: take two.
       Proceedings of HFES 52, 1335-1339.
    8. Hoffman, Mueller, Klein and Litman (2023). Measures for explainable AI. Frontiers in Computer Science
       5, 1096257. Eight items of 5 points on trust, of which the sixth (wary) is reversed.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, NamedTuple

from pydantic import Field

from foundation.frozen_model import FrozenModel
from foundation.messages import say, value_error
from studyapp.definition.questions.answer_scales import LikertScale, NumberScale
from studyapp.definition.questions.question import Answer, Question
from studyapp.definition.questions.scales import SCALES

# The pages whose answers are scored.
SCORED_PARTS = ("pre_survey", "item", "post_survey")
Key = Annotated[str, Field(max_length=110)]
Bound = Annotated[float, Field(ge=-1e9, le=1e9)]


class ScaleKey(FrozenModel):
    """The scoring key of a scale of your own, or another published version.

    The score is the mean of the items, after reversing. It is only given if every item was answered.
    """

    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]*$", max_length=60)] = Field(
        description="the column of the score is `score_NAME`"
    )
    items: Annotated[list[Key], Field(min_length=1, max_length=200)] = Field(
        description="columns of the items, all on one page; of a matrix `KEY_ROW`"
    )
    reverse: list[Key] = Field(default=[], description="items that count the other way round")
    range: Annotated[list[Bound], Field(min_length=2, max_length=2)] | None = Field(
        default=None,
        description="lowest and highest score, such as `[0, 100]`; if left out, the mean in points",
    )
    title: Annotated[str, Field(max_length=100)] = Field(default="", description="name in the report")
    higher: Annotated[str, Field(max_length=200)] = Field(
        default="", description="what a higher score means, for the codebook"
    )
    source: Annotated[str, Field(max_length=300)] = Field(default="", description="source of the key")


class ScoredItem(FrozenModel):
    """A column with the lowest and the highest answer that it can have."""

    key: str
    low: float
    high: float
    reversed: bool

    def value(self, answer: float, low: float, high: float) -> float:
        """Return an answer on the range of the score."""
        share = (answer - self.low) / (self.high - self.low)
        return low + (1 - share if self.reversed else share) * (high - low)


class Score(FrozenModel):
    """A score of the answers on one page.

    ``low`` and ``high`` are the range of the mean, before the linear ``slope`` and ``intercept``.
    """

    column: str
    title: str
    items: list[ScoredItem]
    low: float
    high: float
    slope: float = 1.0
    intercept: float = 0.0
    higher: str = ""
    source: str = ""

    @property
    def range(self) -> tuple[float, float]:
        """The lowest and the highest score."""
        return self.slope * self.low + self.intercept, self.slope * self.high + self.intercept

    def value(self, answers: Mapping[str, Answer]) -> float | None:
        """Return the score of a page's answers; None unless all are given."""
        given = [answers.get(item.key) for item in self.items]
        values = [
            item.value(answer, self.low, self.high)
            for item, answer in zip(self.items, given, strict=True)
            if isinstance(answer, int | float)
        ]
        if len(values) < len(self.items):
            return None
        return self.slope * (sum(values) / len(values)) + self.intercept


class _Published(NamedTuple):
    """A published key: items by number, or those of a scale with a wording.

    ``whole`` is how many items the researcher enters, of which ``scored`` from ``first`` on are scored; None
    takes as many as were entered.
    """

    scale: str
    title: str
    higher: str
    source: str
    whole: int | None = None
    first: int = 1
    scored: int | None = None
    reverse: Sequence[int] = ()
    range: tuple[float, float] | None = None
    slope: float = 1.0
    intercept: float = 0.0


_PERCENT = (0.0, 100.0)
_TWO_FACTORS = "Jian, Bisantz and Drury 2000, as two factors after Spain, Bustamante and Bliss 2008"
PUBLISHED: dict[str, _Published] = {
    # 21 gradations in steps of 5; performance runs from perfect to failure, so it is not reversed.
    "nasa-tlx": _Published(
        "nasa-tlx", "Raw NASA-TLX", "more workload", "Hart 2006, without weights", range=_PERCENT
    ),
    "umux-lite": _Published(
        "umux-lite", "UMUX-Lite", "more usable", "Lewis, Utesch and Maher 2013", range=_PERCENT
    ),
    "umux-lite-sus": _Published(
        "umux-lite",
        "SUS estimated from UMUX-Lite",
        "more usable",
        "regression of Lewis, Utesch and Maher 2013; too low for very usable systems (Lah, Lewis and Šumak "
        "2020)",
        range=_PERCENT,
        slope=0.65,
        intercept=22.9,
    ),
    "sus": _Published(
        "sus", "SUS", "more usable", "Brooke 1996", whole=10, reverse=(2, 4, 6, 8, 10), range=_PERCENT
    ),
    "trust-jian": _Published(
        "trust-jian",
        "Trust in automation",
        "more trust",
        "Jian, Bisantz and Drury 2000; the first five items reversed",
        whole=12,
        reverse=(1, 2, 3, 4, 5),
    ),
    "trust-jian-distrust": _Published(
        "trust-jian", "Distrust in automation", "more distrust", _TWO_FACTORS, whole=12, scored=5
    ),
    "trust-jian-trust": _Published(
        "trust-jian",
        "Trust in automation, positive items",
        "more trust",
        _TWO_FACTORS,
        whole=12,
        first=6,
        scored=7,
    ),
    "trust-xai": _Published(
        "trust-xai",
        "Trust in explainable AI",
        "more trust",
        "Hoffman, Mueller, Klein and Litman 2023, eight items, the sixth (wary) reversed",
        whole=8,
        reverse=(6,),
    ),
    "explanation-satisfaction": _Published(
        "explanation-satisfaction",
        "Explanation satisfaction",
        "more satisfied",
        "Hoffman, Mueller, Klein and Litman 2023",
    ),
}


def list_scale_keys(keys: Any) -> Any:
    """Turn a mapping into a list, because the database keeps no order."""
    if not isinstance(keys, dict):
        return keys
    return [{"name": name, **key} if isinstance(key, dict) else key for name, key in keys.items()]


def list_scale_scores(questions: Sequence[Question], own: Sequence[ScaleKey]) -> list[Score]:
    """Return the scores of a page; those with the study's own keys come first.

    A page that lacks an item of a scale, or asks it on another rating, has no score of it.
    """
    asked = {part.key: part for question in questions for part in question.parts}
    taken = {column.name for question in questions for column in question.columns}
    scores = [_build_score(key, asked) for key in own if {*key.items} <= asked.keys()]
    taken |= {_name_column(key.name) for key in own}
    for name, published in PUBLISHED.items():
        keys = _find_item_keys(published, asked)
        if keys and _name_column(name) not in taken:
            key = ScaleKey(
                name=name,
                items=keys,
                reverse=[keys[number - published.first] for number in published.reverse],
                range=published.range and [*published.range],
                title=published.title,
                higher=published.higher,
                source=published.source,
            )
            line = {"slope": published.slope, "intercept": published.intercept}
            scores.append(_build_score(key, asked).model_copy(update=line))
    return scores


def list_score_columns(
    parts: Mapping[str, Sequence[Question]], own: Sequence[ScaleKey]
) -> list[dict[str, Any]]:
    """Return the scores of all parts as bundles hold them."""
    return [
        {"table": "trials" if part == "item_questionnaire" else part, **score.model_dump(mode="json")}
        for part, asked in parts.items()
        for score in list_scale_scores(asked, own)
    ]


def check_scales(own: Sequence[ScaleKey], parts: Mapping[str, Sequence[Question]]) -> None:
    """Raise ValueError, naming the scale, unless every key can be applied."""
    for name, times in Counter(_name_column(key.name) for key in own).items():
        if times > 1:
            raise value_error("two scales have the column %(column)r", column=name)
    if not own:
        return
    pages = [
        {part.key: part for question in parts.get(page, ()) for part in question.parts}
        for page in SCORED_PARTS
    ]
    taken = {column.name for page in SCORED_PARTS for q in parts.get(page, ()) for column in q.columns}
    for key in own:
        for problem in _find_problems(key, pages, taken):
            raise value_error("%(name)s: %(problem)s", name=key.name, problem=problem)


def _find_problems(key: ScaleKey, pages: Sequence[dict[str, Question]], taken: set[str]) -> Iterator[str]:
    page = max(pages, key=lambda asked: len(asked.keys() & {*key.items}))
    for item in key.items:
        if item not in page:
            yield say("no question has the column %(item)r; all items must be on one page", item=item)
        elif _find_bounds(page[item]) is None:
            yield say("%(item)r is not answered by a number or a rating", item=item)
    if len({*key.items}) < len(key.items):
        yield say("an item is listed twice")
    for item in key.reverse:
        if item not in key.items:
            yield say("reverse: %(item)r is not an item of the scale", item=item)
    if key.range and key.range[0] >= key.range[1]:
        yield say("range: the second number must be larger than the first")
    if not key.range and len({_find_bounds(page[item]) for item in key.items if item in page}) > 1:
        yield say("its items have different ratings; give range, such as [0, 100]")
    if _name_column(key.name) in taken:
        yield say("a question has the column %(column)r; choose another name", column=_name_column(key.name))


def _find_item_keys(published: _Published, asked: Mapping[str, Question]) -> list[str]:
    """Return the items of a published scale; empty unless all are asked."""
    scale, stem = SCALES[published.scale], published.scale.replace("-", "_")
    entered = next(n for n in range(len(asked) + 1) if f"{stem}_{n + 1}" not in asked)
    if published.whole is not None and entered != published.whole:
        return []  # another version of the scale, which may have another key
    numbers = range(published.first, published.first + (published.scored or entered))
    keys = list(scale.items) or [f"{stem}_{number}" for number in numbers]
    points = scale.form["points"]
    has_form = all(
        key in asked and isinstance(form := asked[key].scale, LikertScale) and form.points == points
        for key in keys
    )
    return keys if has_form else []


def _build_score(key: ScaleKey, asked: Mapping[str, Question]) -> Score:
    bounds = [_find_bounds(asked[item]) or (0.0, 1.0) for item in key.items]
    low, high = key.range or bounds[0]
    return Score(
        column=_name_column(key.name),
        title=key.title or key.name,
        items=[
            ScoredItem(key=item, low=least, high=most, reversed=item in key.reverse)
            for item, (least, most) in zip(key.items, bounds, strict=True)
        ],
        low=low,
        high=high,
        higher=key.higher,
        source=key.source,
    )


def _name_column(name: str) -> str:
    return "score_" + name.replace("-", "_")


def _find_bounds(question: Question) -> tuple[float, float] | None:
    """Return the lowest and the highest number of an answer, if it is one."""
    match question.scale:
        case LikertScale(points=points):
            return 1.0, float(points)
        case NumberScale(min=low, max=high):
            return low, high
        case "yes_no":
            return 0.0, 1.0
    return None
