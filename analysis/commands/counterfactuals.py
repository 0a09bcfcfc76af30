"""The commands ``counterfactuals`` and ``reviews``: drafts and agreement."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

import numpy as np
from cyclopts import Parameter
from pydantic import BaseModel, Field

from ..counterfactuals.comparison import Distribution
from ..counterfactuals.drafts import STEPS, Step, draft
from ..counterfactuals.instances import Extent, instances_text, read_instances
from ..counterfactuals.resolvers import list_texts as texts_of
from ..counterfactuals.resolvers import read_resolutions
from ..counterfactuals.reviews import as_json
from ..io.command_line import always_json
from ..io.errors import InputError
from ..io.whole_files import format_json_lines, parse_model, read_json, write_text
from .options import Count, print_json

WHOLE: Literal["whole"] = "whole"
Context: TypeAlias = Literal["facts", "paragraphs", "whole"]


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


@always_json
def write_counterfactuals(
    data: Path,
    /,
    *,
    out: Path,
    reasoning: Annotated[Sequence[Step], Parameter(consume_multiple=True)] = STEPS,
    distribution: Annotated[Sequence[Distribution], Parameter(consume_multiple=True)] = ("in", "out"),
    context: Annotated[Sequence[Context], Parameter(consume_multiple=True)] = ("facts", "paragraphs"),
    near_synonyms: bool = False,
    clusters: Path | None = None,
    texts: Path | None = None,
) -> None:
    """Draft counterfactual questions with the parts that decide the answer.

    Args:
        data: Questions in the form of HotpotQA or SQuAD (JSON).
        out: File for the drafts, one JSON instance a line.
        reasoning: Reasoning steps to draft for.
        distribution: New words from within or outside the training distribution.
        context: Part of the context to keep; without supporting facts it is always the whole.
        near_synonyms: Also draft the listed swaps that hardly change the meaning.
        clusters: Coreference clusters that fastcoref, maverick or spaCy wrote; by rule without.
        texts: Write the contexts for such a resolver here, one a line with its id.
    """
    questions = list(read_questions(data))
    extents: list[Extent] = ["" if part == WHOLE else part for part in context]
    if texts is not None:
        write_text(texts, format_json_lines(texts_of(questions, extents)))
    drafts = draft(
        questions,
        steps=reasoning,
        distributions=distribution,
        extents=extents,
        near_synonyms=near_synonyms,
        resolutions=None if clusters is None else read_resolutions(clusters),
    )
    if not drafts.instances:
        reasons: Counter[str] = Counter()
        for (_step, _extent, reason), n in drafts.skipped.items():
            reasons[reason] += n
        why = "; ".join(f"{reason} ({n})" for reason, n in reasons.most_common())
        raise InputError(data, f"no question gives an instance: {why or 'it has none'}")
    write_text(out, instances_text(drafts.instances))
    counts = Counter((item.step, item.extent, item.distribution) for item in drafts.instances)
    result = {
        "questions": len(questions),
        "instances": [
            {"step": step, "context": extent or WHOLE, "distribution": words, "n": n}
            for (step, extent, words), n in counts.items()
        ],
        "skipped": [
            {"step": step, "context": extent or WHOLE, "reason": reason, "n": n}
            for (step, extent, reason), n in drafts.skipped.items()
        ],
    }
    print_json(result)


@always_json
def print_reviews(instances: Path, /, *, seed: Count = 1) -> None:
    """Print the inter-annotator agreement on checked counterfactuals.

    Args:
        instances: Checked instances as export_gold writes them (JSON lines).
        seed: Seed of the bootstrap.
    """
    print_json(as_json(read_instances(instances), rng=np.random.default_rng(seed)))


def read_questions(path: Path) -> Iterator[dict[str, Any]]:
    """Read questions in the form of HotpotQA or SQuAD (also Quoref).

    A SQuAD question with several answers counts if all are spelt alike; an answer of several parts has no
    single counterfactual, so the others are left out.

    Raises:
        InputError: An entry has a wrong form; the message names file, entry and field.
    """
    content = read_json(path)
    if isinstance(content, list):
        for number, entry in enumerate(content, 1):
            parsed = parse_model(_Question, entry, path, where=f"entry {number}")
            yield parsed.model_dump(by_alias=True, exclude_none=True)
        return
    for article in parse_model(_Squad, content, path).data:
        for paragraph in article.paragraphs:
            for asked in paragraph.qas:
                if len({answer.text for answer in asked.answers}) == 1:
                    yield {
                        "_id": asked.id,
                        "question": asked.question,
                        "answer": asked.answers[0].text,
                        "context": [[article.title, [paragraph.context]]],
                    }
