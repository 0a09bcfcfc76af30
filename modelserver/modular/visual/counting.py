"""The count modules: Sum-, Layer- and Graph-count, and an exact count.

Source: Subramanian et al. 2020 (N20), section 4.1. Each counts every image separately and adds the
counts, as the released code of N20 does. `exact` is ours: the distribution of a sum of independent
boxes, for which Sum-count takes a Normal of fixed variance around its mean.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from modelserver.modular.visual.numbers import Number, poisson_binomial

CountKind = Literal["sum", "layer", "graph", "exact"]
Impossible = Literal["apart", "alike"]
SEGMENTS = 16  # of each learned function of Graph-count, as in Zhang et al. 2018
# N20 gives no value for σ². The released code passes 0.25 where its library takes a standard deviation.
VARIANCE = 0.25**2


class Sum(nn.Module):
    """Σ p, without parameters."""

    def forward(self, p: Tensor, regions: Tensor, boxes: Tensor) -> Tensor:
        """[n, images, m] to [n, images]; see `Counter`."""
        return p.sum(dim=-1)


class Layer(nn.Module):
    """FF1(LayerNorm(FF2(p · v))) with a final ReLU; it sees the regions."""

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(hidden, hidden), nn.GELU(), nn.LayerNorm(hidden))
        self.outer = nn.Linear(hidden, 1)
        nn.init.ones_(self.outer.bias)  # else the ReLU may begin at 0 everywhere and never learn

    def forward(self, p: Tensor, regions: Tensor, boxes: Tensor) -> Tensor:
        """[n, images, m] and [n, images, m, hidden] to [n, images]."""
        attended = (p[..., None] * regions).sum(dim=-2)
        return torch.relu(self.outer(self.inner(attended))).squeeze(-1)


class Monotone(nn.Module):
    """A learned increasing function from [0, 1] onto [0, 1].

    It is linear between `SEGMENTS` + 1 points.
    """

    def __init__(self) -> None:
        super().__init__()
        self.steps = nn.Parameter(torch.ones(SEGMENTS))

    def forward(self, x: Tensor) -> Tensor:
        """Return the function of each element, the shape of ``x``."""
        steps = self.steps.abs()
        steps = steps / steps.sum()
        heights = torch.cat([steps.new_zeros(1), steps.cumsum(dim=0)])
        scaled = x.clamp(0, 1) * SEGMENTS
        segment = scaled.detach().long().clamp(max=SEGMENTS - 1)
        # `take` sums the gradients of a height over all places that read it.
        return heights.take(segment) + (scaled - segment) * steps.take(segment)


class Graph(nn.Module):
    """Count objects, not boxes.

    Source: Zhang, Hare and Prügel-Bennett 2018, section 3.
    Boxes are the nodes of a graph whose edges weigh p_i p_j. Edges between overlapping boxes, which show
    one object, are removed; then objects that several boxes stand for are scaled down to one. The rest
    is a graph of n² edges for n objects. With 0s and 1s, and boxes that coincide or are disjoint, it is
    exact. Only the ``most`` probable boxes of an image are used, because the time grows with their cube;
    None uses all. With ``impossible`` "alike", boxes of probability 0 are copies of each other and of
    nearly impossible boxes, as in the code that the authors released.
    """

    def __init__(self, most: int | None, impossible: Impossible = "apart") -> None:
        super().__init__()
        self.most, self.impossible = most, impossible
        self.edge, self.far = Monotone(), Monotone()  # their f1 and f2: within an object
        self.alike, self.edge_alike, self.far_alike = Monotone(), Monotone(), Monotone()  # f3 to f5

    def forward(self, p: Tensor, regions: Tensor, boxes: Tensor) -> Tensor:
        """[n, images, m] and [n, images, m, 4] to [n, images]."""
        # Padding has no area. It comes last, so that what a batch is padded to does not matter.
        order = torch.where(boxes[..., 2] > boxes[..., 0], p, -1.0)
        kept = order.topk(min(self.most or p.shape[-1], p.shape[-1]), dim=-1).indices
        p = p.gather(-1, kept)
        boxes = boxes.gather(-2, kept[..., None].expand(*kept.shape, 4))
        weight = p[..., :, None] * p[..., None, :]
        distance = 1 - compute_overlaps(boxes, boxes)
        edges = self.edge(weight) * self.far(distance)
        counted = p > 0 if self.impossible == "apart" else boxes[..., 2] > boxes[..., 0]
        copies = self._copies(p, self.edge_alike(weight) * self.far_alike(distance), counted)  # [..., m]
        edges = edges / (copies[..., :, None] * copies[..., None, :])
        loops = self.edge(p * p) / copies
        return (edges.sum(dim=(-1, -2)) + loops.sum(dim=-1) + 1e-20).sqrt()

    def _copies(self, p: Tensor, edges: Tensor, counted: Tensor) -> Tensor:
        """Return for each box the number of boxes like it, itself included.

        They are alike in p and in all edges. Only ``counted`` boxes, [..., m], are like another.
        """
        rows = self.alike(1 - (edges[..., :, None, :] - edges[..., None, :, :]).abs()).prod(dim=-1)
        rows = rows * self.alike(1 - (p[..., :, None] - p[..., None, :]).abs())
        return (rows * counted[..., None, :]).sum(dim=-1).clamp(min=1)


def compute_overlaps(rows: Tensor, columns: Tensor) -> Tensor:
    """Return the intersection over union of boxes, [..., m, k].

    The boxes are [..., m, 4] and [..., k, 4].
    """
    first = torch.maximum(rows[..., :, None, :2], columns[..., None, :, :2])
    last = torch.minimum(rows[..., :, None, 2:], columns[..., None, :, 2:])
    shared = (last - first).clamp(min=0).prod(dim=-1)
    areas = [(boxes[..., 2:] - boxes[..., :2]).clamp(min=0).prod(dim=-1) for boxes in (rows, columns)]
    either = areas[0][..., :, None] + areas[1][..., None, :] - shared
    return shared / either.clamp(min=1e-12)


class Counter(nn.Module):
    """`count`: boxes with probabilities in, a number out."""

    def __init__(
        self,
        kind: CountKind,
        hidden: int,
        *,
        most: int | None = 36,
        variance: float = VARIANCE,
        impossible: Impossible = "apart",
    ) -> None:
        super().__init__()
        self.kind, self.variance = kind, variance
        constructors = {"layer": lambda: Layer(hidden), "graph": lambda: Graph(most, impossible)}
        self.of_image: nn.Module = constructors.get(kind, Sum)()

    def forward(self, p: Tensor, regions: Tensor, boxes: Tensor) -> Number:
        """Count boxes with probabilities p; missing boxes have p = 0.

        Args:
            p: [n, images, m].
            regions: [n, images, m, hidden], which Layer-count alone reads.
            boxes: [n, images, m, 4].
        """
        if self.kind == "exact":
            every = p.flatten(1)
            return Number(every.sum(-1), (every * (1 - every)).sum(-1), poisson_binomial(every))
        mean = self.of_image(p, regions, boxes).sum(dim=-1)
        return Number(mean, torch.full_like(mean, self.variance))

    def make_constant(self, values: Tensor) -> Number:
        """Return numbers [n] that a program states."""
        doubt = 0.0 if self.kind == "exact" else self.variance
        return Number(values, torch.full_like(values, doubt))
