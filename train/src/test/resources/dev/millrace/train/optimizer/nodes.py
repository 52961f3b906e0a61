"""Writes the nodes that TensorFlow's Python library adds for each optimizer, one file each.

Run with TensorFlow 2.x in this directory; OptimizerNodesTest compares Millrace's nodes with the files. Gradients are left out, and stand as *.
"""
import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()

OPTIMIZERS = {
    "gradient_descent": lambda: tf.train.GradientDescentOptimizer(0.5),
    "momentum": lambda: tf.train.MomentumOptimizer(0.5, 0.9, use_nesterov=True),
    "adagrad": lambda: tf.train.AdagradOptimizer(0.5),
    "adadelta": lambda: tf.train.AdadeltaOptimizer(0.5),
    "adam": lambda: tf.train.AdamOptimizer(0.5),
    "rmsprop": lambda: tf.train.RMSPropOptimizer(0.5),
    "centered_rmsprop": lambda: tf.train.RMSPropOptimizer(0.5, centered=True),
    "ftrl": lambda: tf.train.FtrlOptimizer(0.5),
}


def build(optimizer, resource):
    with tf.variable_scope("", use_resource=resource):
        x = tf.placeholder(tf.float32, [None, 4], name="x")
        y = tf.placeholder(tf.int64, [None], name="y")
        ids = tf.placeholder(tf.int64, [None], name="ids")
        w = tf.get_variable("w", [4, 3])
        b = tf.get_variable("b", [3], initializer=tf.zeros_initializer())
        e = tf.get_variable("e", [700, 4], initializer=tf.truncated_normal_initializer(stddev=0.1))
        h = x + tf.nn.embedding_lookup(e, ids)
        logits = tf.nn.bias_add(tf.matmul(h, w), b)
        loss = tf.reduce_mean(
            tf.nn.sparse_softmax_cross_entropy_with_logits(logits=logits, labels=y))
        step = tf.train.get_or_create_global_step()
        optimizer().minimize(loss, global_step=step)
        tf.global_variables_initializer()


def is_own(name):
    """Neither a gradient, nor one of the reads Python adds at each use of a resource variable."""
    return not name.startswith("gradients") and ("ReadVariableOp" not in name or "/Read/" in name)


def line(n):
    inputs = sorted(i for i in n.input if i.startswith("^") and is_own(i[1:]))
    inputs = [i if is_own(i) else "*" for i in n.input if not i.startswith("^")] + inputs
    groups = [c.decode() for c in n.attr["_class"].list.s] if "_class" in n.attr else []
    return f"{n.name} = {n.op}({', '.join(inputs)}) {n.device} {' '.join(groups)}".strip()


for name, optimizer in OPTIMIZERS.items():
    for kind in ("ref", "resource"):
        graph = tf.Graph()
        with graph.as_default(), tf.device(tf.train.replica_device_setter(2)):
            build(optimizer, kind == "resource")
        with open(f"{name}.{kind}.txt", "w") as f:
            for n in graph.as_graph_def().node:
                if is_own(n.name):
                    f.write(line(n) + "\n")
