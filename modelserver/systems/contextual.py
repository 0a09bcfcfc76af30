"""A Hugging Face encoder in place of word vectors for recurrent readers.

The encoder splits text into tokens of its own, called pieces here. A word's vector is that of the first
piece that touches it, with the marks that every word has. An article is read behind the question and
apart from the other articles, as the recurrent layers read it, and a long one in overlapping windows.
The words of the question are read without any article, so that they carry nothing from one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
import transformers
from tokenizers import Tokenizer
from torch import Tensor, nn

from modelserver.inputs.decoding import Bools
from modelserver.inputs.encoders import find_longest_window, open_tokenizer, open_untrained, stage_files
from modelserver.inputs.features import Features, Ints, tokenise
from modelserver.inputs.packing import WINDOW_LIMITS, plan_batches
from modelserver.inputs.windows import Encoded, Window, WindowSettings
from modelserver.systems.batches import Batch
from modelserver.systems.extractive import make_window_reader
from modelserver.systems.recurrent import Config, Embedder
from modelserver.wire.schema import QAItem

NO_PIECE = -1  # in the place of the first piece of a word that has none
FOLDER = "encoder"  # in a folder of weights: the encoder's configuration and tokenizer


@dataclass(frozen=True)
class PieceFeatures(Features):
    """One item as numbers, with its pieces: S of the context."""

    encoded: Encoded
    question_first: Ints  # [M] the first piece of each word of the question, NO_PIECE for a word without one
    first: Ints  # [K] the same of the context


class Taken(NamedTuple):
    """Pieces ``start`` to ``end`` (exclusive) whose vectors a window gives.

    They are counted from the first piece of the window's context, or of its question if it has no
    context.
    """

    window: Window
    start: int
    end: int


class Contextual(Embedder):
    """Words as an encoder sees them in their article."""

    def __init__(
        self,
        encoder: transformers.PreTrainedModel,
        tokenizer: transformers.PreTrainedTokenizerBase,
        config: Config,
    ) -> None:
        """Build the embedder.

        Raises ValueError for a tokenizer that cannot read a question and a text together.
        """
        super().__init__()
        self.encoder, self.tokenizer = encoder, tokenizer
        self.reader = make_window_reader(tokenizer, WindowSettings.of_at_most(config.window))
        self.dropout = nn.Dropout(config.dropout)
        self.size += int(encoder.config.hidden_size)

    def prepare(self, item: QAItem, features: Features) -> PieceFeatures:
        """Return the features of an item with its pieces."""
        encoded = self.reader.encode(item)
        words = [(0, 0, token.start, token.end) for token in tokenise(item.question)]
        asked = np.pad(encoded.asked, ((0, 0), (2, 0)))
        return PieceFeatures(
            **vars(features),
            encoded=encoded,
            question_first=find_first_pieces(np.array(words, dtype=np.int64).reshape(-1, 4), asked),
            first=find_first_pieces(features.places, encoded.places),
        )

    def cost(self, item: QAItem) -> int:
        """Return the pieces that the encoder reads, over all windows."""
        encoded = self.reader.encode(item)
        taken = [_select_question(encoded), *self._articles(encoded, np.ones(len(encoded), dtype=bool))]
        return sum(self.reader.length(pieces.window) for pieces in taken)

    def forward(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Return vectors of the question [N, M, size] and the context [K, size]."""
        asked, marks = super().forward(batch)
        features = _list_pieces(batch)
        vectors = self._encode([_select_question(f.encoded) for f in features])
        first, total = [], 0
        for numbers in features:
            row_of = np.append(total + np.arange(len(numbers.encoded.question)), NO_PIECE)
            first.append(row_of[numbers.question_first])
            total += len(numbers.encoded.question)
        question = asked.new_zeros(*asked.shape[:2], vectors.shape[1])  # [N, M, hidden]
        question[batch.question_mask] = look_up(vectors, np.concatenate(first))
        everything = [np.ones(len(f.first), dtype=bool) for f in features]
        rows = torch.cat([self._context(features, everything, whole=True), marks], -1)
        return self.dropout(torch.cat([question, asked], -1)), self.dropout(rows)

    def forget(self, batch: Batch, rows: Tensor, seen: Tensor) -> Tensor:
        """Read the context again without facts and titles that hold no seen word."""
        features = _list_pieces(batch)
        ends = np.cumsum([len(f.first) for f in features])[:-1]
        words = self._context(features, np.split(seen.cpu().numpy(), ends))
        marks = super().forward(batch)[1][seen]
        return self.dropout(torch.cat([words, marks], -1))

    def _context(
        self, features: Sequence[PieceFeatures], seen: Sequence[Bools], *, whole: bool = False
    ) -> Tensor:
        """Return the vectors of the seen words, [seen, hidden].

        They come from the pieces of their facts, or with ``whole`` of all facts.
        """
        taken: list[Taken] = []
        first: list[Ints] = []
        total = 0
        for numbers, words in zip(features, seen, strict=True):
            encoded = numbers.encoded
            kept = np.isin(encoded.fact, numbers.fact[words]) | whole  # [S]
            taken += self._articles(encoded, kept)
            row_of = np.append(total + np.cumsum(kept) - 1, NO_PIECE)  # [S + 1]: NO_PIECE points to itself
            first.append(row_of[numbers.first[words]])
            total += int(kept.sum())
        return look_up(self._encode(taken), np.concatenate(first))

    def _articles(self, encoded: Encoded, kept: Bools) -> list[Taken]:
        """Return all kept pieces of an item, in order and once each.

        Other pieces are in no window.
        """
        taken: list[Taken] = []
        for article in np.unique(encoded.article[kept]):
            rows = kept & (encoded.article == article)
            part = replace(
                encoded, ids=encoded.ids[rows], fact=encoded.fact[rows], places=encoded.places[rows]
            )
            taken += [Taken(*share) for share in self.reader.shares(part)]
        return taken

    def _encode(self, taken: Sequence[Taken]) -> Tensor:
        """Return the vectors of the pieces taken, in order, [pieces, hidden]."""
        device = next(self.encoder.parameters()).device
        ends = np.cumsum([0] + [pieces.end - pieces.start for pieces in taken])
        vectors = [torch.zeros(0, self.encoder.config.hidden_size, device=device)]
        order = [np.zeros(0, dtype=np.int64)]
        for positions in plan_batches([self.reader.length(pieces.window) for pieces in taken], WINDOW_LIMITS):
            inputs = self.reader.inputs([taken[position].window for position in positions], device)
            states = self.encoder(**inputs.tensors).last_hidden_state.float()  # [W, T, hidden]
            rows = []
            for row, position in enumerate(positions):
                window, start, end = taken[position]
                begin = inputs.offset[row] if window.end > window.start else inputs.asked
                rows.append(np.arange(start, end) + row * states.shape[1] + begin)
                order.append(np.arange(ends[position], ends[position + 1]))
            vectors.append(states.flatten(0, 1)[torch.from_numpy(np.concatenate(rows)).to(device)])
        back = torch.from_numpy(np.argsort(np.concatenate(order))).to(device)
        return torch.cat(vectors)[back]


def find_first_pieces(words: Ints, pieces: Ints) -> Ints:
    """Return the first piece that overlaps each word, or NO_PIECE.

    Both arguments are rows of the fields of Place, in the order of the text: [K, 4] and [S, 4] give [K].
    """
    if not len(words) or not len(pieces):
        return np.full(len(words), NO_PIECE)
    both = np.concatenate([words, pieces])
    sentences, longest = both[:, 1].max() + 2, both[:, 3].max() + 1
    text_of_word, text_of_piece = (x[:, 0] * sentences + x[:, 1] + 1 for x in (words, pieces))
    # The first piece that ends after the word begins, in the word's text or a later one.
    ends = text_of_piece * longest + pieces[:, 3]
    candidates = np.searchsorted(ends, text_of_word * longest + words[:, 2], side="right")
    piece = np.minimum(candidates, len(pieces) - 1)
    same_text = (text_of_piece[piece] == text_of_word) & (candidates < len(pieces))
    return np.where(same_text & (pieces[piece, 2] < words[:, 3]), piece, NO_PIECE)


def look_up(vectors: Tensor, rows: Ints) -> Tensor:
    """Return the rows of ``vectors``, and zeros where one is NO_PIECE."""
    index = torch.from_numpy(rows).to(vectors.device)
    return torch.cat([vectors, vectors.new_zeros(1, vectors.shape[1])])[index]


def _select_question(encoded: Encoded) -> Taken:
    """Return the question of an item alone."""
    return Taken(Window(encoded, 0, 0), 0, len(encoded.question))


def _list_pieces(batch: Batch) -> list[PieceFeatures]:
    features = [numbers for numbers in batch.features if isinstance(numbers, PieceFeatures)]
    assert len(features) == len(batch.features), "features that an encoder reads come from its `prepare`"
    return features


# --- the encoder itself -------------------------------------------------------------------------------


class Encoder(NamedTuple):
    """An encoder without any head, and its tokenizer."""

    model: transformers.PreTrainedModel
    tokenizer: transformers.PreTrainedTokenizerBase

    @property
    def window(self) -> int:
        """Return the number of pieces to read at once."""
        return WindowSettings.of_at_most(find_longest_window(self.model, self.tokenizer)).window

    def digest(self) -> str:
        """Return hex digits that change with weights, configuration and tokenizer."""
        cutting = Tokenizer.from_str(self.tokenizer.backend_tokenizer.to_str())
        cutting.no_truncation()  # which the last caller has left in it
        cutting.no_padding()
        total = hashlib.sha256(self.model.config.to_json_string().encode() + cutting.to_str().encode())
        for name, tensor in self.model.state_dict().items():
            total.update(name.encode() + tensor.detach().cpu().contiguous().numpy().tobytes())
        return total.hexdigest()


def save(folder: Path, encoder: Encoder) -> None:
    """Write the encoder's configuration and tokenizer, not the weights.

    Each file appears whole or not at all.
    """
    with stage_files(folder) as part:
        encoder.tokenizer.save_pretrained(part)
        encoder.model.config.save_pretrained(part)


def open_encoder(folder: Path, window: int) -> Encoder:
    """Return the encoder that a folder describes, with random weights.

    Raises UnreadableWeights, and ValueError for a window that the encoder cannot read at once.
    """
    encoder = Encoder(open_untrained(folder), open_tokenizer(folder))
    if window > encoder.window:
        raise ValueError(f"window is {window}, but the encoder reads {encoder.window} tokens at most")
    return encoder
