"""Predict the type of mention that answers a question.

Either by a convolution over words or by a fine-tuned encoder. Source: Ray Choudhury, Rogers and
Augenstein 2022, appendix A.3; the convolution is that of Kim 2014 (Convolutional Neural Networks for
Sentence Classification), with word vectors learned from the questions.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
import transformers
from torch import Tensor, nn

from modelserver.inputs.decoding import Floats, require_finite_logits
from modelserver.inputs.features import Vocabulary, list_lower_words
from modelserver.inputs.mentions import TYPES

LONGEST = 128  # words or pieces of a question that are read
FILTERS = (3, 4, 5)  # words wide


class WordCNN(nn.Module):
    """Convolutions over three to five words, max pooling, and a linear layer."""

    def __init__(self, vocabulary: Vocabulary, *, size: int = 50, channels: int = 32) -> None:
        super().__init__()
        self.vocabulary = vocabulary
        self.embed = nn.Embedding(len(vocabulary), size, padding_idx=0)
        self.convolutions = nn.ModuleList(nn.Conv1d(size, channels, width) for width in FILTERS)
        self.out = nn.Linear(channels * len(FILTERS), len(TYPES))

    def forward(self, questions: Sequence[str]) -> Tensor:
        """Return the logits of the types, [questions, types]."""
        ids = [[self.vocabulary.id(word) for word in list_lower_words(text)[:LONGEST]] for text in questions]
        width = max(max(FILTERS), *map(len, ids)) if ids else max(FILTERS)
        padded = torch.tensor(
            [[*row, *[0] * (width - len(row))] for row in ids], device=self.out.weight.device
        )
        words = self.embed(padded.reshape(len(ids), width)).transpose(1, 2)  # [questions, size, words]
        # Behind its end a shorter question has zeros, whose response is the bias: it is left out, so that no
        # answer depends on the questions beside it.
        lengths = torch.tensor([max(len(row), max(FILTERS)) for row in ids], device=padded.device)
        strongest = []
        for filter_width, convolution in zip(FILTERS, self.convolutions, strict=True):
            response = torch.relu(convolution(words))
            position = torch.arange(response.shape[-1], device=padded.device)
            outside = position[None] > lengths[:, None] - filter_width
            strongest.append(response.masked_fill(outside[:, None], 0.0).amax(-1))
        return self.out(nn.functional.dropout(torch.cat(strongest, -1), 0.5, self.training))


class EncoderTypes(nn.Module):
    """An encoder, its states averaged over the pieces, and a linear layer."""

    def __init__(
        self, encoder: transformers.PreTrainedModel, tokenizer: transformers.PreTrainedTokenizerBase
    ) -> None:
        super().__init__()
        self.encoder, self.tokenizer = encoder, tokenizer
        self.out = nn.Linear(encoder.config.hidden_size, len(TYPES))

    def forward(self, questions: Sequence[str]) -> Tensor:
        """Return the logits of the types, [questions, types]."""
        return self.out(self.embed(questions))

    def embed(self, texts: Sequence[str]) -> Tensor:
        """Return the mean of each text's piece states, [texts, hidden]."""
        pieces = self.tokenizer(
            list(texts), truncation=True, max_length=LONGEST, padding=True, return_tensors="pt"
        ).to(self.out.weight.device)
        states = self.encoder(**pieces).last_hidden_state
        mask = pieces["attention_mask"][..., None]
        return (states * mask).sum(1) / mask.sum(1)


def compute_type_logprobs(model: WordCNN | EncoderTypes, questions: Sequence[str]) -> Floats:
    """Return the log-probabilities of answer types, ordered as `TYPES`.

    The model must be in eval mode.

    Returns:
        [questions, types].

    Raises:
        PredictionFailed: logits are not finite.
    """
    with torch.inference_mode():
        logits = model(questions)
        require_finite_logits(logits.float().cpu().numpy())
        return torch.log_softmax(logits.double(), -1).cpu().numpy()
