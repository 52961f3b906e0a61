"""Writes metrics.txt, random data with the values of TensorFlow and scikit-learn, for MetricsGoldenTest.

Run with Python 3 and numpy, scikit-learn and tensorflow: python metrics.py > metrics.txt
"""
import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import sklearn.metrics as sk
import tensorflow as tf
from sklearn.calibration import calibration_curve

rng = np.random.default_rng(7)
N = 500


def put(name, values):
    print(name, *(repr(float(v)) for v in np.ravel(values)))


labels = rng.integers(0, 2, N)
# Rounded: many scores are equal.
probabilities = np.clip(rng.normal(0.35 + 0.3 * labels, 0.25), 0, 1).round(2).astype(np.float32).astype(np.float64)
weights = rng.integers(0, 5, N) / 2.0
put("labels", labels)
put("probabilities", probabilities)
put("weights", weights)
for suffix, w in (("", None), (".weighted", weights)):
    yes = probabilities > 0.5
    put("accuracy" + suffix, sk.accuracy_score(labels, yes, sample_weight=w))
    put("precision" + suffix, sk.precision_score(labels, yes, sample_weight=w))
    put("recall" + suffix, sk.recall_score(labels, yes, sample_weight=w))
    put("f1" + suffix, sk.f1_score(labels, yes, sample_weight=w))
    put("log_loss" + suffix, sk.log_loss(labels, probabilities, sample_weight=w))
    put("roc_auc" + suffix, sk.roc_auc_score(labels, probabilities, sample_weight=w))
    put("average_precision" + suffix, sk.average_precision_score(labels, probabilities, sample_weight=w))
    for curve in ("ROC", "PR"):
        for thresholds in (200, 20):
            metric = tf.keras.metrics.AUC(num_thresholds=thresholds, curve=curve)
            metric.update_state(labels, probabilities.astype(np.float32), sample_weight=w)
            put(f"keras.{curve}.{thresholds}{suffix}", metric.result())
true, predicted = calibration_curve(labels, probabilities, n_bins=7)
put("calibration.positives", true)
put("calibration.predictions", predicted)
put("calibration.ratio", probabilities.mean() / labels.mean())

classes = rng.integers(0, 4, N)
taken = np.where(rng.random(N) < 0.6, classes, rng.integers(0, 4, N))
put("classes", classes)
put("taken", taken)
put("confusion", sk.confusion_matrix(classes, taken))
put("classes.accuracy", sk.accuracy_score(classes, taken))
put("classes.precision", sk.precision_score(classes, taken, average=None))
put("classes.recall", sk.recall_score(classes, taken, average=None))
put("classes.f1", sk.f1_score(classes, taken, average=None))
put("classes.macro_f1", sk.f1_score(classes, taken, average="macro"))

# Far from 0, so that a naive sum of squares would lose the variance.
targets = 1e6 + rng.normal(0, 1, N)
estimates = targets + rng.normal(0, 0.5, N)
put("targets", targets)
put("estimates", estimates)
for suffix, w in (("", None), (".weighted", weights)):
    put("mean_absolute_error" + suffix, sk.mean_absolute_error(targets, estimates, sample_weight=w))
    put("mean_squared_error" + suffix, sk.mean_squared_error(targets, estimates, sample_weight=w))
    put("root_mean_squared_error" + suffix, sk.root_mean_squared_error(targets, estimates, sample_weight=w))
    put("r2" + suffix, sk.r2_score(targets, estimates, sample_weight=w))

QUERIES, ITEMS = 40, 12
relevances = np.maximum(rng.integers(-3, 4, (QUERIES, ITEMS)), 0)
relevances[3] = 0
scores = (relevances + rng.normal(0, 2, (QUERIES, ITEMS))).round(0)
put("relevances", relevances)
put("scores", scores)
put("ndcg", sk.ndcg_score(relevances, scores))
put("ndcg.5", sk.ndcg_score(relevances, scores, k=5))
put("ndcg.exponential.5", sk.ndcg_score(2.0**relevances - 1, scores, k=5))
some = [q for q in range(QUERIES) if relevances[q].any()]
put("mean_average_precision", sum(sk.average_precision_score(relevances[q] > 0, scores[q]) for q in some) / QUERIES)
