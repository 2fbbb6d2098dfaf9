"""Networks in PyTorch and in onnxruntime: their samples, likelihoods and bits against ours.

Arguments: the folder of the package, the program sfnn, docs/python.md, and which of both: torch or onnx.
"""

import importlib.util
import sys
import tempfile
import unittest
from pathlib import Path

from package_support import import_package, main, skip

TOOL = sys.argv[4]
if TOOL == "torch" and importlib.util.find_spec("torch") is None:
    skip("torch is not installed: ./run bench --peers installs it into build/peers")
import_package("numpy", *(["torch"] if TOOL == "torch" else ["onnx", "onnxruntime"]))

import numpy as np  # noqa: E402
import sfnn  # noqa: E402

if TOOL == "torch":
    import torch
else:
    import onnxruntime

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(2, 3, (60, 4)).astype(np.float32)
TARGETS = {
    "bernoulli": (RANDOM.random((60, 3)) < 0.5).astype(np.float32),
    "softmax": RANDOM.integers(0, 3, 60).astype(np.float32),
    "gaussian": RANDOM.normal(5, [2, 7], (60, 2)).astype(np.float32),
    "poisson": RANDOM.poisson(3, (60, 2)).astype(np.float32),
}
GAUSSIANS = ("3", "learnt", "learnt-each", "predicted")
# Name, hidden layers, output, more config. Both kinds of unit, noise, each function, sigma and set of weights.
CASES = [
    ("stochastic", "5s,4s", "bernoulli", {}),
    ("hybrid", "3s+6d,4s+5tanh", "softmax", {}),
    ("noise", "3n+6relu", "poisson", {}),
    ("average", "5s", "bernoulli", {"train.ema": 0.9, "eval.weights": "average"}),
    ("as stochastic", "5d,4d", "bernoulli", {"eval.as_stochastic": True}),
    *((f"sigma {sigma}", "4s+4d", "gaussian", {"net.sigma": sigma}) for sigma in GAUSSIANS),
]
M = 20000


def trained(hidden, output, more):
    units = "both" if output == "gaussian" else "x"
    data = sfnn.Data.from_arrays(X, TARGETS[output], output=output, standardize=units)
    config = {"net.hidden": hidden, "train.epochs": 5, "train.batch": 10, "train.learning_rate": 0.05, **more}
    network = sfnn.train(config, data=data, device="cpu")
    return network, TARGETS[output]


def each_case(test):
    def run(self):
        for name, hidden, output, more in CASES:
            with self.subTest(name):
                test(self, *trained(hidden, output, more))

    return run


def scale_of(network):
    """How far a mean over M draws may lie from another, per unit of the targets' spread: 5 standard errors of both."""
    return 5 * np.sqrt(2 / M) * np.maximum(1, network.sample(X[:5], 400).std())


@unittest.skipUnless(TOOL == "torch", "another tool")
class Torch(unittest.TestCase):
    @each_case
    def test_likelihoods_agree(self, network, y):
        ours = network.log_likelihood(X, y, particles=M)
        theirs = network.to_torch().log_likelihood(X, y, M, torch.Generator().manual_seed(1)).detach().numpy()
        np.testing.assert_allclose(theirs, ours, atol=0.15)
        self.assertLess(abs((theirs - ours).mean()), 0.02)

    @each_case
    def test_means_and_samples_agree(self, network, y):
        module, x = network.to_torch(), X[:5]
        ours = network.predict(x, particles=M, seed=7)
        generator = torch.Generator().manual_seed(2)
        np.testing.assert_allclose(module.predict(x, M, generator).numpy(), ours, atol=scale_of(network))
        drawn, own = module.sample(x, M, generator).numpy(), network.sample(x, M)
        self.assertEqual(drawn.shape, own.shape)
        np.testing.assert_allclose(drawn.mean(1), own.mean(1), atol=scale_of(network))
        np.testing.assert_allclose(drawn.std(1), own.std(1), rtol=0.05, atol=scale_of(network))

    def test_without_draws_it_is_the_same_function(self):
        for output in TARGETS:
            network, y = trained("6d,5tanh", output, {})
            module = network.to_torch()
            theirs = module.log_likelihood(X, y, 1).detach().numpy()
            np.testing.assert_allclose(theirs, network.log_likelihood(X, y, particles=1), rtol=2e-5, atol=2e-5)
            np.testing.assert_allclose(module.predict(X, 1).numpy(), network.predict(X, particles=1), rtol=2e-5, atol=2e-5)

    def test_parameters_have_the_names_of_a_checkpoint(self):
        network, _ = trained("3s+6d,4s", "bernoulli", {})
        state = network.to_torch().state_dict()
        self.assertEqual(sorted(state), sorted(network.weights()))
        for name, values in network.weights().items():
            np.testing.assert_array_equal(state[name].numpy(), values)


@unittest.skipUnless(TOOL == "onnx", "another tool")
class Onnx(unittest.TestCase):
    @each_case
    def test_means_and_bits_agree_in_onnxruntime(self, network, y):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "network.onnx"
            network.to_onnx(path, particles=M)
            session = onnxruntime.InferenceSession(path.read_bytes(), providers=["CPUExecutionProvider"])
        names = [output.name for output in session.get_outputs()]
        x = X[:5]
        got = dict(zip(names, session.run(None, {"x": x})))
        ours = network.predict(x, particles=M, seed=7)
        np.testing.assert_allclose(got["mean"], ours, atol=scale_of(network))
        self.assertEqual(got["draws"].shape, (M, 5, network.outputs))
        self.check_bits(network, x, got["layer1.h"])
        again, bits = session.run(["mean", "layer1.h"], {"x": X[:3]})  # any number of rows, and new draws
        self.assertEqual(again.shape, (3, network.outputs))
        self.assertFalse(np.array_equal(bits, got["layer1.h"][:, :3]))

    def check_bits(self, network, x, bits):
        """Bits of the first layer are 1 as often as p says, by NumPy."""
        from sfnn._parts import parts_of

        parts = parts_of(network)
        layer, p = parts.layers[0], 0.5
        if not layer.fixed:
            z = (x - parts.x_mean) / parts.x_scale
            p = 1 / (1 + np.exp(-(z @ layer.W_s + layer.b_s)))
        self.assertEqual(set(np.unique(bits)), {0, 1})
        sigma = np.sqrt(np.maximum(p * (1 - p), 1 / M) / M)
        self.assertLess((np.abs(bits.mean(0) - p) / sigma).max(), 4.5)

    def test_particles_must_be_counted(self):
        network, _ = trained("3s", "bernoulli", {})
        with self.assertRaisesRegex(ValueError, "at least 1"):
            network.to_onnx(particles=0)


if __name__ == "__main__":
    main()
