"""Muon, which orthogonalises the update of each matrix; Adam for the rest.

Jordan et al. (2024), *Muon: an optimizer for hidden layers in neural networks*. That of torch computes in
bfloat16, which is slow on processors without it; this one computes in the precision of its parameters, and
matrices of one shape together.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from torch import Tensor

_A, _B, _C = 3.4445, -4.7750, 2.0315  # of the iteration by Newton and Schulz, which Jordan et al. chose
_STEPS = 5


class Muon(torch.optim.Optimizer):
    """Muon for matrices and Adam for other parameters.

    Args:
        matrices: Weights of hidden layers, [out, in].
        others: All other parameters, embeddings among them.
        matrix_rate: Learning rate of the matrices.
        rate: Learning rate of the others.
    """

    def __init__(
        self, matrices: Iterable[Tensor], others: Iterable[Tensor], *, matrix_rate: float, rate: float
    ) -> None:
        groups: list[dict[str, Any]] = [
            {"params": list(matrices), "full": matrix_rate, "muon": True},
            {"params": list(others), "full": rate, "muon": False},
        ]
        super().__init__(groups, {"lr": rate, "momentum": 0.95, "betas": (0.9, 0.95), "decay": 0.01})

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        """Take a step with the gradients that are there."""
        for group in self.param_groups:
            with_gradient = [parameter for parameter in group["params"] if parameter.grad is not None]
            (self._step_muon if group["muon"] else self._step_adam)(group, with_gradient)

    def _step_muon(self, group: dict[str, Any], parameters: Sequence[Tensor]) -> None:
        alike = defaultdict(list)
        for parameter in parameters:
            alike[parameter.shape].append(parameter)
        for shape, matrices in alike.items():
            moments = [self._moment(matrix, "moment") for matrix in matrices]
            gradients = [matrix.grad for matrix in matrices if matrix.grad is not None]
            torch._foreach_lerp_(moments, gradients, 1 - group["momentum"])
            updates = orthogonalise(torch.stack(torch._foreach_lerp(gradients, moments, group["momentum"])))
            scale = max(1.0, shape[0] / shape[1]) ** 0.5
            torch._foreach_mul_(matrices, 1 - group["lr"] * group["decay"])
            torch._foreach_add_(matrices, list(updates.unbind()), alpha=-group["lr"] * scale)

    def _step_adam(self, group: dict[str, Any], parameters: Sequence[Tensor]) -> None:
        first, second = group["betas"]
        for parameter in parameters:
            gradient = parameter.grad
            assert gradient is not None
            count = self.state[parameter].setdefault("count", torch.zeros((), dtype=torch.float64))
            count += 1
            mean = self._moment(parameter, "mean").lerp_(gradient, 1 - first)
            square = self._moment(parameter, "square").lerp_(gradient.square(), 1 - second)
            size = (square / (1 - second ** int(count))).sqrt_().add_(1e-8)
            parameter.addcdiv_(mean, size, value=-group["lr"] / (1 - first ** int(count)))

    def _moment(self, parameter: Tensor, name: str) -> Tensor:
        state: dict[str, Tensor] = self.state[parameter]
        if name not in state:
            state[name] = torch.zeros_like(parameter)
        return state[name]


def orthogonalise(matrices: Tensor) -> Tensor:
    """Return the nearest matrices with orthonormal rows or columns, roughly.

    Singular values come to lie between about 0.7 and 1.2.

    Args:
        matrices: [count, out, in].
    """
    turned = matrices.shape[1] > matrices.shape[2]
    result = matrices.transpose(1, 2) if turned else matrices
    result = result / (result.norm(dim=(1, 2), keepdim=True) + 1e-7)
    for _ in range(_STEPS):
        square = result @ result.transpose(1, 2)
        result = _A * result + (_B * square + _C * square @ square) @ result
    return result.transpose(1, 2) if turned else result
