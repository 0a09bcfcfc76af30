"""Turn counterfactual instances and partitions into items to review.

The instances are those of `analysis.counterfactuals.instances`. The passage holds the question, the changed
question and the context, with new sentences in position. The program has one step for each thing to check,
and every annotation starts from the draft: words that should count, words that should not, the changed
words, and the new answer. People move the spans. The note of a step holds better words for a change, or an
answer outside the passage. An instance that cannot be repaired is marked as a wrong program.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from analysis.counterfactuals.instances import Instance, Verdict, Version, find_sentence_starts
from analysis.counterfactuals.partitions import find_words
from analysis.programs import parse
from annotation.content.schemas import Document, ItemRecord, Layer, Span
from annotation.formats.checks import DRAFT, check_record
from annotation.formats.jsonl import read_lines
from annotation.formats.source import Source
from annotation.formats.texts import Tokens, find_touched_tokens, tokenize
from annotation.formats.writing import write_file
from foundation.messages import extract_message, field_error, prefix_field, say, value_error

POSITIVE, NEGATIVE, CHANGE, ANSWER = (
    "words that ought to count", "words that ought not to count", "what was changed: better words as a note",
    "the right answer after the change",
)  # fmt: skip
STEPS = (POSITIVE, NEGATIVE, CHANGE, ANSWER)
PROGRAM = "addition(count(find[{}]), addition(count(find[{}]), addition(count(find[{}]), count(find[{}]))))"
OWN = "reasons"  # the part of `ItemRecord.extra` that holds the instance

Place = tuple[int, int]


class Part(NamedTuple):
    """A stretch of the passage, and the text of the instance it shows."""

    source: str  # "question", "counterfactual", "context", or "new <article>"
    start: int
    at: int
    size: int


class Shown(NamedTuple):
    """A passage and its parts, in order."""

    passage: str
    parts: tuple[Part, ...]

    def locate_in_passage(self, source: str, start: int, end: int) -> Place:
        """Return the position in the passage of a stretch of the instance."""
        part = next(
            part
            for part in self.parts
            if part.source == source and part.start <= start < part.start + part.size
        )
        return part.at + start - part.start, part.at + end - part.start

    def source(self, start: int, end: int) -> tuple[str, int, int]:
        """Return the text and the position that a stretch of the passage shows.

        Raises:
            ValueError: The stretch spans several texts.
        """
        number = bisect_right([part.at for part in self.parts], start) - 1
        part = self.parts[max(number, 0)]
        if not part.at <= start < end <= part.at + part.size:
            raise value_error(
                "%(passage)r goes beyond the text in which it begins", passage=self.passage[start:end]
            )
        return part.source, start - part.at + part.start, end - part.at + part.start


def list_step_nodes() -> tuple[int, ...]:
    """Return the index of each step in the program."""
    return tuple(node.index for node in parse(format_program(), kind="spans").nodes if node.module == "find")


def format_program() -> str:
    """Return the program of every item."""
    return PROGRAM.format(*STEPS)


def read_reasons(source: Source) -> Iterator[ItemRecord]:
    """Yield an item for each instance of a file.

    Raises:
        BadFile: Names file, line and field.
    """
    path, findings = source.path, source.findings
    for number, line in read_lines(path, empty=say("holds no instances")):
        name = ""
        try:
            instance = Instance.model_validate_json(line)
            name = instance.id
            findings.note_entry(name, path, line=number, field="id")
            record = check_record(build_item(instance))
        except ValueError as error:
            findings.refuse(error, path, line=number, entry=name)
        else:
            yield record


def build_item(instance: Instance) -> ItemRecord:
    """Return the item of an instance.

    Raises:
        ValueError: The contexts differ by more than new sentences.
    """
    shown = show(instance)
    tokens = tokenize(shown.passage)
    changed = _change(instance, shown)
    marked: tuple[Iterable[Place], ...] = (
        _join_adjacent_spans(instance.text, instance.positive, instance.where, shown),
        _join_adjacent_spans(instance.text, instance.negative, instance.where, shown),
        [changed] if changed else [],
        _find_new_answer(instance, shown, changed),
    )
    layers = {
        node: Layer(
            objects=tuple(_build_span(f"{node}.{n}", span, shown, tokens) for n, span in enumerate(spans))
        )
        for node, spans in zip(list_step_nodes(), marked, strict=True)
    }
    return ItemRecord(
        external_id=instance.id, kind="spans", program=format_program(),
        text=f"{instance.step}: {instance.original.question}", passage=shown.passage, tokens=tokens,
        extra={
            OWN: instance.model_dump(mode="json"),
            DRAFT: Document(layers=layers).model_dump(mode="json"),
        },
    )  # fmt: skip


def show(instance: Instance) -> Shown:
    """Return the passage of an instance.

    Raises:
        ValueError: As `build_item`.
    """
    text, parts = "", list[Part]()

    def add(heading: str, source: str, start: int, shown: str) -> None:
        """Append a heading and a text."""
        nonlocal text
        text += heading
        parts.append(Part(source, start, len(text), len(shown)))
        text += shown

    original, changed = instance.original, instance.counterfactual
    add("Question: ", "question", 0, original.question)
    if changed.question != original.question:
        add("\nChanged question: ", "counterfactual", 0, changed.question)
    offsets = find_sentence_starts(original.context)
    for number, (title, new) in enumerate(_find_new_sentences(original, changed)):
        sentences = original.context[number][1]
        add(f"\n\n{title}\n", "context", offsets.get((number, 0), 0), "".join(sentences))
        if new:
            add("", f"new {number}", 0, "".join(new))
    return Shown(text, tuple(part for part in parts if part.size))


def _find_new_sentences(original: Version, changed: Version) -> Iterator[tuple[str, Sequence[str]]]:
    """Yield title and new sentences of each article."""
    pairs = list(zip(original.context, changed.context, strict=False))
    if len(original.context) != len(changed.context):
        raise field_error("counterfactual", "the contexts have different articles")
    for (title, before), (other, after) in pairs:
        if title != other or after[: len(before)] != before:
            raise field_error(
                "counterfactual", "the article %(other)r differs by more than new sentences", other=other
            )
        yield title, after[len(before) :]


def _change(instance: Instance, shown: Shown) -> Place | None:
    """Return the changed words or new sentences, without outer white space."""
    before, after = instance.original.question, instance.counterfactual.question
    if before != after:
        head = next((n for n, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), len(before))
        most = min(len(before), len(after)) - head
        tail = next((n for n in range(most) if before[-1 - n] != after[-1 - n]), most)
        inside = [span for span in find_words(after) if span[0] < len(after) - tail and head < span[1]]
        start, end = (inside[0][0], inside[-1][1]) if inside else (head, max(head + 1, len(after) - tail))
        return shown.locate_in_passage("counterfactual", start, min(end, len(after)))
    for part in shown.parts:
        if part.source.startswith("new "):
            text = shown.passage[part.at : part.at + part.size]
            return part.at + len(text) - len(text.lstrip()), part.at + len(text.rstrip())
    return None


def _find_new_answer(instance: Instance, shown: Shown, changed: Place | None) -> list[Place]:
    """Return the first position of the new answer.

    The changed text comes first, then the question, then the rest.
    """
    answer = instance.counterfactual.answer
    if not answer:
        return []
    inserted = instance.counterfactual.question == instance.original.question
    begin = changed[0] if changed and inserted else 0
    at = shown.passage.find(answer, begin)
    return [(at, at + len(answer))] if at >= 0 and _is_inside_part(shown, at, at + len(answer)) else []


def _is_inside_part(shown: Shown, start: int, end: int) -> bool:
    return any(part.at <= start and end <= part.at + part.size for part in shown.parts)


def _join_adjacent_spans(text: str, spans: Sequence[Place], source: str, shown: Shown) -> list[Place]:
    """Return the spans in the passage, with adjacent words joined."""
    order = {span: number for number, span in enumerate(find_words(text))}
    runs: list[list[int]] = []
    before: Place | None = None
    for span in sorted(spans):
        start, end = shown.locate_in_passage(source, *span)
        near = before in order and order.get(span) == order[before] + 1
        if near and "\n" not in shown.passage[runs[-1][1] : start]:
            runs[-1][1] = end
        else:
            runs.append([start, end])
        before = span
    return [(start, end) for start, end in runs]


def _build_span(name: str, span: Place, shown: Shown, tokens: Tokens) -> Span:
    start, end = span
    return Span(
        id=f"d{name}",
        span=span,
        tokens=find_touched_tokens(start, end, tokens),
        quote=shown.passage[start:end],
    )


# --- writing -------------------------------------------------------------------------------------------


def write_reasons(records: Iterable[ItemRecord], path: Path) -> None:
    """Write each item's instance, with its gold if any, one a line.

    Raises:
        ValueError: The item is of another format, or its gold fits no text of the instance.
    """
    with write_file(path) as file:
        for record in records:
            file.write(f"{restore_instance(record).model_dump_json()}\n".encode())


def restore_instance(record: ItemRecord) -> Instance:
    """Return the instance with the item's gold and all submitted verdicts."""
    if OWN not in record.extra:
        raise field_error(record.external_id, "is not a counterfactual instance; it has another format")
    instance = Instance.model_validate_json(_dump_json(record.extra[OWN]))
    draft = Document.model_validate(record.extra[DRAFT])
    done = [annotation.document for annotation in record.annotations if annotation.submitted is not None]
    reviews: list[Verdict] = [derive_verdict(document, draft) for document in done]
    try:
        settled = instance if record.gold is None else _apply_gold(instance, record.gold, draft)
    except ValueError as error:
        raise ValueError(prefix_field(record.external_id, extract_message(error))) from error
    return settled.model_copy(update={"reviews": reviews})


def derive_verdict(document: Document, draft: Document) -> Verdict:
    """Return a person's verdict on an instance.

    It is valid if nothing changed, and rejected if the program is marked as wrong.
    """
    if document.problem is not None:
        return "rejected"
    return (
        "valid"
        if all(
            _read_spans_and_note(document, node) == _read_spans_and_note(draft, node)
            for node in list_step_nodes()
        )
        else "repaired"
    )


def _read_spans_and_note(document: Document, node: int) -> tuple[list[Place], str]:
    layer = document.layers.get(node, Layer())
    return sorted(shape.span for shape in layer.objects if isinstance(shape, Span)), layer.note.strip()


def _apply_gold(instance: Instance, gold: Document, draft: Document) -> Instance:
    judged = derive_verdict(gold, draft)
    if judged == "rejected":
        note = gold.problem.note if gold.problem else ""
        return _update_instance(instance, {"verdict": judged, "note": note})
    if judged == "valid":
        return _update_instance(instance, {"verdict": judged})
    shown = show(instance)
    node_of = dict(zip(STEPS, list_step_nodes(), strict=True))
    values: dict[str, object] = {"verdict": judged}
    for name, step in (("positive", POSITIVE), ("negative", NEGATIVE)):
        if _read_spans_and_note(gold, node_of[step])[0] != _read_spans_and_note(draft, node_of[step])[0]:
            values[name] = _find_covered_words(instance, shown, _read_spans_and_note(gold, node_of[step])[0])
    changed = instance.counterfactual
    spans, note = _read_spans_and_note(gold, node_of[CHANGE])
    if note:
        changed = _replace_marked_words(changed, instance.original, shown, spans, note)
    spans, note = _read_spans_and_note(gold, node_of[ANSWER])
    if note or spans != _read_spans_and_note(draft, node_of[ANSWER])[0]:
        if len(spans) > 1 and not note:
            raise value_error(
                "the new answer is marked in several places; leave one, or write it as the note"
            )
        answer = note or next((shown.passage[slice(*span)] for span in spans), None)
        changed = changed.model_copy(update={"answer": answer})
    return _update_instance(instance, {**values, "counterfactual": changed.model_dump(mode="json")})


def _update_instance(instance: Instance, values: dict[str, object]) -> Instance:
    return Instance.model_validate_json(_dump_json({**instance.model_dump(mode="json"), **values}))


def _find_covered_words(instance: Instance, shown: Shown, spans: Sequence[Place]) -> list[Place]:
    """Return the words of the instance's text under the spans."""
    covered: set[Place] = set()
    all_words = find_words(instance.text)
    for span in spans:
        source, start, end = shown.source(*span)
        if source != instance.where:
            raise value_error(
                "%(passage)r is not in the %(where)s, unlike the parts",
                passage=shown.passage[slice(*span)],
                where=instance.where,
            )
        covered.update(word for word in all_words if word[0] < end and start < word[1])
    return sorted(covered)


def _replace_marked_words(
    changed: Version, original: Version, shown: Shown, spans: Sequence[Place], note: str
) -> Version:
    """Return the counterfactual with the note in place of the marked stretch."""
    if len(spans) != 1:
        raise value_error("mark exactly one stretch, which the note then replaces")
    source, start, end = shown.source(*spans[0])
    if source == "counterfactual":
        question = changed.question[:start] + note + changed.question[end:]
        return changed.model_copy(update={"question": question})
    if not source.startswith("new "):
        raise value_error("the changed words are in the changed question or in the new sentences")
    number = int(source.removeprefix("new "))
    title, sentences = changed.context[number]
    kept = original.context[number][1]
    new = "".join(sentences[len(kept) :])
    context = list(changed.context)
    context[number] = (title, [*kept, new[:start] + note + new[end:]])
    return changed.model_copy(update={"context": context})


def _dump_json(value: object) -> str:
    return json.dumps(value)
