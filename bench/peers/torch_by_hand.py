"""The step in PyTorch as fast as dense products let it be: gradients by hand, every result into memory that is there."""

import math

import torch


class Step:
    def __init__(self, case, threads):
        torch.set_num_threads(threads)
        torch.set_grad_enabled(False)
        self.case, self.M = case, case.M
        self.x, self.y = torch.tensor(case.x), torch.tensor(case.y)
        self.W = [torch.tensor(value) for value in case.params[0::2]]
        self.b = [torch.tensor(value) for value in case.params[1::2]]
        # An evaluation goes through its examples in runs of some hundred rows, a training step takes all at once.
        self.N = min(len(self.x), 10) if case.evaluation else len(self.x)
        rows, widths = self.N * self.M, [W.shape[1] for W in self.W]
        self.p = [torch.empty(self.N if layer == 0 else rows, width) for layer, width in enumerate(widths[:-1])]
        self.h = [torch.empty(rows, width) for width in widths[:-1]]
        self.u = [torch.empty(rows, width) for width in widths[:-1]]
        self.o = torch.empty(rows, widths[-1])
        self.mean = torch.empty_like(self.o)
        if not case.evaluation:
            self.g = [torch.empty(rows, width) for width in widths]
            self.g_W = [torch.empty_like(W) for W in self.W]
            self.g_b = [torch.empty_like(b) for b in self.b]
            self.velocity = [torch.zeros_like(value) for value in self.W + self.b]

    def forward(self, x, y, given=None):
        """log_w [N, M]; leaves E[y | o] in self.mean if a gradient needs it."""
        z = x
        for layer, (p, h, u) in enumerate(zip(self.p, self.h, self.u)):
            torch.addmm(self.b[layer], z, self.W[layer], out=p).sigmoid_()
            if given is not None:
                h.copy_(given[layer].view_as(h))
            else:
                u.uniform_()
                rows, shared = (self.N, self.M, -1), layer == 0
                torch.le(u.view(rows) if shared else u, p[:, None] if shared else p, out=h.view(rows) if shared else h)
            z = h
        o = torch.addmm(self.b[-1], z, self.W[-1], out=self.o)
        y, o3 = y[:, None], o.view(self.N, self.M, -1)
        if self.case.output == "softmax":
            log_p = torch.log_softmax(o3, -1)
            if not self.case.evaluation:
                torch.exp(log_p.view_as(o), out=self.mean)
            return log_p.gather(-1, y.long().expand(-1, self.M, -1)).squeeze(-1)
        if self.case.output == "bernoulli":
            log_w = torch.bmm(o3, y.transpose(1, 2)).squeeze(-1)
            log_w -= torch.nn.functional.softplus(o3).sum(-1)
            if not self.case.evaluation:
                torch.sigmoid(o, out=self.mean)
            return log_w
        torch.sub(y, o3, out=self.mean.view_as(o3))
        log_w = -0.5 * (self.mean * self.mean).view_as(o3).sum(-1) - 0.5 * o.shape[1] * math.log(2 * math.pi)
        self.mean.copy_(o)
        return log_w

    def criterion(self, log_w):
        return log_w.logsumexp(1) - math.log(self.M)

    def backward(self, y, log_w):
        case, N, M = self.case, self.N, self.M
        w_bar = log_w.softmax(1)
        w = w_bar.reshape(-1, 1) / N
        g = self.g[-1]
        if case.output == "softmax":
            torch.mul(self.mean, -w, out=g)
            g.scatter_add_(1, y.long().repeat_interleave(M, 0), w)
        else:
            torch.sub(y[:, None], self.mean.view(N, M, -1), out=g.view(N, M, -1))
            g.mul_(w)
        weight = ((w_bar - 1 / M) / N).view(-1, 1)
        for layer in range(case.depth, 0, -1):
            torch.mm(self.h[layer - 1].t(), g, out=self.g_W[layer])
            torch.sum(g, 0, out=self.g_b[layer])
            p, below = self.p[layer - 1], self.g[layer - 1]
            if case.estimator == "G5":
                p = p[:, None] if layer == 1 else p.view(N, M, -1)
                torch.sub(self.h[layer - 1].view(N, M, -1), p, out=below.view(N, M, -1))
                below.mul_(weight)
                g = below.view(N, M, -1).sum(1) if layer == 1 else below
            else:
                if layer == 1:  # the particles share p: their sum goes down
                    g = g.view(N, M, -1).sum(1)
                    below = below[:N]
                g = torch.mm(g, self.W[layer].t(), out=below)
                g.mul_(p).mul_(1 - p)
        torch.mm(self.x.t(), g, out=self.g_W[0])
        torch.sum(g, 0, out=self.g_b[0])

    def check(self):
        if self.case.evaluation:
            parts = []
            for first in range(0, len(self.x), self.N):
                given = [torch.tensor(h[first : first + self.N]) for h in self.case.h]
                parts.append(self.criterion(self.forward(self.x[first : first + self.N], self.y[first : first + self.N], given)))
            return torch.cat(parts), None
        log_w = self.forward(self.x, self.y, [torch.tensor(h) for h in self.case.h])
        self.backward(self.y, log_w)
        return self.criterion(log_w), [value for pair in zip(self.g_W, self.g_b) for value in pair]

    def run(self):
        if self.case.evaluation:
            for first in range(0, len(self.x), self.N):
                self.criterion(self.forward(self.x[first : first + self.N], self.y[first : first + self.N]))
            return
        log_w = self.forward(self.x, self.y)
        self.criterion(log_w)
        self.backward(self.y, log_w)
        torch._foreach_mul_(self.velocity, 0.9)
        torch._foreach_add_(self.velocity, self.g_W + self.g_b)
        torch._foreach_add_(self.W + self.b, self.velocity, alpha=0.0)
