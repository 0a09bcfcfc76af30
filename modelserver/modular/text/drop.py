"""Questions in the form of DROP, with programs for known question types.

Source: Dua et al. 2019. Files are one object of passages. If they hold the additions of Gupta et al.
2020 and of the released module outputs (Subramanian et al. 2020), their words and offsets, `qtype`,
attention to the question and lists of spans are used: spans count words, end exclusive.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pydantic import ValidationError

from analysis.io.errors import AnalysisError
from analysis.programs import Program, lists_of, program_of
from analysis.programs.drop import Answer, Passage, Question
from modelserver.inputs.data_files import read_json
from modelserver.modular.text.examples import Example, GoldList, build_answer
from modelserver.modular.text.reading import Place
from modelserver.wire.errors import UnreadableData
from modelserver.wire.schema import ModuleItem, format_first_problem
from modelserver.world.games.prose import tokenise


class _Pair(Question):
    validated_answers: list[Answer] = []


def read_drop(path: Path) -> list[Example]:
    """Read the questions that have an answer.

    A question of an unknown type, or one that does not say which way to compare, has no program. Raises
    UnreadableData, naming file, passage and field.
    """
    passages = read_json(path)
    if not isinstance(passages, dict):
        raise UnreadableData(f"{path}: expected an object of passages")
    examples = []
    for name, value in passages.items():
        try:
            examples += list(_parse_examples(Passage.model_validate(value)))
        except ValidationError as error:
            raise UnreadableData(f"{path}: {name}: {format_first_problem(error)}") from error
        except ValueError as error:
            raise UnreadableData(f"{path}: {name}: {error}") from error
    if not examples:
        raise UnreadableData(f"{path}: holds no question with an answer")
    return examples


def _parse_examples(passage: Passage) -> Iterator[Example]:
    text, tokens = _read_words(passage)
    for number, value in enumerate(passage.qa_pairs):
        try:
            pair = _Pair.model_validate(value)
            item = ModuleItem(id=pair.query_id, text=pair.question, passage=text, tokens=tokens)
        except ValidationError as error:
            raise ValueError(f"qa_pairs[{number}].{format_first_problem(error)}") from error
        texts, others = _list_texts(pair.answer), [_list_texts(answer) for answer in pair.validated_answers]
        if not texts:
            continue
        program = _build_program(pair)
        gold = () if program is None else _collect_gold(pair, len(tokens))
        also = tuple(dict.fromkeys(other for other in others if other and other != texts))
        yield Example(item, texts, build_answer(texts, item), also, program, gold)


def _read_words(passage: Passage) -> tuple[str, list[Place]]:
    """Return the passage and its words: those of the file, or by rule."""
    if not passage.tokenized_passage:
        return passage.passage, tokenise(passage.passage)
    written, starts = passage.tokenized_passage.split(" "), passage.passage_charidxs
    if len(written) != len(starts):
        raise ValueError(f"passage_charidxs: has {len(starts)} places for {len(written)} words")
    spans = [(start, start + len(word)) for word, start in zip(written, starts, strict=True)]
    return passage.cleaned_passage or passage.passage, spans


def _list_texts(given: Answer) -> tuple[str, ...]:
    """Return the texts of an answer, none if there is no answer."""
    if given.number != "":
        return (str(given.number),)
    return tuple(given.spans or filter(None, (str(given.date),)))


def _build_program(pair: _Pair) -> Program | None:
    try:
        return program_of(pair.qtype, pair.arguments(), question=pair.question)
    except AnalysisError:
        return None


def _collect_gold(pair: _Pair, words: int) -> tuple[GoldList, ...]:
    lists = lists_of(pair.qtype, len(pair.arguments()))
    if not pair.module_output_annotations:
        return ()
    if [name for name, _ in pair.module_output_annotations] != [name for name, _ in lists]:
        wanted = ", ".join(name for name, _ in lists)
        raise ValueError(f"{pair.query_id}: module_output_annotations: {pair.qtype} has the lists {wanted}")
    gold_lists = []
    for (name, nodes), (_, spans) in zip(lists, pair.module_output_annotations, strict=True):
        if any(not 0 <= start < end <= words for start, end in spans):
            raise ValueError(f"{pair.query_id}: module_output_annotations: {name}: not in the passage")
        if spans:
            gold_lists.append(GoldList(name, nodes, tuple(dict.fromkeys(spans))))
    return tuple(gold_lists)
