"""An encoder without attention, small enough to learn from labels alone.

Each region is a vector of its own features and place, and is multiplied element by element with a vector
of the words that are read: the low-rank bilinear pooling of Kim et al. 2017 (*Hadamard Product for
Low-rank Bilinear Pooling*). Words are their embeddings, whatever stands around them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor, nn

from modelserver.modular.visual.regions import Sights

MODEL_TYPE = "bilinear"
SPREAD = 2.0  # of the words' factors at first; with small ones all regions stay alike for long


@dataclass(frozen=True)
class BilinearConfig:
    """Sizes, named as in an `LxmertConfig`."""

    vocab_size: int
    hidden_size: int
    visual_feat_dim: int
    max_position_embeddings: int

    def to_diff_dict(self) -> dict[str, Any]:
        """Return what `BilinearConfig` and `MODEL_TYPE` are made from again."""
        return {"model_type": MODEL_TYPE, **asdict(self)}


class BilinearEncoder(nn.Module):
    """Words and regions in, vectors of both out."""

    def __init__(self, config: BilinearConfig) -> None:
        super().__init__()
        self.config, hidden = config, config.hidden_size
        self.embeddings = nn.Embedding(config.vocab_size, hidden)
        self.words = nn.Linear(hidden, hidden)
        self.features = nn.Sequential(
            nn.Linear(config.visual_feat_dim, 2 * hidden), nn.GELU(), nn.Linear(2 * hidden, hidden)
        )
        self.place = nn.Linear(4, hidden)
        self.norm = nn.LayerNorm(hidden)
        nn.init.normal_(self.words.weight, std=SPREAD / math.sqrt(hidden))

    def forward(
        self, ids: Tensor, mask: Tensor, sights: Sights, examples: Sequence[int]
    ) -> tuple[Tensor, Tensor]:
        """Read texts beside the images of their examples.

        Args:
            ids: Tokens [n, t].
            mask: [n, t], 1 for those that are read.
            sights: The images of all examples.
            examples: The example of each text.

        Returns:
            Language [n, images, t, hidden] and vision [n, images, m, hidden].
        """
        device, images = sights.boxes.device, sights.boxes.shape[1]
        embedded, mask = self.embeddings(ids.to(device)), mask.to(device)[..., None]
        mean = (embedded * mask).sum(dim=1) / mask.sum(dim=1).clamp(min=1)
        regions = self.norm(self.features(sights.features) + self.place(2 * sights.boxes - 1))
        vision = regions[torch.as_tensor(examples, device=device)] * self.words(mean)[:, None, None]
        return embedded[:, None].expand(-1, images, -1, -1), vision
