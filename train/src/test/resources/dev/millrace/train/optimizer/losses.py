"""Prints the losses of some steps of training in TensorFlow; OptimizerLossesTest has them in its table."""
import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()

OPTIMIZERS = {
    "gradient_descent": lambda: tf.train.GradientDescentOptimizer(0.5),
    "momentum": lambda: tf.train.MomentumOptimizer(0.5, 0.9),
    "nesterov": lambda: tf.train.MomentumOptimizer(0.5, 0.9, use_nesterov=True),
    "adagrad": lambda: tf.train.AdagradOptimizer(0.5),
    "adadelta": lambda: tf.train.AdadeltaOptimizer(0.5, 0.9, 1e-2),
    "adam": lambda: tf.train.AdamOptimizer(0.1),
    "rmsprop": lambda: tf.train.RMSPropOptimizer(0.1, momentum=0.5),
    "centered_rmsprop": lambda: tf.train.RMSPropOptimizer(0.1, centered=True),
    "ftrl": lambda: tf.train.FtrlOptimizer(0.5, l1_regularization_strength=0.01, l2_regularization_strength=0.02),
    "ftrl_v2": lambda: tf.train.FtrlOptimizer(0.5, l2_shrinkage_regularization_strength=0.1, beta=0.3),
}


def wave(*shape):
    n = int(np.prod(shape))
    return np.sin(np.arange(1, n + 1) * 0.7).astype(np.float32).reshape(shape)


for name, optimizer in OPTIMIZERS.items():
    for resource in (False, True):
        with tf.Graph().as_default(), tf.variable_scope("", use_resource=resource):
            e = tf.get_variable("e", initializer=wave(5, 4))
            w = tf.get_variable("w", initializer=wave(4, 3))
            b = tf.get_variable("b", initializer=wave(3))
            x = tf.constant(wave(6, 4))
            rows = tf.nn.embedding_lookup(e, tf.constant([0, 3, 3, 1, 0, 3]))
            logits = tf.nn.bias_add(tf.matmul(x * rows, w), b)
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(
                logits=logits, labels=tf.constant([0, 1, 2, 0, 1, 2])))
            train = optimizer().minimize(loss, tf.train.get_or_create_global_step())
            with tf.Session() as session:
                session.run(tf.global_variables_initializer())
                losses = []
                for _ in range(5):
                    losses.append(session.run(loss))
                    session.run(train)
                print(name, resource, [float(v) for v in losses])
