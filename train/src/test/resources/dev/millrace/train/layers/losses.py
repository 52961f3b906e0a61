"""Writes losses.txt, random data with the losses and gradients of TensorFlow, for LossesTest.

Run with Python 3 and tensorflow: python losses.py > losses.txt. The ranking losses, which TensorFlow does not have,
are loops over their definitions, in TensorFlow for the gradients.
"""
import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow as tf

rng = np.random.default_rng(11)
SHAPE = (6, 5)


def put(name, values):
    print(name, *(repr(float(v)) for v in np.ravel(values)))


logits = rng.normal(0, 4, SHAPE)
logits[0, 0], logits[0, 1], logits[0, 2] = 0, 60, -60
labels = rng.integers(0, 2, SHAPE).astype(np.float64)
labels[1, 1] = 0.3
relevances = rng.integers(-1, 4, SHAPE).astype(np.float64)
relevances[2] = 0
relevances[3] = -1
put("logits", logits)
put("labels", labels)
put("relevances", relevances)


def loss(name, function, answers):
    x = tf.constant(logits)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = function(tf.constant(answers), x)
    put(name, y)
    put(name + ".gradient", tape.gradient(y, x))


def mean_of(function):
    return lambda z, x: tf.reduce_mean(function(z, x))


def focal(gamma, alpha):
    def of(z, x):
        p = tf.sigmoid(x)
        ce = tf.nn.sigmoid_cross_entropy_with_logits(z, x)
        p_t = z * p + (1 - z) * (1 - p)
        weight = 1 if alpha is None else z * alpha + (1 - z) * (1 - alpha)
        return tf.reduce_mean(weight * (1 - p_t) ** gamma * ce)

    return of


def pairwise(z, x):
    terms = []
    for q in range(SHAPE[0]):
        for i in range(SHAPE[1]):
            for j in range(SHAPE[1]):
                if z[q, j] >= 0 and z[q, i] > z[q, j]:
                    terms.append(tf.math.softplus(x[q, j] - x[q, i]))
    return tf.add_n(terms) / len(terms)


def listwise(z, x):
    terms = []
    for q in range(SHAPE[0]):
        real = [i for i in range(SHAPE[1]) if z[q, i] >= 0]
        if not real or sum(z[q, i] for i in real) == 0:
            continue
        gains = tf.gather(z[q], real)
        terms.append(tf.nn.softmax_cross_entropy_with_logits(gains / tf.reduce_sum(gains), tf.gather(x[q], real)))
    return tf.add_n(terms) / len(terms)


loss("sigmoid_cross_entropy", lambda z, x: tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(z, x)), labels)
loss("hinge", mean_of(lambda z, x: tf.nn.relu(1 - (2 * z - 1) * x)), labels)
loss("huber", mean_of(lambda z, x: tf.keras.losses.Huber(1.5, dtype="float64")(z, x)), labels)
loss("mean_absolute_error", mean_of(lambda z, x: tf.abs(z - x)), labels)
loss("focal", focal(2.0, None), labels)
loss("focal.alpha", focal(1.5, 0.25), labels)
loss("pairwise", pairwise, relevances)
loss("listwise", listwise, relevances)
hard = (labels > 0.5).astype(np.float64)
checks = [
    (tf.keras.losses.BinaryFocalCrossentropy(gamma=2.0, from_logits=True, dtype="float64"), focal(2.0, None)),
    (
        tf.keras.losses.BinaryFocalCrossentropy(True, 0.25, gamma=1.5, from_logits=True, dtype="float64"),
        focal(1.5, 0.25),
    ),
]
small = np.clip(logits, -10, 10)  # Keras moves probabilities away from 0 and 1
for keras, ours in checks:
    assert abs(float(keras(hard, small)) - float(ours(tf.constant(hard), tf.constant(small)))) < 1e-6, keras
