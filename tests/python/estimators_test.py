"""scikit-learn's manners, by its own conformance suite and by use."""

import os
import pickle
import tempfile
import unittest
import warnings
from pathlib import Path

from package_support import import_package, main, program, weights_hash

os.environ["SCIPY_ARRAY_API"] = "1"  # else the suite leaves a check out
import_package("numpy", "sklearn", "pandas")

import numpy as np  # noqa: E402
import sfnn  # noqa: E402
from sfnn import SFNN, SFNNClassifier, SFNNRegressor, _engine  # noqa: E402
from sklearn.base import clone  # noqa: E402
from sklearn.datasets import load_iris  # noqa: E402
from sklearn.model_selection import GridSearchCV, cross_val_score  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import MinMaxScaler  # noqa: E402
from sklearn.utils import get_tags  # noqa: E402
from sklearn.utils.estimator_checks import check_estimator  # noqa: E402

X, CLASSES = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])[CLASSES]
QUICK = {"hidden": "10s", "epochs": 3, "batch_size": 40, "particles": 5, "random_state": 4, "device": "cpu"}


def two_modes(rows=400, seed=0):
    random = np.random.default_rng(seed)
    x = random.uniform(0, 3, (rows, 1))
    return x, np.where(random.random(rows) < 0.5, 3, -3) * np.sin(x[:, 0])


class Conformance(unittest.TestCase):
    def check(self, estimator):
        tags = get_tags(estimator)
        self.assertFalse(tags.non_deterministic or tags.no_validation or tags._skip_test)
        for kind in (tags.classifier_tags, tags.regressor_tags):
            self.assertFalse(kind is not None and kind.poor_score)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results = check_estimator(estimator, expected_failed_checks={})
        self.assertGreater(len(results), 40)
        self.assertEqual({result["status"] for result in results}, {"passed"})

    def test_classifier(self):
        self.check(SFNNClassifier(device="cpu"))

    def test_regressor(self):
        self.check(SFNNRegressor(device="cpu"))

    def test_structured(self):
        self.check(SFNN(output="gaussian", device="cpu"))


class Use(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def test_class_labels_may_be_texts(self):
        model = SFNNClassifier(random_state=0, device="cpu").fit(X, NAMES)
        self.assertGreater(model.score(X, NAMES), 0.95)
        self.assertEqual(model.sample(X, 5, random_state=1).shape, (150, 5))
        self.assertLessEqual(set(model.sample(X, 5).ravel()), set(NAMES))
        p, log_p = model.predict_proba(X), model.log_likelihood(X, NAMES)
        self.assertTrue(np.allclose(np.exp(log_p), p[np.arange(150), CLASSES], atol=1e-4))

    def test_search_with_two_jobs_and_pipelines(self):
        pipeline = make_pipeline(MinMaxScaler(), SFNNClassifier(**QUICK))
        grid = {"sfnnclassifier__hidden": ["10s", "20s"], "sfnnclassifier__learning_rate": [0.01, 0.1]}
        search = GridSearchCV(pipeline, grid, cv=2, n_jobs=2).fit(X, NAMES)
        alone = GridSearchCV(pipeline, grid, cv=2).fit(X, NAMES)
        self.assertEqual(list(search.cv_results_["mean_test_score"]), list(alone.cv_results_["mean_test_score"]))
        self.assertEqual(len(cross_val_score(SFNNRegressor(**QUICK), X, X[:, 0], cv=3)), 3)

    def test_clone_and_pickle(self):
        model = SFNNClassifier(**QUICK).fit(X, NAMES)
        same = pickle.loads(pickle.dumps(model))
        self.assertTrue((same.predict_proba(X) == model.predict_proba(X)).all())
        again = clone(model).fit(X, NAMES)
        self.assertEqual(weights_hash(again.network_), weights_hash(model.network_))
        other = clone(model).set_params(random_state=5).fit(X, NAMES)
        self.assertNotEqual(weights_hash(other.network_), weights_hash(model.network_))

    def test_fit_is_the_program(self):
        y = X[:, :2].astype(np.float32)
        model = SFNN(output="gaussian", **QUICK).fit(X.astype(np.float32), y)
        np.save(self.folder / "x.npy", X.astype(np.float32))
        np.save(self.folder / "y.npy", y)
        (self.folder / "config.toml").write_text(model.network_.config.to_toml())
        settings = ["data.set=files", "data.output=gaussian", "data.standardize=both"]
        settings += [f"data.{part}_{axis}={axis}.npy" for part in ("train", "test") for axis in "xy"]
        arguments = [word for setting in settings for word in ("--set", setting)]
        run = self.folder / "run"
        program("train", "--config", self.folder / "config.toml", "--data", self.folder, "--out", run, "--device", "cpu",
                *arguments)  # fmt: skip
        self.assertEqual(weights_hash(sfnn.Run(run).network()), weights_hash(model.network_))

    def test_partial_fit_is_an_epoch_at_a_constant_rate(self):
        model = SFNNClassifier(**QUICK)
        for _ in range(3):
            model.partial_fit(X, NAMES)
        constant = SFNNClassifier(**{**QUICK, "schedule": "constant"}).fit(X, NAMES)
        self.assertEqual(weights_hash(model.network_), weights_hash(constant.network_))

    def test_partial_fit_takes_other_rows_and_classes_to_come(self):
        model = SFNNClassifier(**QUICK)
        steps = []
        for rows in (slice(0, 100), slice(50, 150), slice(0, 130)):
            model.partial_fit(X[rows], NAMES[rows], classes=np.unique(NAMES))
            steps.append(model.network_.step)
        self.assertEqual(steps, sorted(set(steps)))
        self.assertEqual(model.predict_proba(X).shape, (150, 3))
        with self.assertRaisesRegex(ValueError, "not among the known ones"):
            model.partial_fit(X, np.where(CLASSES == 0, "rose", NAMES))

    def test_two_modes(self):
        x, y = two_modes()
        model = SFNNRegressor("20s+40d", epochs=200, batch_size=20, learning_rate=0.03, random_state=0, device="cpu").fit(x, y)
        drawn = model.sample([[1.5]], 200, random_state=0)[0]
        self.assertGreater(min((drawn > 2).sum(), (drawn < -2).sum()), 50)
        self.assertLess((np.abs(drawn) < 1).sum(), 30)  # a mean would lie there
        self.assertLess(abs(model.predict([[1.5]])[0]), 1.5)
        one_mode = -0.5 * np.log(2 * np.pi * np.e * y.var())
        self.assertGreater(model.log_likelihood(*two_modes(100, 1)).mean(), one_mode + 0.5)

    def test_bits_in_the_shape_of_pictures(self):
        random = np.random.default_rng(0)
        x, coin = random.integers(0, 2, (2, 600))
        y = np.stack([np.full((600, 2), 0) + x[:, None], np.full((600, 2), 0) + coin[:, None]], axis=1).astype(np.uint8)
        model = SFNN("20s", epochs=60, learning_rate=0.05, random_state=0, device="cpu").fit(x[:, None], y)
        self.assertEqual(model.predict(x[:, None]).shape, (600, 2, 2))
        self.assertEqual(model.sample(x[:, None], 7).shape, (600, 7, 2, 2))
        self.assertGreater(model.score(x[:, None], y), -1.0)  # log 2 is the best; without hidden units it is 2 log 2
        drawn = model.sample(x[:, None], 20, random_state=0)
        self.assertGreater((drawn[..., 1, 0] == drawn[..., 1, 1]).mean(), 0.75)  # apart, 0.5
        self.assertTrue(0.3 < drawn[..., 1, 0].mean() < 0.7)

    def test_counts(self):
        random = np.random.default_rng(0)
        x = random.uniform(0, 2, (500, 1))
        y = random.poisson(np.exp(x))
        model = SFNN(output="poisson", epochs=40, random_state=0, device="cpu").fit(x, y)
        self.assertLess(abs(model.predict([[1.0]])[0, 0] - np.e), 0.7)
        drawn = model.sample([[1.0]], 50)
        self.assertTrue((drawn == np.round(drawn)).all())
        with self.assertRaisesRegex(ValueError, "target number"):
            model.fit(x, y - 100)

    def test_save_and_load(self):
        model = SFNNClassifier(**QUICK).fit(X, NAMES)
        model.save(self.folder / "model.safetensors")
        same = SFNNClassifier.load(self.folder / "model.safetensors", device="cpu")
        self.assertTrue((same.predict(X) == model.predict(X)).all())
        self.assertEqual(same.get_params(), model.get_params())
        with self.assertRaisesRegex(ValueError, "softmax targets"):
            SFNNRegressor.load(self.folder / "model.safetensors")
        program("info", self.folder / "model.safetensors")

    def test_a_network_stays_after_ctrl_c(self):
        def interrupt(progress):
            raise KeyboardInterrupt

        model = SFNNClassifier(**{**QUICK, "callbacks": interrupt})
        with self.assertRaises(KeyboardInterrupt):
            model.fit(X, NAMES)
        self.assertEqual(model.network_.step, 4)
        self.assertEqual(model.predict(X).shape, (150,))
        stopped = SFNNClassifier(**{**QUICK, "callbacks": [lambda p: None, lambda p: p.epoch == 2]}).fit(X, NAMES)
        self.assertEqual(stopped.network_.step, 8)

    def test_bad_parameters_are_refused_by_fit(self):
        for bad in ({"hidden": "10x"}, {"gradient": "G9"}, {"epochs": -1}, {"config": {"train.lr": 1}}, {"input": "red"}):
            with self.assertRaises(ValueError):
                SFNNClassifier(**bad).fit(X, NAMES)
        with self.assertRaises(_engine.ConfigError):
            SFNN(output="cauchy").fit(X, X)


if __name__ == "__main__":
    main()
