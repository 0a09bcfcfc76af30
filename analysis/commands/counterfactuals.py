"""`python -m analysis counterfactuals` and `reviews`: drafts of instances, and how people agree on them."""

import argparse
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel, Field, ValidationError

from ..counterfactuals.drafts import STEPS, draft
from ..counterfactuals.instances import Extent, instances_text, read_instances
from ..counterfactuals.reviews import as_json
from ..io.errors import InputError, first_problem
from ..io.tabular_files import read_json
from ..report.page import write_text

WHOLE = "whole"


class _Question(BaseModel):
    """The keys of the HotpotQA form that matter here."""

    id: str = Field(alias="_id", min_length=1)
    question: str = Field(min_length=1)
    answer: str
    context: list[tuple[str, list[str]]]
    supporting_facts: list[tuple[str, int]] | None = None
    type: str | None = None


class _Answer(BaseModel):
    text: str


class _Asked(BaseModel):
    id: str = Field(min_length=1)
    question: str = Field(min_length=1)
    answers: list[_Answer]


class _Paragraph(BaseModel):
    context: str
    qas: list[_Asked]


class _Article(BaseModel):
    title: str = ""
    paragraphs: list[_Paragraph]


class _Squad(BaseModel):
    data: list[_Article]


def add_command(
    commands: "argparse._SubParsersAction[argparse.ArgumentParser]",
    command: Callable[[argparse.Namespace], None],
) -> None:
    """Adds both. command: runs either; it finds a function from the options to result and notes."""
    parser = commands.add_parser("counterfactuals", help="draft counterfactual questions and their parts")
    parser.add_argument("data", type=Path, metavar="DATA.json", help="in the form of HotpotQA or SQuAD")
    parser.add_argument("--out", type=Path, required=True, metavar="INSTANCES.jsonl", help="one a line")
    parser.add_argument("--reasoning", nargs="+", choices=STEPS, default=list(STEPS), help="(default: both)")
    parser.add_argument(
        "--distribution", nargs="+", choices=["in", "out"], default=["in", "out"], help="(default: both)"
    )
    parser.add_argument(
        "--context", nargs="+", choices=["facts", "paragraphs", WHOLE], default=["facts", "paragraphs"],
        help="what is left of it; without supporting facts always the whole (default: facts paragraphs)",
    )  # fmt: skip
    parser.set_defaults(command=command, result=counterfactuals_result)
    parser = commands.add_parser("reviews", help="agreement between people who checked counterfactuals")
    parser.add_argument("instances", type=Path, metavar="CHECKED.jsonl", help="as export_gold writes them")
    parser.add_argument("--seed", type=int, default=1, help="seed of the bootstrap (default 1)")
    parser.set_defaults(command=command, result=reviews_result)


def counterfactuals_result(options: argparse.Namespace) -> tuple[dict[str, Any], list[str]]:
    """Counts of drafts and of questions without one, by reason; writes the drafts."""
    questions = list(read_questions(options.data))
    extents: list[Extent] = ["" if one == WHOLE else one for one in options.context]
    found = draft(questions, steps=options.reasoning, distributions=options.distribution, extents=extents)
    if not found.instances:
        raise InputError(options.data, "no question gives an instance")
    write_text(options.out, instances_text(found.instances))
    made = Counter((one.step, one.extent, one.distribution) for one in found.instances)
    return {
        "questions": len(questions),
        "instances": [
            {"step": step, "context": extent or WHOLE, "distribution": distribution, "n": n}
            for (step, extent, distribution), n in made.items()
        ],
        "skipped": [
            {"step": step, "context": extent or WHOLE, "reason": reason, "n": n}
            for (step, extent, reason), n in found.skipped.items()
        ],
    }, []


def reviews_result(options: argparse.Namespace) -> tuple[dict[str, Any], list[str]]:
    """Agreement on the verdicts of a file of instances."""
    return as_json(read_instances(options.instances), rng=np.random.default_rng(options.seed)), []


def read_questions(path: Path) -> Iterator[dict[str, Any]]:
    """Questions in the HotpotQA form from a file of that form or of SQuAD's, which Quoref has too.

    Of several answers the first counts where all are spelt alike, for an answer of several parts has no
    single counterfactual; the others are left out. Raises InputError, naming file, entry and field.
    """
    content = read_json(path)
    if isinstance(content, list):
        for number, entry in enumerate(content, 1):
            try:
                found = _Question.model_validate(entry)
            except ValidationError as error:
                field, problem = first_problem(error)
                raise InputError(path, problem, where=f"entry {number}", field=field) from None
            yield found.model_dump(by_alias=True, exclude_none=True)
        return
    try:
        squad = _Squad.model_validate(content)
    except ValidationError as error:
        field, problem = first_problem(error)
        raise InputError(path, problem, field=field) from None
    for article in squad.data:
        for paragraph in article.paragraphs:
            for asked in paragraph.qas:
                if len({answer.text for answer in asked.answers}) == 1:
                    yield {
                        "_id": asked.id,
                        "question": asked.question,
                        "answer": asked.answers[0].text,
                        "context": [[article.title, [paragraph.context]]],
                    }
