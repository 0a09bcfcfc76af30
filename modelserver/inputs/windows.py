"""Split long contexts into overlapping windows for an encoder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from tokenizers import Encoding, Tokenizer
from torch import Tensor

from modelserver.inputs.features import IN_TITLE, NO_FACT, Ints, Located, require_free_answer
from modelserver.wire.errors import InvalidRequest
from modelserver.wire.schema import Fact, QAItem

MAX_TOKENS = 20_000  # of a context; a bound on time, for memory is bounded by the windows that run together
CACHED_ITEMS = 256  # items whose tokens stay in memory between being checked, measured and predicted

# Question and context, in a form that can be a key.
Text = tuple[str, tuple[tuple[str, tuple[str, ...]], ...]]


@dataclass(frozen=True)
class WindowSettings:
    """Settings by which an encoder reads long texts in windows, and answers.

    All but ``threshold`` count its own tokens. ``window`` is the number of tokens read at once, question
    and special tokens included. Neighbouring windows share ``overlap`` tokens of the context, more than a
    span may have, so that every span lies whole in a window. A span ends at most ``longest`` tokens after
    its first. A sentence is a fact if its relevance exceeds ``threshold``.

    Raises ValueError if these contradict each other.
    """

    window: int = 384
    overlap: int = 128
    longest: int = 30
    threshold: float = 0.33

    def __post_init__(self) -> None:
        if not 0 < self.longest < self.overlap < self.window // 2:
            sizes = f"{self.longest}, {self.overlap}, {self.window}"
            raise ValueError(f"0 < longest < overlap < window / 2 must hold, not {sizes}")
        if not 0 <= self.threshold < 1:
            raise ValueError(f"threshold must lie in [0, 1), not {self.threshold}")

    @classmethod
    def of_at_most(cls, most: int, window: int | None = None) -> WindowSettings:
        """Return the default for ``window``, reduced to ``most`` tokens."""
        window = min(window or cls.window, most)
        return cls(window, overlap=window // 3, longest=min(cls.longest, window // 3 - 1))


@dataclass(frozen=True)
class Encoded(Located):
    """An item's tokens: M of the question, K of the context with F facts."""

    question: Ints  # [M]
    ids: Ints  # [K]
    fact: Ints
    facts: tuple[Fact, ...]
    places: Ints
    asked: Ints = field(default_factory=lambda: np.zeros((0, 2), dtype=np.int64))  # [M, 2] code points

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def solid(self) -> npt.NDArray[np.bool_]:
        """Return which tokens stand for text rather than white space, [K]."""
        return self.places[:, 3] > self.places[:, 2]


class Window(NamedTuple):
    """Context tokens ``start`` to ``end`` (exclusive), with the question."""

    encoded: Encoded
    start: int
    end: int


class Segment(NamedTuple):
    """Special tokens of every window, and the type of the text after them."""

    ids: tuple[int, ...]
    types: tuple[int, ...]
    follows: int


@dataclass(frozen=True)
class Inputs:
    """W windows as tensors, padded at the end to T tokens.

    A window's context begins at ``offset``.
    """

    tensors: dict[str, Tensor]  # each [W, T], by the names that the model takes
    offset: list[int]  # W
    asked: int = 0  # where the question begins in every window


class WindowReader:
    """Turns items into tokens and windows.

    Several threads may use one at once. Each title and each sentence is cut into tokens by itself, as
    the word after a space: no token lies across two, and offsets lead back into the sentence as it was
    given.
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        reading: WindowSettings,
        *,
        pad: int,
        names: Sequence[str],
        mask: int | None = None,
    ) -> None:
        """Set the inputs that the model takes and its padding and mask tokens.

        ``mask`` replaces any other token, if there is one.
        """
        # A copy: others may set truncation or padding on theirs, and it must not change while threads read.
        self._tokenizer = Tokenizer.from_str(tokenizer.to_str())
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._tokenizer.encode_special_tokens = True  # "[SEP]" in a text is text
        self.mask = mask
        self.reading, self._pad, self._names = reading, pad, frozenset(names)
        self._before, self._between, self._after = _find_segments(self._tokenizer)
        specials = len(self._before.ids) + len(self._between.ids) + len(self._after.ids)
        self._room = reading.window - specials
        self._encode = lru_cache(maxsize=CACHED_ITEMS)(self._encode_text)

    def encode(self, item: QAItem) -> Encoded:
        """Return the tokens of an item.

        Raises InvalidRequest for a question with labels, without words or of more than half a window, for
        no article, and for more than MAX_TOKENS tokens of context.
        """
        require_free_answer(item)
        if not item.context:
            raise InvalidRequest("at least one article is needed", field="context")
        encoded = self._encode((item.question, tuple((t, tuple(sentences)) for t, sentences in item.context)))
        asked, most = len(encoded.question), self._room - self.reading.window // 2
        if not asked or not item.question.strip():  # some have tokens for white space
            raise InvalidRequest("it contains no words", field="question")
        if asked > most:
            raise InvalidRequest(f"{asked} tokens; at most {most} are read", field="question")
        if len(encoded) > MAX_TOKENS:
            raise InvalidRequest(f"{len(encoded)} tokens; at most {MAX_TOKENS} are read", field="context")
        return encoded

    def windows(self, encoded: Encoded) -> list[Window]:
        """Return the windows of an item, in order; together they hold all tokens."""
        room = self._room - len(encoded.question)
        step = room - self.reading.overlap
        starts = range(0, max(len(encoded) - self.reading.overlap, min(1, len(encoded))), step)
        return [Window(encoded, start, min(start + room, len(encoded))) for start in starts]

    def shares(self, encoded: Encoded) -> list[tuple[Window, int, int]]:
        """Return the windows of an item, each with the tokens that it reads best.

        These count from the window's start, the last exclusive, and are all of the item's, once each: of
        two windows that overlap, each has the half that lies deeper in it.
        """
        windows = self.windows(encoded)
        inner = [window.start + self.reading.overlap // 2 for window in windows[1:]]
        ends = zip(windows, [0, *inner], [*inner, len(encoded)], strict=True)
        return [(window, start - window.start, end - window.start) for window, start, end in ends]

    def length(self, window: Window) -> int:
        """Return the tokens of a window, with the question and the special tokens."""
        specials = self.reading.window - self._room
        return specials + len(window.encoded.question) + window.end - window.start

    def inputs(self, windows: Sequence[Window], device: torch.device) -> Inputs:
        """Return windows as the tensors that the model takes."""
        lengths = [self.length(window) for window in windows]
        ids = np.full((len(windows), max(lengths)), self._pad, dtype=np.int64)
        types, mask = np.zeros_like(ids), np.zeros_like(ids)
        before, between, after = self._before, self._between, self._after
        for row, (encoded, start, end) in enumerate(windows):
            part = encoded.ids[start:end]
            filled = (before.ids, encoded.question, between.ids, part, after.ids)
            ids[row, : lengths[row]] = np.concatenate(filled)
            asked, read = [before.follows] * len(encoded.question), [between.follows] * len(part)
            types[row, : lengths[row]] = [*before.types, *asked, *between.types, *read, *after.types]
            mask[row, : lengths[row]] = 1
        named = {"input_ids": ids, "token_type_ids": types, "attention_mask": mask}
        tensors = {
            name: torch.from_numpy(array).to(device) for name, array in named.items() if name in self._names
        }
        fixed = len(before.ids) + len(between.ids)
        offsets = [fixed + len(window.encoded.question) for window in windows]
        return Inputs(tensors, offsets, len(before.ids))

    def _encode_text(self, text: Text) -> Encoded:
        question, context = text
        texts: list[str] = []
        wheres: list[tuple[int, int, int]] = []  # article, sentence, fact
        numbers: dict[Fact, int] = {}
        for article, (title, sentences) in enumerate(context):
            for index, part in enumerate((title, *sentences), start=IN_TITLE):
                is_fact = index != IN_TITLE
                number = numbers.setdefault((title, index), len(numbers)) if is_fact else NO_FACT
                texts.append(part)
                wheres.append((article, index, number))
        first, *parts = self._tokenizer.encode_batch(
            [question, *map(_prefix_space, texts)], add_special_tokens=False
        )
        ids, fact, rows = [], [], []
        for part, (article, sentence, number), encoding in zip(texts, wheres, parts, strict=True):
            ids += encoding.ids
            fact += [number] * len(encoding.ids)
            rows += [(article, sentence, *offsets) for offsets in _compute_offsets(part, encoding)]
        return Encoded(
            question=np.asarray(first.ids, dtype=np.int64),
            ids=np.asarray(ids, dtype=np.int64),
            fact=np.asarray(fact, dtype=np.int64),
            facts=tuple(numbers),
            places=np.asarray(rows, dtype=np.int64).reshape(-1, 4),
            asked=np.asarray(first.offsets, dtype=np.int64).reshape(-1, 2),
        )


def _find_segments(tokenizer: Tokenizer) -> tuple[Segment, Segment, Segment]:
    """Return the special tokens before, between and after two texts.

    They are read off a sample. Raises ValueError for a tokenizer that reorders or drops a text.
    """
    encoding = tokenizer.encode("1", "2")
    sides = encoding.sequence_ids
    if 0 not in sides or 1 not in sides:
        raise ValueError("the tokenizer does not take a question and a context together")
    first, second = sides.index(0), sides.index(1)
    end_first, end_second = len(sides) - sides[::-1].index(0), len(sides) - sides[::-1].index(1)
    if not end_first <= second:
        raise ValueError("the tokenizer puts the context before the question")
    cuts = ((0, first, first), (end_first, second, second), (end_second, len(sides), end_second - 1))
    return tuple(  # type: ignore[return-value]  # three cuts are three segments
        Segment(tuple(encoding.ids[a:b]), tuple(encoding.type_ids[a:b]), encoding.type_ids[follows])
        for a, b, follows in cuts
    )


def _prefix_space(text: str) -> str:
    """Return the text, with a space before it if it has none.

    Many tokenizers write a word differently if no space precedes it.
    """
    return text if not text or text[0].isspace() else f" {text}"


def _compute_offsets(text: str, encoding: Encoding) -> list[tuple[int, int]]:
    """Return the code points of each token in ``text``, stripped of spaces."""
    shift = 0 if text[:1].isspace() else 1
    offsets = []
    for start, end in encoding.offsets:
        first, last = max(0, start - shift), max(0, end - shift)
        while first < last and text[first].isspace():
            first += 1
        while first < last and text[last - 1].isspace():
            last -= 1
        offsets.append((first, last))
    return offsets
