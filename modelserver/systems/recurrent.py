"""The models of `qi2019` and `select-and-forget`: from numbers to logits.

Sources: Qi et al. 2019 (the BiDAF++ reader of "Answering Complex Open-domain Questions Through Iterative
Query Generation"), Clark and Gardner 2018 (BiDAF++), Schuff, Adel and Vu 2020 §3 (Select & Forget).
The order of this file is the order of computation. Sizes in the comments are those of `batches`, which makes
what goes in, and d = 2 * hidden.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812 - the name everyone uses

from modelserver.inputs.features import CHARACTERS, FORM_LENGTH, NO_FACT, NUMBER_FEATURES, UNKNOWN, Features
from modelserver.systems.batches import Batch, Context, Groups
from modelserver.wire.schema import AnswerType, QAItem

THRESHOLD = 0.33  # of the positive class, as in the released code of Schuff et al. 2020
ANSWER_TYPES: tuple[AnswerType, ...] = ("span", "yes", "no")
_NEVER = -1e30  # a logit whose probability is 0, finite so that an empty row stays a number


@dataclass(frozen=True)
class Config:
    """Sizes of a reader.

    ``system`` names its structure, with "-reg" after it if training is regularised. With
    ``vector_size``, words have fixed vectors beside the learned ones; the first ``learned_words`` of the
    vocabulary have both, the others fixed vectors alone. With ``window``, an encoder that reads at most
    so many of its own tokens at once replaces the word vectors, whose sizes then have no effect.
    """

    system: Literal["qi2019", "select-and-forget", "qi2019-reg", "select-and-forget-reg"]
    word_size: int = 48
    character_size: int = 12
    character_filters: int = 32
    hidden: int = 40
    dropout: float = 0.15
    threshold: float = THRESHOLD
    vector_size: int = 0
    learned_words: int = 0
    window: int = 0

    @property
    def structure(self) -> str:
        """Return the visibility of facts: ``qi2019`` or ``select-and-forget``."""
        return self.system.removesuffix("-reg")


# --- layers -------------------------------------------------------------------------------------------


class Embedder(nn.Module):
    """A layer that turns words into vectors of length ``size``.

    This base has none but the marks of each word.
    """

    size = 1 + NUMBER_FEATURES

    def prepare(self, item: QAItem, features: Features) -> Features:
        """Return the features of an item with what this looks at beside them.

        Raises InvalidRequest for an item that it cannot read.
        """
        return features

    def cost(self, item: QAItem) -> int:
        """Return the tokens that this reads beside the words.

        Raises InvalidRequest as `prepare` does.
        """
        return 0

    def forward(self, batch: Batch) -> tuple[Tensor, Tensor]:  # -> [N, M, size], [K, size]
        """Return vectors of the question [N, M, size] and the context [K, size]."""
        question = F.pad(batch.question_mask[..., None].float(), (0, NUMBER_FEATURES))  # all of it is asked
        return question, torch.cat([batch.asked[:, None].float(), batch.number], -1)

    def forget(self, batch: Batch, rows: Tensor, seen: Tensor) -> Tensor:  # [K, size] -> [seen, size]
        """Return vectors of the seen context words, as if there were no others.

        ``rows`` are those of all words, from the same batch.
        """
        return rows[seen]

    def embed_unknown(self, like: Tensor) -> Tensor:  # -> [size]
        """Return the vector of an unknown word, on the device of ``like``."""
        return like.new_zeros(self.size)


class Embedding(Embedder):
    """Words as vectors: a table, and a character CNN (Kim et al. 2016).

    The table holds known words; the CNN reads every spelling. Pretrained word vectors, if any, follow
    the learned ones and are not trained.
    """

    vectors: Tensor | None

    def __init__(self, config: Config, words: int) -> None:
        super().__init__()
        learned = config.learned_words + 2 if config.vector_size else words
        self.words = nn.Embedding(learned, config.word_size, padding_idx=0)
        self.register_buffer(
            "vectors", torch.zeros(words, config.vector_size) if config.vector_size else None
        )
        self.characters = nn.Embedding(CHARACTERS, config.character_size, padding_idx=0)
        self.convolution = nn.Conv1d(config.character_size, config.character_filters, 5, padding=2)
        self.dropout = nn.Dropout(config.dropout)
        self.size += config.word_size + config.vector_size + config.character_filters

    def forward(self, batch: Batch) -> tuple[Tensor, Tensor]:  # -> [N, M, size], [K, size]
        """Return vectors of the question [N, M, size] and the context [K, size]."""
        spelling = self._spell(batch.forms)  # [U, filters]: each distinct word only once
        asked, marks = super().forward(batch)
        question = torch.cat([self._look_up(batch.question_word), spelling[batch.question_form], asked], -1)
        context = torch.cat([self._look_up(batch.word), spelling[batch.form], marks], -1)
        return self.dropout(question), self.dropout(context)

    def embed_unknown(self, like: Tensor) -> Tensor:
        """Return the vector of an unknown word, [size]."""
        word = torch.full((1,), UNKNOWN, device=like.device)
        no_letters = torch.zeros(1, FORM_LENGTH, dtype=torch.long, device=like.device)
        marks = like.new_zeros(1, super().size)
        return torch.cat([self._look_up(word), self._spell(no_letters), marks], -1)[0]

    def _spell(self, forms: Tensor) -> Tensor:  # [U, FORM_LENGTH] -> [U, filters]
        characters = self.characters(forms).transpose(1, 2)  # [U, character_size, FORM_LENGTH]
        return F.relu(self.convolution(characters)).amax(2)

    def _look_up(self, words: Tensor) -> Tensor:
        if self.vectors is None:
            return self.words(words)
        learned = torch.where(words < self.words.num_embeddings, words, UNKNOWN)
        return torch.cat([self.words(learned), self.vectors[words]], -1)


class Recurrence(torch.autograd.Function):
    """c[t] = forget[t] * c[t-1] + update[t] in packed groups, c[-1] = 0.

    ``sizes`` are the rows of each step, which only fall: row i of a step follows row i of the step before.
    """

    @staticmethod
    def forward(ctx: Any, forget: Tensor, update: Tensor, sizes: tuple[int, ...]) -> Tensor:  # [K, d] each
        """Return c for all steps, [K, d]."""
        states = update.clone()
        steps, factors = states.split(sizes), forget.split(sizes)
        for t in range(1, len(sizes)):
            steps[t].addcmul_(factors[t], steps[t - 1][: sizes[t]])
        ctx.save_for_backward(forget, states)
        ctx.sizes = sizes
        return states

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, None]:
        """Return the gradients of the first two inputs, [K, d] each."""
        forget, states = ctx.saved_tensors
        sizes = ctx.sizes
        carried, to_forget = grad.clone(), torch.zeros_like(forget)
        steps, factors, before, out = (x.split(sizes) for x in (carried, forget, states, to_forget))
        for t in range(len(sizes) - 1, 0, -1):
            torch.mul(steps[t], before[t - 1][: sizes[t]], out=out[t])
            steps[t - 1][: sizes[t]].addcmul_(factors[t], steps[t])
        return to_forget, carried, None


def scan(forget: Tensor, update: Tensor, groups: Groups) -> Tensor:  # [S * C, d] each -> [S * C, d]
    """Return what `Recurrence` computes along each group, [S * C, d].

    All chunks go at once, each from 0, then the ends from chunk to chunk: about 3 √L steps for L rows. Each
    takes a CPU hardly longer than one of the L steps without chunks.
    """
    chunks, d = sum(groups.sizes), forget.shape[1]
    sizes = (chunks,) * groups.steps
    states = Recurrence.apply(forget, update, sizes)
    if len(groups.sizes) == 1:
        return states
    kept = Recurrence.apply(forget, F.pad(forget[:chunks], (0, 0, 0, len(forget) - chunks)), sizes)
    ends = Recurrence.apply(kept[-chunks:], states[-chunks:], groups.sizes)
    start = torch.cat([ends.new_zeros(groups.sizes[0], d), ends[groups.before]])  # [C, d]
    states, kept = states.view(groups.steps, chunks, d), kept.view(groups.steps, chunks, d)
    return torch.addcmul(states, kept, start).flatten(0, 1)


class BiSRU(nn.Module):
    """A recurrent layer in both directions over each group of rows by itself.

    The simple recurrent unit of Lei et al. 2018 without its peephole: its gates look at the input alone,
    so that all large products are done at once; on a CPU a step is several times faster than a GRU's.
    """

    def __init__(self, size: int, hidden: int, dropout: float) -> None:
        super().__init__()
        self.size = 2 * hidden
        self.dropout = dropout
        self.gates = nn.Linear(size, 3 * self.size)
        nn.init.constant_(self.gates.bias[self.size : 2 * self.size], 1.5)  # remember, to begin with
        self.highway = nn.Identity() if size == self.size else nn.Linear(size, self.size, bias=False)

    def forward(self, rows: Tensor, groups: Groups) -> Tensor:  # [K, size] -> [K, 2 * hidden]
        """Return states of both directions, [K, 2 * hidden]."""
        if not len(rows):
            return rows.new_zeros(0, self.size)
        rows = self._drop(rows, groups)
        # In 32 bits from here on, even if products are in 16: rounding errors would accumulate over tokens.
        gates = self.gates(rows).float()
        value = gates[:, : self.size]
        _, forget, out = torch.sigmoid(gates).split(self.size, -1)  # [K, d] each; all columns are quicker
        update = torch.addcmul(value, forget, value, value=-1)
        states = groups.unpack(scan(groups.pack(forget), groups.pack(update), groups))
        squashed = 2 * torch.sigmoid(2 * states) - 1  # their tanh; torch.tanh takes four times as long
        return torch.lerp(self.highway(rows).float(), squashed, out)

    def _drop(self, rows: Tensor, groups: Groups) -> Tensor:
        """Drop features of a whole group at once (Gal and Ghahramani 2016).

        All gates then see the same noise.
        """
        if not self.training or not self.dropout:
            return rows
        kept = rows.new_full((len(groups.mask), rows.shape[1]), 1 - self.dropout).bernoulli_()
        return rows * (kept / (1 - self.dropout))[groups.row // groups.mask.shape[1]]


class Similarity(nn.Module):
    """Trilinear similarity (Seo et al. 2017), with a bonus for equal words.

    With this learned bonus a name can be followed from one article to another though it was never seen in
    training.
    """

    def __init__(self, d: int) -> None:
        super().__init__()
        self.left = nn.Linear(d, 1)
        self.right = nn.Linear(d, 1, bias=False)
        self.both = nn.Parameter(torch.full((d,), d**-0.5))
        self.equal = nn.Linear(d, 1)
        nn.init.constant_(self.equal.bias, 3.0)  # equal words attract from the first step on

    def forward(self, left: Tensor, right: Tensor, same: Tensor) -> Tensor:  # [N,A,d], [N,B,d] -> [N,A,B]
        """Return the similarity of all pairs, [N, A, B]."""
        dot = torch.baddbmm(self.right(right).transpose(1, 2), left * self.both, right.transpose(1, 2))
        return dot + self.left(left) + same * self.equal(left)

    def attend(self, rows: Tensor, words: Tensor) -> Tensor:  # [N, T, d], [N, T] -> [N, T, d]
        """Return what each row attends to among the others, [N, T, d].

        ``words`` are numbers, of padding below 0. The similarity's first term is the same along a row: the
        softmax ignores it, and so does this. A row without others gets zeros.
        """
        mask = words >= 0
        columns = self.right(rows).to(rows).transpose(1, 2).masked_fill(~mask[:, None], _NEVER)  # [N, 1, T]
        # Written as floats, because truth values would have to be turned into them, and then in place.
        same = torch.eq(
            words[:, :, None], words[:, None, :], out=words.new_empty(*words.shape, words.shape[1])
        )
        bias = same.to(rows).mul_(self.equal(rows).to(rows)).add_(columns)  # [N, T, T]
        bias.diagonal(dim1=1, dim2=2).fill_(_NEVER)
        # With an axis for a single head, or torch would not take its fused kernel.
        query, keys, bias = ((rows * self.both)[:, None], rows[:, None], bias[:, None])
        attended = F.scaled_dot_product_attention(query, keys, keys, attn_mask=bias, scale=1.0)[:, 0]
        return attended * (mask.sum(1) > 1)[:, None, None]


def _compute_weights(scores: Tensor, mask: Tensor) -> Tensor:
    """Return the softmax over the last axis where the mask is true.

    A row with nothing to attend to gives zeros.
    """
    return torch.softmax(scores.masked_fill(~mask, _NEVER), -1) * mask


class BiAttention(nn.Module):
    """Context attends to question and question to context (Seo et al. 2017)."""

    def __init__(self, d: int) -> None:
        super().__init__()
        self.similarity = Similarity(d)
        self.merge = nn.Linear(4 * d, d)

    def forward(self, rows: Tensor, context: Context, question: Tensor, batch: Batch) -> Tensor:
        """Return the context rows merged with attention in both ways, [K, d]."""
        x = context.by_example.pad(rows)  # [N, T, d]
        keys = context.by_example.pad(context.key)
        same = (keys[:, :, None] == batch.question_key[:, None, :]).float()  # [N, T, M]
        scores = self.similarity(x, question, same)
        seen = batch.question_mask[:, None, :]
        to_question = _compute_weights(scores, seen) @ question  # [N, T, d]
        peak = scores.masked_fill(~seen, _NEVER).amax(2)  # [N, T]
        to_context = _compute_weights(peak, context.by_example.mask)[:, None] @ x  # [N, 1, d]
        merged = torch.cat([x, to_question, x * to_question, to_context * to_question], -1)
        return context.by_example.flatten(F.relu(self.merge(merged)))


class SelfAttention(nn.Module):
    """Attention of each token to the others of its context, added to it.

    Source: Clark and Gardner 2018.
    """

    def __init__(self, d: int) -> None:
        super().__init__()
        self.similarity = Similarity(d)
        self.merge = nn.Linear(3 * d, d)

    def forward(self, rows: Tensor, context: Context) -> Tensor:  # [K, d] -> [K, d]
        """Return the rows with what they attend to added, [K, d]."""
        parts = (self.similarity.attend(padded, words)[words >= 0] for padded, words in context.parts(rows))
        attended = torch.cat(list(parts))
        return rows + F.relu(self.merge(torch.cat([rows, attended, rows * attended], -1)))


class ContextEncoder(nn.Module):
    """A question and a context into one encoding of the context's tokens."""

    def __init__(self, size: int, config: Config) -> None:
        super().__init__()
        d = 2 * config.hidden
        self.encode = BiSRU(size + 1, config.hidden, 0.0)
        self.attend = BiAttention(d)
        self.compose = BiSRU(d, config.hidden, config.dropout)
        self.reflect = SelfAttention(d)

    def forward(self, question: Tensor, rows: Tensor, context: Context, batch: Batch) -> Tensor:
        """Return the context rows after reading the question, [K, d]."""
        asked = Groups.of(batch.question_mask.nonzero()[:, 0], context.n)
        words = F.pad(question[batch.question_mask], (0, 1))  # no word of a question counts as shared
        question = asked.pad(self.encode(words, asked))  # [N, M, d]
        # Shared words are looked up in this context alone, because they reveal the other articles.
        rows = torch.cat([rows, context.shared[:, None].float()], -1)
        encoded = self.encode(rows, context.by_article)  # [K, d]
        encoded = self.attend(encoded, context, question, batch)
        encoded = self.compose(encoded, context.by_article)
        return self.reflect(encoded, context)  # [K, d]


class FactHead(nn.Module):
    """Pools the tokens of each fact and says whether the fact is relevant."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.recur = BiSRU(2 * config.hidden, config.hidden, config.dropout)
        self.out = nn.Linear(2 * config.hidden, 2)

    def forward(self, rows: Tensor, context: Context, facts: int) -> tuple[Tensor, Tensor]:
        """Return the states and the logits of the facts."""
        states = self.recur(rows, context.by_article)
        inside = context.fact != NO_FACT
        total = states.new_zeros(facts, states.shape[1]).index_add(0, context.fact[inside], states[inside])
        count = torch.bincount(context.fact[inside], minlength=facts).clamp(min=1)
        pooled = total / count[:, None]  # [F, d]
        return pooled, self.out(pooled)  # [F, d], [F, 2]


class AnswerHead(nn.Module):
    """Start, end and type of the answer, each from a stacked recurrent layer."""

    def __init__(self, size: int, config: Config) -> None:
        super().__init__()
        d = 2 * config.hidden
        self.read_start = BiSRU(size, config.hidden, config.dropout)
        self.read_end = BiSRU(size + d, config.hidden, config.dropout)
        self.read_type = BiSRU(size + d, config.hidden, config.dropout)
        self.start_out, self.end_out = nn.Linear(d, 1), nn.Linear(d, 1)
        self.type_out = nn.Linear(d, len(ANSWER_TYPES))

    def forward(self, rows: Tensor, context: Context) -> tuple[Tensor, Tensor, Tensor]:
        """Return start logits [K], end logits [K] and type logits [N, types]."""
        start = self.read_start(rows, context.by_article)  # [K, d]
        end = self.read_end(torch.cat([rows, start], -1), context.by_article)
        kind = self.read_type(torch.cat([rows, end], -1), context.by_article)
        pooled = context.by_example.pad(F.relu(kind)).amax(1)  # [N, d]
        return self.start_out(start)[:, 0], self.end_out(end)[:, 0], self.type_out(pooled)


# --- the two readers ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Outputs:
    """Logits.

    Tokens that the answer heads did not see have the logit of probability 0.
    """

    start: Tensor  # [K]
    end: Tensor  # [K]
    type: Tensor  # [N, 3] span, yes, no
    facts: Tensor  # [F, 2] irrelevant, relevant
    seen: Tensor  # [K] whether the answer heads saw the token


class Qi2019(nn.Module):
    """One encoding for both heads.

    The answer heads also see the pooled state of each token's fact.
    """

    def __init__(self, config: Config, embed: Embedder) -> None:
        super().__init__()
        d = 2 * config.hidden
        self.embed = embed
        self.read = ContextEncoder(self.embed.size, config)
        self.judge = FactHead(config)
        self.tell = nn.Linear(d, d)
        self.answer = AnswerHead(d, config)

    def forward(self, batch: Batch, gold: Tensor | None = None) -> Outputs:
        """Return the logits.

        ``gold`` is ignored; it makes the signature that of the other reader.
        """
        question, rows = self.embed(batch)
        return self.from_vectors(question, rows, batch)

    def from_vectors(self, question: Tensor, rows: Tensor, batch: Batch) -> Outputs:
        """Return the logits from ``embed``'s vectors, or from others."""
        context = batch.context
        rows = self.read(question, rows, context, batch)  # [K, d]
        pooled, facts = self.judge(rows, context, batch.facts)
        none = pooled.new_zeros(1, pooled.shape[1])  # what a title's token sees: NO_FACT points here
        rows = rows + torch.cat([self.tell(pooled), none])[context.fact]  # [K, d]
        start, end, kind = self.answer(rows, context)
        return Outputs(start, end, kind, facts, torch.ones_like(context.fact, dtype=torch.bool))


class SelectAndForget(nn.Module):
    """Two encodings: one selects facts, the other sees only the selected ones.

    Schuff et al. zero the answer-specific encoding outside the selected facts. By then a recurrent
    encoding has carried words across the border. Therefore those tokens are dropped before the
    answer-specific encoder as well, and vectors that depend on other words are computed again
    (`Embedder.forget`): nothing of an unselected fact, and no title, can reach the answer.
    """

    def __init__(self, config: Config, embed: Embedder) -> None:
        super().__init__()
        self.threshold = config.threshold
        self.embed = embed
        self.read_for_facts = ContextEncoder(self.embed.size, config)
        self.judge = FactHead(config)
        self.read_for_answer = ContextEncoder(self.embed.size, config)
        self.answer = AnswerHead(2 * config.hidden, config)

    def forward(self, batch: Batch, gold: Tensor | None = None) -> Outputs:
        """Return the logits; ``gold`` facts replace the selected ones in training."""
        question, rows = self.embed(batch)
        return self.from_vectors(question, rows, batch, gold)

    def from_vectors(
        self, question: Tensor, rows: Tensor, batch: Batch, gold: Tensor | None = None
    ) -> Outputs:
        """Return the logits from what ``embed`` gives."""
        context = batch.context
        _, facts = self.judge(self.read_for_facts(question, rows, context, batch), context, batch.facts)
        selected = torch.softmax(facts.detach(), -1)[:, 1] > self.threshold  # [F]
        if gold is not None:
            selected = selected | gold
        never = selected.new_zeros(1)  # titles: NO_FACT points here
        seen = torch.cat([selected, never])[context.fact]  # [K]
        rest = context.select_rows(seen)
        rows = self.embed.forget(batch, rows, seen)
        encoded = self.read_for_answer(question, rows, rest, batch)
        start, end, kind = self.answer(encoded, rest)
        return Outputs(_spread(start, seen), _spread(end, seen), kind, facts, seen)


def _spread(logits: Tensor, seen: Tensor) -> Tensor:
    """Put the logits of the seen tokens back in their places among all K."""
    return logits.new_full(seen.shape, _NEVER).masked_scatter(seen, logits)


def build(config: Config, words: int, embed: Embedder | None = None) -> Qi2019 | SelectAndForget:
    """Return an untrained reader of the structure in the configuration.

    ``embed`` replaces the table of ``words`` vectors.
    """
    structure = Qi2019 if config.structure == "qi2019" else SelectAndForget
    return structure(config, embed or Embedding(config, words))
