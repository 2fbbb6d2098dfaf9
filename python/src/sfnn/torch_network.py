"""A network as a module of PyTorch. Imported by `Network.to_torch`, as PyTorch takes seconds to load."""

import math
from typing import Any, Optional

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from ._parts import MAX_LOG_RATE, SIGMA_FLOOR, Layer, Parts

_ACTIVATIONS = {"d": torch.sigmoid, "tanh": torch.tanh, "relu": torch.relu}


class TorchLayer(nn.Module):
    """One hidden layer; its parameters have the names that a checkpoint has for them."""

    def __init__(self, layer: Layer) -> None:
        super().__init__()
        self.n_s, self.n_d, self.fixed, self.activation = layer.n_s, layer.n_d, layer.fixed, layer.activation
        for name, values in layer.tensors().items():
            self.register_parameter(name, nn.Parameter(torch.from_numpy(values.copy())))

    def forward(self, z: torch.Tensor, generator: Optional[torch.Generator] = None) -> torch.Tensor:
        s = None
        if self.n_s:
            if self.fixed:
                p = z.new_full((*z.shape[:-1], self.n_s), 0.5)
            else:
                p = torch.sigmoid(z @ self.W_s + self.b_s)
            # PyTorch's u lies in [0, 1), the engine's in (0, 1].
            u = torch.rand(p.shape, generator=generator, dtype=p.dtype, device=p.device)
            s = (u < p).to(p.dtype)
        if not self.n_d:
            assert s is not None
            return s
        a = z @ self.W_d + self.b_d
        if s is not None:
            a = a + s @ self.U
        return _ACTIVATIONS[self.activation](a)


class TorchNetwork(nn.Module):
    """The whole network, in the units of its examples.

    `state_dict` has the names of a checkpoint: "layer1.W_s", ..., "V", "c". Gradients do not pass through the draws of
    stochastic units, so training here is not what the engine does.
    """

    def __init__(self, parts: Parts) -> None:
        super().__init__()
        self.output, self.outputs, self.sigma = parts.output, parts.outputs, parts.sigma
        self.depth = len(parts.layers)
        for number, layer in enumerate(parts.layers, 1):
            self.add_module(f"layer{number}", TorchLayer(layer))
        for name in ("V", "c", "rho"):
            values = getattr(parts, name)
            if values is not None:
                self.register_parameter(name, nn.Parameter(torch.from_numpy(values.copy())))
        for name in ("x_mean", "x_scale", "y_mean", "y_scale"):
            self.register_buffer(name, torch.from_numpy(getattr(parts, name).copy()), persistent=False)

    def forward(
        self, x: Any, particles: int = 1, generator: Optional[torch.Generator] = None
    ) -> torch.Tensor:
        """Logits o given draws of the hidden units.

        Parameters
        ----------
        x : Tensor or array_like, shape (rows, inputs)
        particles : int
            Draws of the hidden units for each row.
        generator : torch.Generator, optional

        Returns
        -------
        Tensor, shape (particles, rows, logits)
        """
        x = torch.as_tensor(np.asarray(x) if not torch.is_tensor(x) else x, dtype=self.V.dtype, device=self.V.device)
        z = ((x - self.x_mean) / self.x_scale).expand(particles, *x.shape)
        for number in range(1, self.depth + 1):
            z = getattr(self, f"layer{number}")(z, generator)
        return z @ self.V + self.c

    def _sigma(self, o: torch.Tensor) -> torch.Tensor:
        if self.output == "gaussian":
            return torch.as_tensor(self.sigma, dtype=o.dtype)
        rho = o[..., self.outputs :] if self.output == "gaussian-predicted" else self.rho
        return self.y_scale * (SIGMA_FLOOR + (1 - SIGMA_FLOOR) * torch.exp(rho))

    def _means(self, o: torch.Tensor) -> torch.Tensor:
        """E[y | o]."""
        if self.output == "softmax":
            return torch.softmax(o, -1)
        if self.output == "bernoulli":
            return torch.sigmoid(o)
        if self.output == "poisson":
            return torch.exp(o.clamp(max=MAX_LOG_RATE)) * (1 + (o - MAX_LOG_RATE).clamp(min=0))
        return self.y_mean + self.y_scale * o[..., : self.outputs]

    @torch.no_grad()
    def predict(self, x: Any, particles: int = 100, generator: Optional[torch.Generator] = None) -> torch.Tensor:
        """Mean of y, over draws of the hidden units, as `Network.predict` has it."""
        return self._means(self(x, particles, generator)).mean(0)

    @torch.no_grad()
    def sample(self, x: Any, samples: int = 1, generator: Optional[torch.Generator] = None) -> torch.Tensor:
        """Draws of y, shape (rows, samples, outputs), or (rows, samples) for classes, as `Network.sample` has them."""
        o = self(x, samples, generator).transpose(0, 1)
        means = self._means(o)
        if self.output == "softmax":
            flat = torch.multinomial(means.reshape(-1, self.outputs), 1, generator=generator)
            return flat.reshape(means.shape[:-1]).to(means.dtype)
        if self.output == "bernoulli":
            u = torch.rand(means.shape, generator=generator, dtype=means.dtype, device=means.device)
            return (u < means).to(means.dtype)
        if self.output == "poisson":
            return torch.poisson(means, generator=generator)
        noise = torch.randn(means.shape, generator=generator, dtype=means.dtype, device=means.device)
        return means + self._sigma(o) * noise

    def log_prob(self, o: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        """log P(y | o) of each particle and row."""
        if self.output == "softmax":
            return torch.log_softmax(o, -1).gather(-1, y.long().expand(*o.shape[:-1], 1)).squeeze(-1)
        if self.output == "bernoulli":
            terms = y * o - F.softplus(o)
        elif self.output == "poisson":
            rate = self._means(o)
            terms = y * torch.log(rate) - rate - torch.lgamma(y + 1)
        else:
            sigma = self._sigma(o)
            terms = -0.5 * (((y - self._means(o)) / sigma) ** 2 + math.log(2 * math.pi)) - torch.log(sigma)
        return terms.sum(-1)

    def log_likelihood(
        self, x: Any, y: Any, particles: int = 100, generator: Optional[torch.Generator] = None
    ) -> torch.Tensor:
        """Estimate of log P(y|x) of each row, from below, as `Network.log_likelihood` has it."""
        o = self(x, particles, generator)
        y = torch.as_tensor(np.asarray(y) if not torch.is_tensor(y) else y, dtype=o.dtype, device=o.device)
        y = y.reshape(o.shape[1], -1)
        return torch.logsumexp(self.log_prob(o, y), 0) - math.log(particles)
