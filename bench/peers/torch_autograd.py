"""The step as one writes it in PyTorch: the objective, backward(), an optimizer."""

import math

import torch
import torch.nn.functional as F

CHUNK = 10  # examples of an evaluation worked on at a time


def log_prob(output, o, y):
    """log P(y | o) of every particle; o [N, M, D]."""
    if output == "softmax":
        return o.log_softmax(-1).gather(-1, y.long()[:, None, :].expand(-1, o.shape[1], -1)).squeeze(-1)
    if output == "bernoulli":
        return (y[:, None] * o - F.softplus(o)).sum(-1)
    return -0.5 * ((y[:, None] - o) ** 2).sum(-1) - 0.5 * o.shape[-1] * math.log(2 * math.pi)


class Step:
    def __init__(self, case, threads):
        torch.set_num_threads(threads)
        self.case = case
        self.x, self.y = torch.tensor(case.x), torch.tensor(case.y)
        self.params = [torch.tensor(value, requires_grad=not case.evaluation) for value in case.params]
        if not case.evaluation:
            self.optimizer = torch.optim.SGD(self.params, lr=0.0, momentum=0.9, maximize=True)

    def objective(self, x, y, given=None):
        """C_hat [N], and what its gradient is the gradient of."""
        case, params = self.case, self.params
        z, drawn = x, []
        for layer in range(case.depth):
            a = z @ params[2 * layer] + params[2 * layer + 1]
            if layer == 0:
                a = a[:, None, :]  # the particles share it
            p = a.sigmoid()
            shape = (len(x), case.M, p.shape[-1])
            h = given[layer] if given else (torch.rand(shape) <= p).float()
            # G3: the derivative goes through p; G5: not at all
            z = p + (h - p).detach() if case.estimator == "G3" and not case.evaluation else h
            drawn.append((a, h))
        log_w = log_prob(case.output, z @ params[-2] + params[-1], y)
        C_hat = log_w.logsumexp(1) - math.log(case.M)
        total = C_hat.mean()
        if case.estimator == "G5":
            weight = log_w.softmax(1).detach() - 1 / case.M
            for a, h in drawn:
                total = total + (weight * (h * a - F.softplus(a)).sum(-1)).sum(1).mean()
        return C_hat, total

    def check(self):
        C_hat, total = self.objective(self.x, self.y, [torch.tensor(h, dtype=torch.float32) for h in self.case.h])
        if self.case.evaluation:
            return C_hat, None
        return C_hat.detach(), torch.autograd.grad(total, self.params)

    def run(self):
        if self.case.evaluation:
            with torch.no_grad():  # some examples at a time: all at once would not fit into the caches
                for x, y in zip(self.x.split(CHUNK), self.y.split(CHUNK)):
                    self.objective(x, y)
            return
        self.optimizer.zero_grad()
        self.objective(self.x, self.y)[1].backward()
        self.optimizer.step()
