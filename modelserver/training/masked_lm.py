"""Pretrain an encoder on masked words of questions and their contexts.

Reference: Devlin et al. (2019), section 3.1, the first task: 15 % of the words
are predicted; of these 80 % are masked, 10 % replaced by any word, 10 % kept.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import ClassVar

import numpy as np
import torch
import transformers
from torch import Tensor
from torch.nn.functional import cross_entropy

from modelserver.inputs.encoders import find_folder, open_encoder, save
from modelserver.inputs.features import Ints
from modelserver.inputs.span_qa import ReadingExample
from modelserver.training.encoder_options import NEW, open_reader_model
from modelserver.training.extractive import (
    ExtractiveOptions,
    FineTuner,
    begin,
    make_reader,
    make_recipe,
    mixed_precision,
)
from modelserver.training.loop import Row, train_with_progress
from modelserver.training.options import options_of_command
from modelserver.training.span_loss import Labelled, group_by_length, is_readable
from modelserver.wire.errors import UnreadableData, UnreadableWeights

PREDICTED = 0.15  # of the words
MASKED, REPLACED = 0.8, 0.1  # of those


class MaskedTrainer(FineTuner):
    """An encoder that learns to predict masked words.

    Takes what `FineTuner` takes, but a model with a head over its vocabulary;
    examples need no answers.
    """

    title, selection = "masked words", "accuracy"

    def label(self, example: ReadingExample, _rng: np.random.Generator) -> Labelled:
        """Return the first windows of an example."""
        windows = self.reader.windows(self.reader.encode(example.item))
        return Labelled(windows[: self.recipe.windows], [])

    def sum_loss(self, group: Sequence[Labelled], rng: np.random.Generator) -> Tensor:
        """Return the mean loss of the predicted words, times the examples."""
        logits, words = self._predict(group, rng)
        return cross_entropy(logits, words) * len(group)

    def evaluate(self, dev: Sequence[ReadingExample]) -> Row:
        """Return the share of masked words that are predicted right."""
        self.model.eval()
        rng = np.random.default_rng(0)  # the same words at each check
        labelled = [self.label(example, rng) for example in dev if is_readable(example, self.reader)]
        right = total = 0
        with torch.inference_mode():
            for group in group_by_length(labelled, self.reader, self.recipe.tokens):
                logits, words = self._predict(group, rng)
                right, total = right + int((logits.argmax(1) == words).sum()), total + len(words)
        return {"accuracy": right / max(1, total)}

    def save(self, folder: Path) -> None:
        """Write what `train extractive-qa --encoder` reads."""
        save(folder, self.model, self.tokenizer, {})

    def _predict(self, group: Sequence[Labelled], rng: np.random.Generator) -> tuple[Tensor, Tensor]:
        """Return the logits of the predicted words [N, V], and the words [N]."""
        inputs, device = self.inputs(group).tensors, self.model.device
        words = inputs["input_ids"]
        shown, predicted = hide(words.cpu().numpy(), self.tokenizer, rng)
        with mixed_precision(device):
            outputs = self.model(**inputs | {"input_ids": torch.from_numpy(shown).to(device)})
        chosen = torch.from_numpy(predicted).to(device)
        return outputs.logits[chosen].float(), words[chosen]


def hide(
    words: Ints, tokenizer: transformers.PreTrainedTokenizerBase, rng: np.random.Generator
) -> tuple[Ints, np.ndarray]:
    """Mask words for an encoder to predict, and replace some of them.

    Args:
        words: Ids [W, T] of pieces of words, padded.
        tokenizer: Its special tokens are no replacements, and only the one for
            unknown words may be predicted: a text may hold nothing else.
        rng: Draws the words.

    Returns:
        The ids [W, T] that it is shown, and which it has to predict [W, T], at
        least one.
    """
    special = tokenizer.all_special_ids
    ordinary = ~np.isin(words, special) | (words == tokenizer.unk_token_id)
    predicted = ordinary & (rng.random(words.shape) < PREDICTED)
    if not predicted.any():
        predicted.flat[rng.choice(np.flatnonzero(ordinary))] = True
    fate = rng.random(words.shape)
    others = np.setdiff1d(np.arange(len(tokenizer)), special)
    shown = np.where(predicted & (fate < MASKED), tokenizer.mask_token_id, words)
    replaced = predicted & (fate >= MASKED) & (fate < MASKED + REPLACED)
    return np.where(replaced, rng.choice(others, words.shape), shown), predicted


@options_of_command
class MaskedOptions(ExtractiveOptions):
    """Everything that pretraining takes.

    Attributes:
        encoder: new:HIDDENxLAYERS[-rotary], or the folder of a Hugging Face
            model or an id of the hub (with --allow-hub) to go on with.
        train_file: Learn from the questions and contexts of this file.
        dev_file: Choose the best weights on this file; by default on every
            20th question of --train-file.
    """

    learns_answers: ClassVar[bool] = False


def masked_lm(*, options: MaskedOptions) -> None:
    """Pretrain an encoder on masked words."""
    device, train_set, dev, texts = begin(options)
    model, tokenizer = open_masked_model(options, texts, device)
    if tokenizer.mask_token_id is None:
        raise UnreadableWeights(f"{options.encoder}: its tokenizer has no mask")
    reader = make_reader(options, model, tokenizer)
    examples = [example for example in train_set if is_readable(example, reader)]
    if not examples:
        raise UnreadableData(f"{options.train_file}: not one question can be read")
    sys.stderr.write(f"{len(examples)} of {len(train_set)} questions can be learned from\n")
    trainer = MaskedTrainer(model, tokenizer, reader, make_recipe(options, len(examples)), examples)
    train_with_progress(trainer, dev, options.out, **options.start)


def open_masked_model(
    options: MaskedOptions, texts: Iterable[str], device: torch.device
) -> tuple[transformers.PreTrainedModel, transformers.PreTrainedTokenizerBase]:
    """Return the encoder with a head over its vocabulary, and its tokenizer.

    Raises:
        UnreadableWeights: The encoder cannot be read.
    """
    if not NEW.fullmatch(options.encoder):
        folder = find_folder(options.encoder, allow_hub=options.allow_hub)
        return open_encoder(folder, device, trained=False, kind=transformers.AutoModelForMaskedLM)
    described, tokenizer = open_reader_model(
        options.encoder, texts, options.vocabulary_size, allow_hub=False, device=device
    )
    return transformers.AutoModelForMaskedLM.from_config(described.config).to(device), tokenizer
