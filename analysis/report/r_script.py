"""R script that reads a bundle and refits its models, and its results.

The script uses lme4 and ordinal. Source: Bates, Mächler, Bolker and Walker 2015 (lme4); Christensen 2022
(ordinal). It is plain ASCII and the same for the same bundle, mode, version and clock.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import jinja2
import pandas as pd

from ..io.table_columns import Column
from ..io.tabular_files import read_table
from ..participants.exclusion_rules import (
    CLOCK_COLUMNS,
    Answered,
    AnsweredNumber,
    Clock,
    MaxTime,
    MinTime,
    PersonRule,
    Rule,
    WholeItem,
)
from ..participants.study_version import Bounds, Points, Question, Version
from ..study.analysis import Study

ESTIMATES = "r_estimates.csv"  # where the script writes, beside the trials
RIGHT = "rating_is_right"  # the outcome of whether a rating was right
_COLUMNS = (
    *(Column(name, "text", required=True, filled=True) for name in ("model", "outcome", "script")),
    *(Column(name, "text", required=True) for name in ("term", "message")),
    *(Column(name, "number", required=True) for name in ("estimate", "standard_error", "log_likelihood")),
    Column("trials", "integer", required=True),
)
_TEMPLATE = jinja2.Environment(
    loader=jinja2.PackageLoader(__package__),
    trim_blocks=True,
    keep_trailing_newline=True,
    undefined=jinja2.StrictUndefined,
).get_template("refit.R")


def render_study_script(study: Study) -> str:
    """Return the script of an analysed study."""
    return render_r_script(
        study.version,
        study.bundle.rules,
        mode=study.mode,
        clock=study.clock,
        people=study.exclusions.people,
        hashes=study.bundle.hashes,
    )


def render_r_script(
    version: Version,
    rules: Sequence[Rule],
    *,
    mode: str,
    clock: Clock | None,
    people: Mapping[str, Sequence[str]] | None = None,
    hashes: Mapping[str, str] | None = None,
) -> str:
    """Write the R script for one mode and version of a study.

    version: gives conditions, in order, the first as the reference, and questions. rules: of exclusion, as in
    the bundle. clock: whose time is modelled, None for no model of time. people: rules about participants
    that hit each participant (`Exclusions.people`), which the script lists. hashes: of the bundle's files;
    with the script they make the fingerprint by which a report knows the script's results as its own.

    Times get a linear mixed model of their logarithm, yes-no questions and whether the rating was right a
    logistic one, ratings a cumulative logit one; participants and items are crossed random effects in all,
    and items and participants within conditions if any was seen in, or saw, several.
    """
    render = partial(
        _TEMPLATE.render,
        conditions=", ".join(quote_text(condition.name) for condition in version.conditions),
        answers=", ".join(quote_text(question.key) for question in version.item_questionnaire),
        mode=quote_text(mode),
        version=quote_text(str(version.version)),
        exclusions=[(quote_text(rule.name), _render_test(rule, people or {})) for rule in rules],
        calls=_render_calls(version, clock),
    )
    read = ("trials.", "participants.")
    data = {name: value for name, value in (hashes or {}).items() if name.startswith(read)}
    source = render(fingerprint="") + json.dumps(data, sort_keys=True)
    return render(fingerprint=hashlib.sha256(source.encode()).hexdigest()[:16])


def read_estimates(folder: Path, script: str) -> pd.DataFrame | str:
    """Read the estimates that the script wrote into the bundle's folder.

    Returns model, outcome, term, estimate, standard_error, trials, log_likelihood
    and message by row; or why there are none: the script has not been run, or an
    earlier script wrote them or another data set was in its place.

    Raises:
        InputError: The file is malformed; names line and column.
    """
    path = folder / ESTIMATES
    if not path.is_file():
        return "not run"
    table = read_table(path, _COLUMNS).frame
    if not all(f'"{fingerprint}"' in script for fingerprint in table["script"].unique()):
        return "out of date"
    return table.drop(columns="script")


def quote_text(text: str) -> str:
    r"""Return the text as an R string in ASCII.

    Examples:
        >>> quote_text('na\u00efve "1"')
        '"na\\u00efve \\"1\\""'
    """
    return '"' + "".join(map(_escape_character, text)) + '"'


def _escape_character(character: str) -> str:
    code = ord(character)
    if character in '"\\':
        return "\\" + character
    if 32 <= code < 127:
        return character
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def _render_test(rule: Rule, people: Mapping[str, Sequence[str]]) -> str:
    if isinstance(rule, MinTime | MaxTime):
        sign = "<" if isinstance(rule, MinTime) else ">"
        time = f"as.numeric({_render_column(CLOCK_COLUMNS[rule.clock])})"
        if rule.clock != "server":
            time = f"ifelse(is.na({time}), as.numeric({_render_column(CLOCK_COLUMNS['server'])}), {time})"
        return f"{time} {sign} {float(rule.milliseconds)!r}"
    if isinstance(rule, Answered):
        column = _render_column(rule.question)
        if isinstance(rule.value, bool):
            return f"{column} == {quote_text(str(rule.value).lower())}"
        if isinstance(rule.value, str):
            return f"{column} == {quote_text(rule.value)}"
        return f"as.numeric({column}) == {float(rule.value)!r}"
    if isinstance(rule, AnsweredNumber):
        number = f"as.numeric({_render_column(rule.question)})"
        bounds = ((">=", rule.at_least), ("<=", rule.at_most))
        return " & ".join(f"{number} {sign} {bound!r}" for sign, bound in bounds if bound is not None)
    if isinstance(rule, WholeItem):
        return f"{_render_column('item_id')} == {quote_text(rule.item_id)}"
    assert isinstance(rule, PersonRule)
    listed = ", ".join(quote_text(who) for who, names in people.items() if rule.name in names)
    return f"{_render_column('participant_id')} %in% c({listed})"


def _render_column(name: str) -> str:
    return f"trials[[{quote_text(name)}]]"


def _render_calls(version: Version, clock: Clock | None) -> list[str]:
    lines = [f"fit_time({quote_text(CLOCK_COLUMNS[clock])})"] if clock else []
    for question in version.item_questionnaire:
        lines += _render_question(question)
    return lines


def _render_question(question: Question) -> list[str]:
    if question.role == "known_before":
        return []
    if isinstance(question.scale, Points):
        return [f"fit_points({quote_text(question.key)})"]
    if isinstance(question.scale, Bounds):
        return []
    column = _render_column(question.key)
    lines = [f'fit_yes_no({quote_text(question.key)}, {column} == "true")']
    if question.role == "correctness_rating":
        right = f"{column} == {_render_column('system_correct')}"
        lines.append(f"if (any(!is.na(trials$system_correct))) fit_yes_no({quote_text(RIGHT)}, {right})")
    return lines
