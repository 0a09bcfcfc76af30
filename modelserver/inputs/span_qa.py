"""Read questions with answer spans: SQuAD, Quoref and HotpotQA files.

All three become the same examples. Questions without an answer to learn from are counted in the
`ReadingSet`; a malformed file is an error that names the file, the entry and the field.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, NamedTuple

from pydantic import BaseModel, Field, NonNegativeInt, ValidationError

from modelserver.inputs.data_files import read_json, require_unique_ids
from modelserver.inputs.features import IN_TITLE, list_lower_words, tokenise
from modelserver.inputs.hotpot import GoldExample, read_gold
from modelserver.inputs.selection import Selection
from modelserver.wire.errors import UnreadableData
from modelserver.wire.schema import QAItem, Text, find_text_problem, format_first_problem

EVERYTHING = Selection()


class GoldSpan(NamedTuple):
    """An answer's position, in code points, end exclusive.

    ``start`` is in sentence ``first``, ``end`` in ``last``. Both are sentences of one article; IN_TITLE
    stands for its title.
    """

    article: int
    first: int
    start: int
    last: int
    end: int


@dataclass(frozen=True)
class ReadingExample:
    """A question with its right answers and their spans.

    Each of ``answers`` is right by itself, unless ``together``: then all of them make up the answer.
    ``spans`` is empty if the answer is not in the context, such as yes or no.
    """

    item: QAItem
    answers: tuple[str, ...]
    spans: tuple[GoldSpan, ...]
    together: bool = False


@dataclass(frozen=True)
class ReadingSet:
    """The examples of a file, in its order, and what there is to say about it.

    Attributes:
        examples: Those that can be scored.
        notes: About the answers of the examples.
        left_out: Number of unanswerable questions, which are no examples.
    """

    examples: list[ReadingExample]
    notes: list[str]
    left_out: int = 0


class _Answer(BaseModel):
    text: Annotated[str, Field(min_length=1)]
    answer_start: NonNegativeInt


class _Question(BaseModel):
    id: Annotated[str, Field(min_length=1, max_length=200)]
    question: Annotated[str, Field(min_length=1, max_length=10_000)]
    answers: list[_Answer]


class _Paragraph(BaseModel):
    context: Text
    qas: list[_Question]


class _Article(BaseModel):
    title: Text = ""
    paragraphs: list[_Paragraph]


class _File(BaseModel):
    data: Annotated[list[_Article], Field(min_length=1)]


def read_squad(path: Path) -> ReadingSet:
    """Read a file in the form of SQuAD 1.1 or 2.0.

    See Rajpurkar et al. 2016 and 2018. A paragraph is an article of one sentence. Several answers are
    alternatives. The unanswerable questions of SQuAD 2.0 are left out, because `extractive-qa` always
    answers. If an answer is not at its offset, the nearest occurrence of its text is taken.
    """
    return _read_paragraphs(path, together=False)


def read_quoref(path: Path) -> ReadingSet:
    """Read a file in the form of Quoref (Dasigi et al. 2019).

    As `read_squad`, but several spans make up one answer together. `extractive-qa` gives one span, so
    each of them is right to learn; predicting one of n scores 1/n of its F1 and never an exact match.
    """
    return _read_paragraphs(path, together=True)


def read_hotpotqa(path: Path, selection: Selection = EVERYTHING) -> ReadingSet:
    """Read a file in the official HotpotQA form (Yang et al. 2018).

    An answer's span is its first occurrence in the gold facts, else in another sentence, else in a
    title. Questions without one, yes and no among them, remain: they cannot be learned from, but
    count. ``selection`` chooses questions and what of their contexts is read.
    """
    gold = selection.of(read_gold(path), path)
    require_unique_ids(path, (entry.id for entry in gold))
    examples = [_from_gold(path, number, entry) for number, entry in enumerate(gold, start=1)]
    closed = sum(not example.spans for example in examples)
    notes = [f"{closed} questions have no answer in the context (yes, no, or other words)"] if closed else []
    return ReadingSet(examples, notes)


FORMATS: dict[str, Callable[[Path], ReadingSet]] = {
    "squad": read_squad,
    "quoref": read_quoref,
    "hotpotqa": read_hotpotqa,
}


def _read_paragraphs(path: Path, *, together: bool) -> ReadingSet:
    notes: Counter[str] = Counter()
    examples, seen, left_out = [], set(), 0
    for where, title, paragraph, question in _read_questions(path):
        if question.id in seen:
            raise UnreadableData(f"{path}: {where}.id: {question.id!r} occurs a second time")
        seen.add(question.id)
        if not question.answers:
            left_out += 1
            continue
        spans = [_locate_span(paragraph.context, answer, notes) for answer in question.answers]
        examples.append(
            ReadingExample(
                QAItem(id=question.id, question=question.question, context=[(title, [paragraph.context])]),
                tuple(answer.text for answer in question.answers),
                tuple(dict.fromkeys(span for span in spans if span is not None)),
                together=together and len(question.answers) > 1,
            )
        )
    return ReadingSet(examples, [f"{count} {text}" for text, count in notes.items()], left_out)


def _read_questions(path: Path) -> Iterator[tuple[str, str, _Paragraph, _Question]]:
    """Yield each question with its path in the file, its title and paragraph."""
    try:
        file = _File.model_validate(read_json(path))
    except ValidationError as error:
        raise UnreadableData(f"{path}: {format_first_problem(error, whole='file')}") from error
    for a, article in enumerate(file.data):
        for p, paragraph in enumerate(article.paragraphs):
            for q, question in enumerate(paragraph.qas):
                yield f"data.{a}.paragraphs.{p}.qas.{q}", article.title, paragraph, question


def _locate_span(context: str, answer: _Answer, notes: Counter[str]) -> GoldSpan | None:
    text, start = answer.text, answer.answer_start
    if context[start : start + len(text)] != text:
        starts = [match.start() for match in re.finditer(f"(?={re.escape(text)})", context)]
        if not starts:
            notes["answers are not in their context and cannot be learned"] += 1
            return None
        notes["answers are not at their offset; the nearest occurrence of their text is used"] += 1
        start = min(starts, key=lambda candidate: abs(candidate - answer.answer_start))
    return GoldSpan(0, 0, start, 0, start + len(text))


def _from_gold(path: Path, number: int, gold: GoldExample) -> ReadingExample:
    try:
        item = gold.item
    except ValidationError as error:
        raise UnreadableData(f"{path}: entry {number}: {format_first_problem(error)}") from error
    if problem := find_text_problem(item):
        raise UnreadableData(f"{path}: entry {number}: {problem}")
    span = None if gold.answer in {"yes", "no"} else _find(item, gold)
    return ReadingExample(item, (gold.answer,), () if span is None else (span,))


def _find(item: QAItem, gold: GoldExample) -> GoldSpan | None:
    """Return the first occurrence of the answer, whole words, any case."""
    wanted = list_lower_words(gold.answer)
    facts = set(gold.supporting_facts)
    spans: dict[int, GoldSpan] = {}
    for article, (title, sentences) in enumerate(item.context):
        if not wanted or not any(wanted[0] in text.lower() for text in (title, *sentences)):
            continue  # in most articles there is no need to look closer
        tokens = [
            (sentence, token)
            for sentence, text in enumerate((title, *sentences), start=IN_TITLE)
            for token in tokenise(text)
        ]
        words = [token.text.lower() for _, token in tokens]
        for start in range(len(words) - len(wanted) + 1):
            if words[start : start + len(wanted)] != wanted:
                continue
            (first, begin), (last, end) = tokens[start], tokens[start + len(wanted) - 1]
            if first == IN_TITLE and last != IN_TITLE:
                continue  # no span that can be given
            rank = 2 if first == IN_TITLE else 0 if (title, first) in facts else 1
            spans.setdefault(rank, GoldSpan(article, first, begin.start, last, end.end))
    return spans[min(spans)] if spans else None
