"""Coreference clusters from the output of a resolver.

Read are JSON lines, or one JSON list, of what three resolvers write for a
text: fastcoref (`output_file` of its `predict`), maverick (the dictionary that
its `predict` returns) and spaCy (`Doc.to_json()` of a pipeline with clusters).
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

from ..io.errors import InputError
from ..io.whole_files import parse_model, read_json, read_lines
from ..scores.hotpotqa import normalise_answer
from .contexts import reduce_question
from .instances import Extent, join_context
from .partitions import Span

Offset = Annotated[int, Field(ge=0)]
Cluster = tuple[Span, ...]
_SPACY = re.compile(r"coref_clusters_\d+")  # its heads, coref_head_clusters_1 …, are single words


class _Span(BaseModel):
    start: Offset
    end: Offset


class _Resolved(BaseModel):
    """A text with its clusters, in any of the three forms."""

    model_config = ConfigDict(extra="ignore")

    id: str | None = None
    text: str | None = None
    clusters: list[list[tuple[Offset, Offset]]] | None = None
    clusters_char_offsets: list[list[tuple[Offset, Offset]]] | None = None
    spans: dict[str, list[_Span]] | None = None

    @model_validator(mode="after")
    def _is_known(self) -> "_Resolved":
        if self.id is None and self.text is None:
            raise ValueError("needs the text, or the id of --texts")
        if self.clusters is None and self.clusters_char_offsets is None and self.spans is None:
            raise ValueError("has none of clusters, clusters_char_offsets and spans")
        for start, end in chain.from_iterable(self.to_clusters()):
            if start >= end:
                raise ValueError(f"has a mention that starts at {start} and ends at or before its start")
        return self

    def to_clusters(self) -> list[Cluster]:
        """Return the clusters as spans of code points, end exclusive."""
        if self.clusters_char_offsets is not None:  # maverick's ends are inclusive
            return [
                tuple((start, end + 1) for start, end in cluster) for cluster in self.clusters_char_offsets
            ]
        if self.clusters is not None:
            return [tuple(cluster) for cluster in self.clusters]
        named = (self.spans or {}).items()
        return [tuple((s.start, s.end) for s in spans) for name, spans in named if _SPACY.fullmatch(name)]


@dataclass
class Resolutions:
    """Clusters of texts, by the id of a text and by the text itself.

    Attributes:
        by_id: ID to the text that the resolver read, None if its output lacks it, and to its clusters.
        by_text: Text to its clusters.
    """

    by_id: dict[str, tuple[str | None, list[Cluster]]] = field(default_factory=dict)
    by_text: dict[str, list[Cluster]] = field(default_factory=dict)

    def find(self, id: str, text: str) -> list[Cluster] | None:
        """Return the clusters of a text.

        Clusters of another text do not count: its words differ, or a cluster lies beyond the text's end.

        Args:
            id: ID of the text.
            text: The text itself, which counts if its ID is unknown.

        Returns:
            Spans of each cluster in code points, end exclusive; None if the resolver did not read the text.
        """
        resolved_text, clusters = self.by_id.get(id, (text, self.by_text.get(text)))
        if resolved_text not in (None, text):
            return None
        if clusters is None or any(end > len(text) for cluster in clusters for _, end in cluster):
            return None
        return clusters


def read_resolutions(path: Path) -> Resolutions:
    """Read the output of a resolver.

    Args:
        path: JSON lines, or one JSON list, of fastcoref, maverick or spaCy.

    Returns:
        Clusters of every text.

    Raises:
        InputError: The file is missing or malformed; names file, line or entry, and field.
    """
    resolutions = Resolutions()
    for resolved in _read_entries(path):
        clusters = resolved.to_clusters()
        if resolved.id is not None:
            resolutions.by_id[resolved.id] = resolved.text, clusters
        if resolved.text is not None:
            resolutions.by_text[resolved.text] = clusters
    return resolutions


def _read_entries(path: Path) -> Iterator[_Resolved]:
    if path.suffix == ".json":
        content = read_json(path)
        if not isinstance(content, list):
            raise InputError(path, "is not a list of texts with clusters; for JSON lines end it in .jsonl")
        for number, entry in enumerate(content, 1):
            yield parse_model(_Resolved, entry, path, where=f"entry {number}")
        return
    yield from read_lines(
        path, lambda number, line: parse_model(_Resolved, line, path, where=f"line {number}"), what="text"
    )


def relevant_cluster(text: str, answer: str, clusters: Iterable[Cluster]) -> list[Span]:
    """Return the spans of the cluster that holds the answer.

    A mention that is the answer comes before one that has all its words or only some of them; among equals
    the largest cluster counts.

    Args:
        text: The resolved text.
        answer: Gold answer.
        clusters: Spans of each cluster in code points of the text, end exclusive.

    Returns:
        Its spans in order; empty if no cluster holds a word of the answer.

    Examples:
        >>> text = "Barack Obama was president. He was born in Hawaii."
        >>> relevant_cluster(text, "Barack Obama", [((0, 12), (28, 30))])
        [(0, 12), (28, 30)]
    """
    wanted = frozenset(normalise_answer(answer).split())
    ranked = [
        (max((_grade_mention(wanted, text[slice(*span)]) for span in cluster), default=0), cluster)
        for cluster in clusters
    ]
    best = max(ranked, key=lambda candidate: (candidate[0], len(candidate[1])), default=(0, ()))
    return sorted(best[1]) if best[0] else []


def _grade_mention(wanted: frozenset[str], mention: str) -> int:
    """Grade a mention.

    3: it is the answer, 2: it has all its words, 1: some of them, 0: others.
    """
    words = frozenset(normalise_answer(mention).split())
    if not words or not wanted:
        return 0
    if words == wanted:
        return 3
    # A long mention that happens to hold the answer is about something else.
    if wanted < words and len(words) <= 2 * len(wanted) + 2:
        return 2
    return 1 if words < wanted else 0


def format_text_id(question_id: str, extent: Extent) -> str:
    """Return the id of a question's context of some extent.

    Examples:
        >>> format_text_id("5a8b", "")
        '5a8b:whole'
    """
    return f"{question_id}:{extent or 'whole'}"


def list_texts(questions: Iterable[Mapping[str, Any]], extents: Sequence[Extent]) -> Iterator[dict[str, str]]:
    """Yield id and text of every context for a resolver to read.

    Contexts that hold no supporting fact are left out.
    """
    for question in questions:
        wanted: Sequence[Extent] = extents if question.get("supporting_facts") is not None else [""]
        for extent in wanted:
            try:
                shown = reduce_question(question, extent) if extent else question
            except ValueError:
                continue
            yield {"id": format_text_id(question["_id"], extent), "text": join_context(shown["context"])}
