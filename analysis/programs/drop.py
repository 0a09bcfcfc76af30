"""Programs that the question types of the released DROP annotations imply.

The released file (N20's `drop_module_output_annotations.json`) gives each
question a `qtype` and lists of spans; the program itself is not in it. The
lists name the outputs of modules, among them the numbers and dates that the
comparing modules find on the way. Here those are nodes of their own, so every
list has its nodes; `find-two-events` and `ground-two-…` are about two nodes
together.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from pydantic import BaseModel

from ..io.errors import AnalysisError
from .notation import format_module
from .program import Program
from .text import parse

# Words go to `find`, `filter` and `relocate` in pre-order, as `ques_attention_supervision` lists them.
_PLACE = re.compile(r"\b(?:find|filter|relocate)\b(?!-)")

Lists = tuple[tuple[str, tuple[int, ...]], ...]


class Date(BaseModel):
    """A date as the file has it; its parts may be empty."""

    day: str = ""
    month: str = ""
    year: str = ""

    def __str__(self) -> str:
        return " ".join(filter(None, (self.day, self.month, self.year)))


class Answer(BaseModel):
    """An answer: the first of number, spans and date that is not empty."""

    number: str | float = ""
    date: Date = Date()
    spans: list[str] = []


class Question(BaseModel):
    """A question with its answer, type and lists; spans count words."""

    query_id: str
    question: str
    answer: Answer = Answer()
    qtype: str = ""
    tokenized_question: str = ""
    ques_attention_supervision: list[list[float]] = []
    module_output_annotations: list[tuple[str, list[tuple[int, int]]]] | None = None

    def arguments(self) -> list[str]:
        """Return the words of each relocate, filter and find.

        They are the words of the question that its attention marks.
        """
        words = self.tokenized_question.split(" ")
        return [
            " ".join(word for word, weight in zip(words, weights, strict=False) if weight > 0)
            for weights in self.ques_attention_supervision
        ]


class Passage(BaseModel):
    """A passage; its words and their first characters if the file has them."""

    passage: str
    qa_pairs: list[dict[str, Any]]
    cleaned_passage: str = ""
    tokenized_passage: str = ""
    passage_charidxs: list[int] = []


@dataclass(frozen=True)
class QuestionType:
    """Program of a question type, without words, and the nodes of its lists.

    direction: what the question must say, for the types that compare.
    """

    program: str
    lists: Lists
    direction: str = ""

    @property
    def words(self) -> int:
        """The number of its modules that take words."""
        return len(_PLACE.findall(self.program))


_EXTREME: Lists = (("find-events", (2,)), ("find-nums", (1,)))
_FILTERED: Lists = (("find-events", (3,)), ("after-filter-events", (2,)), ("find-nums", (1,)))
_MOVED: Lists = (("find-events", (3,)), ("find-nums", (2,)))
_MOVED_FILTERED: Lists = (("find-events", (4,)), ("after-filter-events", (3,)), ("find-nums", (2,)))
_AFTER_MAX, _AFTER_MIN = "after-max-event", "after-min-event"
_TWO_NUMBERS: Lists = (("find-two-events", (2, 4)), ("ground-two-nums", (1, 3)))
_TWO_DATES: Lists = (("find-two-events", (2, 4)), ("ground-two-dates", (1, 3)))

QUESTION_TYPES: dict[str, QuestionType] = {
    "num_find_qtype": QuestionType("find-num(find)", (("find-events", (1,)), ("find-nums", (0,)))),
    "num_filterfind_qtype": QuestionType(
        "find-num(filter(find))", (("find-events", (2,)), ("after-filter-events", (1,)), ("find-nums", (0,)))
    ),
    "max_find_qtype": QuestionType("find-max-num(find-num(find))", (*_EXTREME, (_AFTER_MAX, (0,)))),
    "min_find_qtype": QuestionType("find-min-num(find-num(find))", (*_EXTREME, (_AFTER_MIN, (0,)))),
    "max_filterfind_qtype": QuestionType(
        "find-max-num(find-num(filter(find)))", (*_FILTERED, (_AFTER_MAX, (0,)))
    ),
    "min_filterfind_qtype": QuestionType(
        "find-min-num(find-num(filter(find)))", (*_FILTERED, (_AFTER_MIN, (0,)))
    ),
    "count_find_qtype": QuestionType("count(find)", (("find-events", (1,)),)),
    "count_filterfind_qtype": QuestionType(
        "count(filter(find))", (("find-events", (2,)), ("after-filter-events", (1,)))
    ),
    "relocate_find_qtype": QuestionType("relocate(find)", (("find-events", (1,)), ("relocate", (0,)))),
    "relocate_maxfind_qtype": QuestionType(
        "relocate(find-max-num(find-num(find)))", (*_MOVED, (_AFTER_MAX, (1,)), ("relocate", (0,)))
    ),
    "relocate_minfind_qtype": QuestionType(
        "relocate(find-min-num(find-num(find)))", (*_MOVED, (_AFTER_MIN, (1,)), ("relocate", (0,)))
    ),
    "relocate_maxfilterfind_qtype": QuestionType(
        "relocate(find-max-num(find-num(filter(find))))",
        (*_MOVED_FILTERED, (_AFTER_MAX, (1,)), ("relocate", (0,))),
    ),
    "relocate_minfilterfind_qtype": QuestionType(
        "relocate(find-min-num(find-num(filter(find))))",
        (*_MOVED_FILTERED, (_AFTER_MIN, (1,)), ("relocate", (0,))),
    ),
    "number_comparison": QuestionType(
        "num-compare(find-num(find), find-num(find))", _TWO_NUMBERS, "num-compare"
    ),
    "date_comparison": QuestionType(
        "date-compare(find-date(find), find-date(find))", _TWO_DATES, "date-compare"
    ),
    "yeardiff_find2_qtype": QuestionType("subtraction(find-date(find), find-date(find))", _TWO_DATES),
    "yeardiff_find_qtype": QuestionType(
        "subtraction(find-date(find))", (("find-one-event", (2,)), ("ground-two-dates", (1,)))
    ),
}

# Without the words of the two events there is nothing that tells one `find` from the other: they are one.
_TWO_AS_ONE = QuestionType(
    "subtraction(find-date(find))", (("find-two-events", (2,)), ("ground-two-dates", (1,)))
)

_DIRECTIONS = {  # module to its arguments, each with the words of a question that ask for it
    "num-compare": {
        "greater": "more most larger largest bigger biggest higher highest greater greatest",
        "less": "fewer fewest less least smaller smallest lower lowest",
    },
    "date-compare": {"earlier": "first earlier earliest before", "later": "second later latest last after"},
}


def program_of(qtype: str, arguments: Sequence[str] = (), *, question: str = "") -> Program:
    """Build the program that a question type implies.

    Args:
        qtype: Name of a question type of the released DROP annotations, such as `count_find_qtype`.
        arguments: Words of `relocate`, `filter` and `find`, in pre-order, all of them or none.
        question: Its text; the types that compare need it to tell greater from less, earlier from later.

    Returns:
        A program over spans.

    Raises:
        AnalysisError: The type is unknown, the number of arguments is wrong, or the question has no
            direction.
    """
    question_type = _find_question_type(qtype, len(arguments))
    if arguments and len(arguments) != question_type.words:
        message = f"{qtype} takes {question_type.words} arguments or none, not {len(arguments)}"
        raise AnalysisError(message)
    words = iter(arguments)
    text = _PLACE.sub(lambda match: format_module(match[0], next(words, None)), question_type.program)
    if question_type.direction:
        module = question_type.direction
        text = text.replace(module, format_module(module, _find_direction(module, question)), 1)
    return parse(text, kind="spans")


@cache
def lists_of(qtype: str, arguments: int = 0) -> Lists:
    """Return the lists of a question type in the released file, with nodes.

    Args:
        qtype: Name of a question type, as in `program_of`.
        arguments: Number of arguments that the program was made with; see `yeardiff_find2_qtype`.

    Returns:
        Name of each list and its nodes, in the file's order.

    Raises:
        AnalysisError: The type is unknown.
    """
    return _find_question_type(qtype, arguments).lists


def _find_question_type(qtype: str, arguments: int) -> QuestionType:
    if qtype not in QUESTION_TYPES:
        raise AnalysisError(f"“{qtype}” is none of the {len(QUESTION_TYPES)} question types known")
    if qtype == "yeardiff_find2_qtype" and not arguments:
        return _TWO_AS_ONE
    return QUESTION_TYPES[qtype]


def _find_direction(module: str, question: str) -> str:
    directions = {word: name for name, words in _DIRECTIONS[module].items() for word in words.split()}
    for word in re.findall(r"[a-z]+", question.lower()):
        if word in directions:
            return directions[word]
    wanted = " nor ".join(_DIRECTIONS[module])
    raise AnalysisError(f"the question “{question}” says neither {wanted}")
