"""Read and write DROP: questions about passages (Dua et al. 2019).

The released outputs of modules (Subramanian et al. 2020) have the same form with more keys. There a token's
characters index ``cleaned_passage``, which is the passage here; `module_outputs` reads the spans.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from analysis.programs.drop import Passage
from annotation.content.schemas import ItemRecord
from annotation.formats.checks import check_record, parse_program_text
from annotation.formats.drop.module_outputs import Lists, Question
from annotation.formats.source import Source
from annotation.formats.texts import Tokens, tokenize
from annotation.formats.writing import write_file
from foundation.imports.findings import Findings
from foundation.imports.import_fields import Text
from foundation.imports.json_stream import read_members
from foundation.messages import field_error

NAME = "drop"  # the part of `extra` for a lossless round trip


class _Passage(Passage):
    passage: Text


def read_drop(source: Source, programs: Mapping[str, str] | None = None) -> Iterator[ItemRecord]:
    """Yield an item for each question, with outputs of modules as gold.

    Only one passage is in memory at a time, and the IDs. ``programs`` has nested texts by ``query_id``, for
    questions without a type.

    Raises:
        BadFile: Names line, passage and field.
    """
    path, findings = source.path, source.findings
    for identifier, element in read_members(path, on_progress=source.on_progress):
        try:
            passage = _Passage.model_validate(element.value)
            tokens = _read_tokens(passage)
        except ValueError as error:
            findings.refuse(error, path, element=element, entry=identifier)
            continue
        rest = {**element.value, "qa_pairs": []}  # the position among the keys, to write them in their order
        for number, pair in enumerate(passage.qa_pairs):
            within = f"qa_pairs[{number}]"
            try:
                record = _build_record(passage, tokens, pair, programs or {}, findings)
                line = element.line_of(["qa_pairs", number])
                findings.note_entry(record.external_id, path, line=line, field="query_id")
            except ValueError as error:
                findings.refuse(error, path, element=element, entry=identifier, within=within)
                continue
            extra = {"passage_id": identifier, "passage": rest, "pair": pair}
            yield record.model_copy(update={"extra": {NAME: extra}})


def _read_tokens(passage: _Passage) -> Tokens:
    """Return the tokens of the released file, or else ours."""
    if not passage.tokenized_passage:
        return tokenize(passage.passage)
    words, starts = passage.tokenized_passage.split(" "), passage.passage_charidxs
    if len(words) != len(starts):
        raise field_error(
            "passage_charidxs",
            "has %(number)s places for %(number2)s tokens",
            number=len(starts),
            number2=len(words),
        )
    for word, start in zip(words, starts, strict=True):
        if passage.cleaned_passage[start : start + len(word)] != word:
            raise field_error(
                "passage_charidxs", "no token %(word)r stands at %(start)s", word=word, start=start
            )
    return tuple((start, start + len(word)) for word, start in zip(words, starts, strict=True))


def _build_record(
    passage: _Passage,
    tokens: Tokens,
    pair: Mapping[str, Any],
    programs: Mapping[str, str],
    findings: Findings,
) -> ItemRecord:
    question = Question.model_validate(pair)
    text = passage.cleaned_passage or passage.passage
    given_text = programs.get(question.query_id, "")
    program = parse_program_text(given_text, "spans") if given_text else question.program()
    gold = None
    if question.module_output_annotations is not None:
        if program is None:
            raise field_error("qtype", "is missing, and the lists of spans need it")
        gold = Lists(question, program, text, tokens, findings).document()
    return check_record(
        ItemRecord(
            external_id=question.query_id,
            kind="spans",
            program="" if program is None else str(program),
            text=question.question,
            passage=text,
            tokens=tuple(tokens),
            answer=question.answer.value(),
            gold=gold,
        )
    )


def write_drop(records: Iterable[ItemRecord], path: Path) -> None:
    """Write items that were read from a DROP file as that file.

    Questions come under their passages in the order of the records. Unchanged data are written as they
    were, so an untouched file is equal byte for byte. All is held in memory.

    Raises:
        ValueError: The item has another format, or gold that its lists cannot hold.
    """
    passages: dict[str, dict[str, Any]] = {}
    for record in records:
        kept = record.extra.get(NAME)
        if kept is None:
            raise field_error(record.external_id, "was not read from a DROP file")
        passage = passages.setdefault(kept["passage_id"], {**kept["passage"], "qa_pairs": []})
        passage["qa_pairs"].append(_build_pair(record, kept["pair"]))
    with write_file(path) as file:
        file.write(json.dumps(passages).encode())


def _build_pair(record: ItemRecord, pair: dict[str, Any]) -> dict[str, Any]:
    """Return the question as it was read, with the lists of its gold."""
    question = Question.model_validate(pair)
    program = parse_program_text(record.program, "spans") if record.program else None
    if question.module_output_annotations is None:
        if record.gold is not None and record.gold.layers:
            raise field_error(record.external_id, "has gold, but no question type that names its lists")
        return pair
    if record.gold is None:
        return {key: value for key, value in pair.items() if key != "module_output_annotations"}
    if program is None or question.program() != program:
        raise field_error(
            record.external_id, "the program is not that of %(qtype)r any more", qtype=question.qtype
        )
    lists = Lists(question, program, record.passage, record.tokens, Findings())
    return {**pair, "module_output_annotations": lists.written(record.gold)}
