"""`lxmert`: the end-to-end baseline, which answers without a program.

It reads the sentence with each image. Source: Tan and Bansal 2019 (their head for NLVR2): the pooled
outputs of both images, one after the other, through a two-layer network.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import transformers
from torch import Tensor, nn

from modelserver.modular.visual.plans import IMAGES
from modelserver.modular.visual.regions import Sights


def read_beside_images(encoder: transformers.LxmertModel, ids: Tensor, mask: Tensor, sights: Sights) -> Any:
    """Return an encoder's output for texts [n, t], each beside its images."""
    ids, mask = (tensor.to(sights.boxes.device).repeat_interleave(IMAGES, dim=0) for tensor in (ids, mask))
    return encoder(
        input_ids=ids,
        attention_mask=mask,
        visual_feats=sights.features.flatten(0, 1),
        visual_pos=sights.boxes.flatten(0, 1),
        visual_attention_mask=sights.present.flatten(0, 1),
    )


class Baseline(nn.Module):
    """Sentences and images in, the probability that each sentence is true out."""

    def __init__(
        self, encoder: transformers.LxmertModel, tokenizer: transformers.PreTrainedTokenizerBase
    ) -> None:
        super().__init__()
        hidden = encoder.config.hidden_size
        self.encoder, self.tokenizer = encoder, tokenizer
        self.head = nn.Sequential(
            nn.Linear(IMAGES * hidden, 2 * hidden),
            nn.GELU(),
            nn.LayerNorm(2 * hidden),
            nn.Linear(2 * hidden, 1),
        )

    def forward(self, sentences: Sequence[str], sights: Sights) -> Tensor:
        """Return the probability, [n], that each sentence is true of its images."""
        tokens = self.tokenizer(list(sentences), padding=True, return_tensors="pt")
        seen = read_beside_images(self.encoder, tokens["input_ids"], tokens["attention_mask"], sights)
        pooled = seen.pooled_output.unflatten(0, (-1, IMAGES)).flatten(1)
        return torch.sigmoid(self.head(pooled)).squeeze(-1)
