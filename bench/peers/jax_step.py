"""The step in JAX: the objective, jax.grad and jax.jit."""

import jax
import jax.numpy as jnp

jax.config.update("jax_default_prng_impl", "rbg")  # the fastest generator that JAX has

CHUNK = 10  # examples of an evaluation worked on at a time; divides their number


def log_prob(output, o, y):
    """log P(y | o) of every particle; o [N, M, D]."""
    if output == "softmax":
        return jnp.take_along_axis(jax.nn.log_softmax(o), y.astype(int)[:, None, :], -1).squeeze(-1)
    if output == "bernoulli":
        return (y[:, None] * o - jax.nn.softplus(o)).sum(-1)
    return -0.5 * ((y[:, None] - o) ** 2).sum(-1) - 0.5 * o.shape[-1] * jnp.log(2 * jnp.pi)


class Step:
    def __init__(self, case, threads):
        self.case = case
        self.x, self.y = jnp.asarray(case.x), jnp.asarray(case.y)
        self.params = [jnp.asarray(value) for value in case.params]
        self.velocity = [jnp.zeros_like(value) for value in self.params]
        self.key = jax.random.key(1)
        self.gradient = jax.grad(self.objective, has_aux=True)
        self.train = jax.jit(self.train_step, donate_argnums=(0, 1))
        self.evaluate = jax.jit(self.evaluate_chunks)

    def objective(self, params, key, x, y, given=None):
        """What the gradient is the gradient of, and C_hat [N]."""
        case = self.case
        z, drawn = x, []
        for layer in range(case.depth):
            a = z @ params[2 * layer] + params[2 * layer + 1]
            if layer == 0:
                a = a[:, None, :]  # the particles share it
            p = jax.nn.sigmoid(a)
            if given:
                h = given[layer]
            else:
                key, mine = jax.random.split(key)
                h = (jax.random.uniform(mine, (len(x), case.M, p.shape[-1])) < p).astype(jnp.float32)
            # G3: the derivative goes through p; G5: not at all
            z = p + jax.lax.stop_gradient(h - p) if case.estimator == "G3" and not case.evaluation else h
            drawn.append((a, h))
        log_w = log_prob(case.output, z @ params[-2] + params[-1], y)
        C_hat = jax.nn.logsumexp(log_w, axis=1) - jnp.log(case.M)
        total = C_hat.mean()
        if case.estimator == "G5":
            weight = jax.lax.stop_gradient(jax.nn.softmax(log_w, axis=1)) - 1 / case.M
            for a, h in drawn:
                total += (weight * (h * a - jax.nn.softplus(a)).sum(-1)).sum(1).mean()
        return total, C_hat

    def train_step(self, params, velocity, key):
        key, mine = jax.random.split(key)
        gradient, _ = self.gradient(params, mine, self.x, self.y)
        velocity = [0.9 * v + g for v, g in zip(velocity, gradient)]
        return [w + 0.0 * v for w, v in zip(params, velocity)], velocity, key

    def evaluate_chunks(self, params, key, x, y):
        """Some examples at a time: all at once would not fit into the caches."""
        chunks = len(x) // CHUNK
        parts = (jax.random.split(key, chunks), x.reshape(chunks, CHUNK, -1), y.reshape(chunks, CHUNK, -1))
        return jax.lax.map(lambda part: self.objective(params, *part)[1], parts)

    def check(self):
        given = [jnp.asarray(h, jnp.float32) for h in self.case.h]
        if self.case.evaluation:
            return self.objective(self.params, self.key, self.x, self.y, given)[1], None
        gradient, C_hat = jax.jit(self.gradient)(self.params, self.key, self.x, self.y, given)
        return C_hat, gradient

    def run(self):
        if self.case.evaluation:
            self.key, mine = jax.random.split(self.key)
            self.evaluate(self.params, mine, self.x, self.y).block_until_ready()
        else:
            self.params, self.velocity, self.key = self.train(self.params, self.velocity, self.key)
            jax.block_until_ready(self.params)
