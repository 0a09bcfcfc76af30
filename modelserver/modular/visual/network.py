"""The modular network over an encoder: readings, learned modules, program.

Source: Subramanian et al. 2020 (N20), section 2.1, 4.3 and Table 3; LXMERT: Tan and Bansal 2019, as in
transformers. `find` and `filter` share their weights, as do the two modules with pairs of boxes, both as
in the released code. Scores become probabilities by a sigmoid.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import torch
import transformers
from torch import Tensor, nn

from modelserver.inputs.decoding import require_finite_logits
from modelserver.modular.visual.baseline import read_beside_images
from modelserver.modular.visual.bilinear import BilinearEncoder
from modelserver.modular.visual.counting import Counter, CountKind, Impossible
from modelserver.modular.visual.execution import Executor, Outputs, Partner, Place, Scene, Scores
from modelserver.modular.visual.plans import RELATED, SCORED, WORDED, Plan
from modelserver.modular.visual.regions import Sights
from modelserver.modular.visual.utterances import Span, Utterance

VisualSystem = Literal["visual-nmn", "lxmert"]
Positions = Literal["kept", "shifted"]
PAIR_PLACES = 8  # numbers that `pair_places` returns
LEAST_SIDE = 1e-3  # of a box, as a fraction; padding has none
Encoder: TypeAlias = (
    "transformers.LxmertModel | BilinearEncoder"  # quoted: to name a model imports seconds of code
)


@dataclass(frozen=True)
class Config:
    """A network's configuration apart from its encoder's.

    Attributes:
        decontextualised: A module reads its own words alone (N20 section 4.3).
        positions: Decontextualised words stay where they are in the sentence,
            whose other words are zeroed ("kept", as in the paper), or move to
            its front ("shifted").
        partner: The other box that a module with pairs looks at, see `Executor`.
        most: Boxes of an image that Graph-count looks at; None for all.
        impossible: Boxes of probability 0 in Graph-count: never copies of an
            object ("apart"), or of each other, as in the code that Zhang et al.
            released ("alike").
        pair_places: A module with pairs also sees where its two boxes lie to
            each other, which the paper's do not (`pair_places`).
    """

    system: VisualSystem = "visual-nmn"
    count: CountKind = "graph"
    decontextualised: bool = True
    partner: Partner = "best"
    most: int | None = 36
    positions: Positions = "kept"
    impossible: Impossible = "apart"
    pair_places: bool = False


@dataclass(frozen=True)
class Question:
    """An item without its images: a planned program and its modules' words."""

    plan: Plan
    utterance: Utterance


@dataclass(frozen=True)
class Forward:
    """One batch as executed. truth: [n], of programs that give one, else 0."""

    outputs: Outputs
    scores: Scores
    truth: Tensor


@dataclass(frozen=True)
class _Text:
    """A text to read; with `kept`, its words outside that span are zeroed."""

    text: str
    kept: Span | None = None


@dataclass(frozen=True)
class _Texts:
    """The distinct texts of each example to read beside its images.

    It also says which nodes read which text.
    """

    texts: list[_Text]
    examples: list[int]
    readers: dict[Place, tuple[int, Span]]  # an example's node: a text and the span of its words
    whole: list[int]  # of each example, the text whose regions Layer-count sees; empty if none does


class Places(nn.Module):
    """An MLP of how two boxes lie, times a vector of the words."""

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.places = nn.Sequential(nn.Linear(PAIR_PLACES, hidden), nn.GELU(), nn.Linear(hidden, hidden))
        self.words = nn.Linear(hidden, hidden)


class Relation(nn.Module):
    """MLP([x; v₁; v₂]) with a GELU, for pairs of boxes of an image.

    With ``places`` the vector of `Places` is added before the GELU.
    """

    def __init__(self, hidden: int, *, with_places: bool = False) -> None:
        super().__init__()
        self.places = Places(hidden) if with_places else None
        self.words, self.one, self.other = (nn.Linear(hidden, hidden, bias=i == 0) for i in range(3))
        self.out = nn.Linear(hidden, 1)

    def forward(self, words: Tensor, regions: Tensor, boxes: Tensor) -> LearnedPairs:
        """Return the scores of pairs, computed when they are asked for.

        Args:
            words: [n, images, hidden].
            regions: [n, images, m, hidden].
            boxes: [n, images, m, 4], which are read with `Places` alone.
        """
        first = self.words(words)[..., None, :] + self.one(regions)
        return LearnedPairs(first, self.other(regions), boxes, words, self)


@dataclass(frozen=True)
class LearnedPairs:
    """The two sides [rows, images, m, hidden] of a relation, and the rest."""

    first: Tensor
    other: Tensor
    boxes: Tensor
    words: Tensor
    relation: Relation

    def score_all(self, rows: list[int]) -> Tensor:
        """Return the score of each box with each other, [n, images, m, m]."""
        both = self.first[rows][..., :, None, :] + self.other[rows][..., None, :, :]
        if self.relation.places is not None:
            boxes = self.boxes[rows]
            words = self.relation.places.words(self.words[rows])[..., None, None, :]
            both = both + words * self._encode_positions(boxes[..., :, None, :], boxes[..., None, :, :])
        return self._scores(both)

    def score_chosen(self, rows: list[int], other: Tensor) -> Tensor:
        """Return the score of each box with its other one, [n, images, m]."""
        others = self.other[rows]
        both = self.first[rows] + _gather_rows(others, other)
        if self.relation.places is not None:
            boxes = self.boxes[rows]
            words = self.relation.places.words(self.words[rows])[..., None, :]
            both = both + words * self._encode_positions(boxes, _gather_rows(boxes, other))
        return self._scores(both)

    def _encode_positions(self, first: Tensor, second: Tensor) -> Tensor:
        assert self.relation.places is not None
        placed: Tensor = self.relation.places.places(relate_boxes(first, second))
        return placed

    def _scores(self, both: Tensor) -> Tensor:
        return torch.sigmoid(self.relation.out(nn.functional.gelu(both)).squeeze(-1))


def _gather_rows(values: Tensor, indices: Tensor) -> Tensor:
    """Return values [..., m, size] at indices [..., m]."""
    return values.gather(-2, indices[..., None].expand(*indices.shape, values.shape[-1]))


def relate_boxes(first: Tensor, second: Tensor) -> Tensor:
    """Return how boxes [..., 4] lie to others, [..., 8].

    The way from the other's centre to its own, across and down, as fractions of the image and of the mean
    of both sizes (at most 3); the share of each that lies in the other; logarithms of the ratios of widths
    and heights.
    """
    first, second = torch.broadcast_tensors(first, second)
    sizes = [(boxes[..., 2:] - boxes[..., :2]).clamp(min=LEAST_SIDE) for boxes in (first, second)]
    offset = (first[..., :2] + first[..., 2:] - second[..., :2] - second[..., 2:]) / 2
    scaled = (2 * offset / (sizes[0] + sizes[1])).clamp(-3, 3)
    edges = torch.minimum(first[..., 2:], second[..., 2:]) - torch.maximum(first[..., :2], second[..., :2])
    shared = edges.clamp(min=0).prod(dim=-1, keepdim=True)
    shares = [shared / size.prod(dim=-1, keepdim=True) for size in sizes]
    return torch.cat([offset, scaled, *shares, (sizes[0] / sizes[1]).log()], dim=-1)


class VisualNetwork(nn.Module):
    """`visual-nmn`: reads, scores and executes a batch."""

    def __init__(
        self,
        config: Config,
        encoder: Encoder,
        tokenizer: transformers.PreTrainedTokenizerBase,
    ) -> None:
        super().__init__()
        hidden = encoder.config.hidden_size
        self.config, self.encoder, self.tokenizer = config, encoder, tokenizer
        self.by_words, self.by_region = nn.Linear(hidden, 1), nn.Linear(hidden, 1, bias=False)  # W₁, b₁
        self.relation = Relation(hidden, with_places=config.pair_places)
        self.project_words = nn.Parameter(torch.zeros(hidden))  # W₂
        self.counter = Counter(config.count, hidden, most=config.most, impossible=config.impossible)

    def forward(self, questions: Sequence[Question], sights: Sights) -> Forward:
        """Execute the programs of a batch on its images.

        Raises PredictionFailed for scores that are not finite, except in training.
        """
        texts = self._texts(questions)
        words, regions = self._read(texts, sights)  # x and v of every reader, and of Layer-count
        readers = list(texts.readers)
        modules = [questions[example].plan.program.nodes[node].module for example, node in readers]
        scored = [row for row, module in enumerate(modules) if module in SCORED]
        related = [row for row, module in enumerate(modules) if module in RELATED]
        projects = [modules[row] == "project" for row in related]
        boxes = sights.boxes[[readers[row][0] for row in related]]
        pairs = self._pairs(words[related], regions[related], boxes, projects)
        scores = Scores(
            score=self._score(words[scored], regions[scored]),
            score_row={readers[row]: number for number, row in enumerate(scored)},
            pair=pairs,
            pair_row={readers[row]: number for number, row in enumerate(related)},
        )
        if not self.training:
            sides = pairs.first, pairs.other, self.relation.out.weight
            require_finite_logits(
                *(tensor.detach().float().cpu().numpy() for tensor in (scores.score, *sides))
            )
        whole = regions[len(readers) :] if texts.whole else sights.features.new_zeros(len(questions), 1)
        scene = Scene(sights.present, sights.boxes, whole)
        plans = [question.plan for question in questions]
        outputs = Executor(plans, scores, scene, self.counter, self.config.partner).run()
        return Forward(outputs, scores, _gather_truths(plans, outputs))

    def _texts(self, questions: Sequence[Question]) -> _Texts:
        texts: list[_Text] = []
        examples: list[int] = []
        readers: dict[Place, tuple[int, Span]] = {}
        whole: list[int] = []
        for example, question in enumerate(questions):
            rows: dict[_Text, int] = {}

            def read(text: _Text, rows: dict[_Text, int] = rows, example: int = example) -> int:
                if text not in rows:
                    rows[text] = len(texts)
                    texts.append(text)
                    examples.append(example)
                return rows[text]

            utterance = question.utterance
            for node in question.plan.nodes(WORDED):
                text, span = self._text(utterance, utterance.spans[node])
                readers[example, node] = (read(text), span)
            if self.config.count == "layer":
                whole.append(read(_Text(utterance.text)))
        return _Texts(texts, examples, readers, whole)

    def _text(self, utterance: Utterance, span: Span) -> tuple[_Text, Span]:
        """Return the text that a node reads, and the span of its words there."""
        if not self.config.decontextualised:
            return _Text(utterance.text), span
        if self.config.positions == "kept":
            return _Text(utterance.text, span), span
        words = utterance.text[slice(*span)].lower()
        return _Text(words), (0, len(words))

    def _read(self, texts: _Texts, sights: Sights) -> tuple[Tensor, Tensor]:
        """Return the readings of words, x, and of regions, v.

        x is [readers, images, hidden], v is [readers + whole, images, m, hidden].
        """
        if not texts.texts:  # programs of bare numbers
            hidden, (_, images, m) = self.encoder.config.hidden_size, sights.present.shape
            nothing = sights.features.new_zeros
            return nothing(0, images, hidden), nothing(0, images, m, hidden)
        distinct = {text.text: None for text in texts.texts}  # texts may keep different spans of a sentence
        row_of = {text: row for row, text in enumerate(distinct)}
        tokens = self.tokenizer([*distinct], padding=True, return_tensors="pt", return_offsets_mapping=True)
        sentences = [row_of[text.text] for text in texts.texts]
        offsets = tokens["offset_mapping"][sentences]
        kept = _find_read_tokens(offsets, [text.kept for text in texts.texts])
        # Zeroed words are masked too, because attention would spread over their zeros.
        ids = tokens["input_ids"][sentences].masked_fill(~kept, self.tokenizer.pad_token_id)
        mask = tokens["attention_mask"][sentences] * kept
        language, vision = encode(self.encoder, ids, mask, sights, texts.examples)
        rows = [row for row, _ in texts.readers.values()]
        attention = _spread_attention(offsets[rows], [span for _, span in texts.readers.values()])
        words = torch.einsum("nt,nith->nih", attention.to(language), language[rows])
        return words, vision[rows + texts.whole]

    def _score(self, words: Tensor, regions: Tensor) -> Tensor:
        """Return σ(W₁ᵀ[x; v] + b₁): [rows, images, m]."""
        return torch.sigmoid(self.by_words(words) + self.by_region(regions).squeeze(-1))

    def _pairs(self, words: Tensor, regions: Tensor, boxes: Tensor, projects: list[bool]) -> LearnedPairs:
        """Return the relation of each row's pairs; `project` has words of its own."""
        chosen = torch.tensor(projects, device=words.device, dtype=torch.bool)[:, None, None]
        pairs: LearnedPairs = self.relation(torch.where(chosen, self.project_words, words), regions, boxes)
        return pairs


def encode(
    encoder: Encoder, ids: Tensor, mask: Tensor, sights: Sights, examples: list[int]
) -> tuple[Tensor, Tensor]:
    """Read texts [n, t] beside both images of their examples.

    Returns language [n, images, t, hidden] and vision [n, images, m, hidden].
    """
    if isinstance(encoder, BilinearEncoder):
        return encoder(ids, mask, sights, examples)
    rows = Sights(sights.boxes[examples], sights.features[examples], sights.present[examples])
    seen = read_beside_images(encoder, ids, mask, rows)
    pairs = (-1, sights.boxes.shape[1])
    return seen.language_output.unflatten(0, pairs), seen.vision_output.unflatten(0, pairs)


def _find_span_tokens(offsets: Tensor, spans: Sequence[Span]) -> Tensor:
    """Return the tokens [n, t] of each text's span; no special token is one.

    Offsets are [n, t, 2].
    """
    first, last = torch.tensor(spans).reshape(-1, 2, 1).unbind(dim=1)
    begins, ends = offsets.unbind(dim=-1)
    return (begins < last) & (ends > first) & (ends > begins)


def _find_read_tokens(offsets: Tensor, spans: Sequence[Span | None]) -> Tensor:
    """Return the tokens [n, t] that are read: all, or the first and a span's.

    The first is [CLS]. The last, [SEP], is zeroed, because its place tells the length of the sentence.
    """
    whole = torch.tensor([span is None for span in spans])[:, None]
    is_first = torch.arange(offsets.shape[1]) == 0
    return whole | is_first | _find_span_tokens(offsets, [span or (0, 0) for span in spans])


def _spread_attention(offsets: Tensor, spans: Sequence[Span]) -> Tensor:
    """Return equal attention to the tokens of each span, 0 to others, [n, t]."""
    weights = _find_span_tokens(offsets, spans).float()
    return weights / weights.sum(dim=-1, keepdim=True).clamp(min=1)


def _gather_truths(plans: Sequence[Plan], outputs: Outputs) -> Tensor:
    """Return the truth of each program, [n]; 0 for one that gives none."""
    last = [(example, len(plan.jobs) - 1) for example, plan in enumerate(plans)]
    rows = [
        outputs.row[key] if plan.program.type == "truth" else -1
        for key, plan in zip(last, plans, strict=True)
    ]
    padded = torch.cat([outputs.truth, outputs.truth.new_zeros(1)])
    return padded[rows]
