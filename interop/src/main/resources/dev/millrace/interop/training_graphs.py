"""Writes training graphs as TF1-style Python makes them.

usage: training_graphs.py OUT SPEC...

A SPEC is comma-separated key=value pairs: model (softmax, mlp, cnn, embedding), optimizer, variables
(ref, resource), batch, and for a graph of a cluster ps (number of parameter servers) and worker (the
task the graph is for). Each gives OUT/SPEC.pb.

In every graph the placeholders are x and labels, the initial value of variable v is the placeholder
v/start, init initializes, loss is the loss, train is the train op.
"""

import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()

OPTIMIZERS = {
    "sgd": lambda: tf.train.GradientDescentOptimizer(0.05),
    "momentum": lambda: tf.train.MomentumOptimizer(0.02, 0.9),
    "nesterov": lambda: tf.train.MomentumOptimizer(0.02, 0.9, use_nesterov=True),
    "adagrad": lambda: tf.train.AdagradOptimizer(0.05),
    "adam": lambda: tf.train.AdamOptimizer(0.002),
    "rmsprop": lambda: tf.train.RMSPropOptimizer(0.002, momentum=0.5),
    "rmsprop_centered": lambda: tf.train.RMSPropOptimizer(0.002, centered=True),
    "ftrl": lambda: tf.train.FtrlOptimizer(0.05, l1_regularization_strength=0.001),
    "adadelta": lambda: tf.train.AdadeltaOptimizer(0.5, epsilon=1e-6),
}


def variable(name, shape):
    start = tf.placeholder(tf.float32, shape, name=name + "/start")
    return tf.get_variable(name, initializer=start)


def dense(x, name, inputs, units):
    return tf.matmul(x, variable(name + "/w", [inputs, units])) + variable(name + "/b", [units])


def softmax(x):
    return dense(x, "out", 784, 10)


def mlp(x):
    h = tf.nn.relu(dense(x, "h1", 784, 512))
    h = tf.nn.relu(dense(h, "h2", 512, 512))
    return dense(h, "out", 512, 10)


def cnn(x):
    def conv(x, name, inputs, filters):
        y = tf.nn.conv2d(x, variable(name + "/w", [5, 5, inputs, filters]), [1, 1, 1, 1], "SAME")
        y = tf.nn.relu(tf.nn.bias_add(y, variable(name + "/b", [filters])))
        return tf.nn.max_pool(y, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")

    h = conv(tf.reshape(x, [-1, 28, 28, 1]), "c1", 1, 32)
    h = conv(h, "c2", 32, 64)
    h = tf.nn.relu(dense(tf.reshape(h, [-1, 7 * 7 * 64]), "fc", 7 * 7 * 64, 1024))
    return dense(h, "out", 1024, 10)


def embedding(ids):
    rows = tf.nn.embedding_lookup(variable("table", [1000, 16]), ids)
    return dense(tf.reduce_mean(rows, axis=1), "out", 16, 10)


MODELS = {"softmax": softmax, "mlp": mlp, "cnn": cnn, "embedding": embedding}


def build(spec):
    batch = int(spec["batch"])
    if spec["model"] == "embedding":
        x = tf.placeholder(tf.int64, [batch, 5], name="x")
    else:
        x = tf.placeholder(tf.float32, [batch, 784], name="x")
    labels = tf.placeholder(tf.int64, [batch], name="labels")
    logits = MODELS[spec["model"]](x)
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    loss = tf.reduce_mean(losses, name="loss")
    step = tf.train.get_or_create_global_step()
    OPTIMIZERS[spec["optimizer"]]().minimize(loss, global_step=step, name="train")
    tf.group(tf.global_variables_initializer(), name="init")


def write(out, text):
    spec = dict(pair.split("=") for pair in text.split(","))
    tf.disable_resource_variables()
    if spec["variables"] == "resource":
        tf.enable_resource_variables()
    with tf.Graph().as_default() as graph:
        device = ""
        if "ps" in spec:
            device = tf.train.replica_device_setter(
                ps_tasks=int(spec["ps"]), worker_device="/job:worker/task:" + spec["worker"]
            )
        with tf.device(device):
            build(spec)
        with open(os.path.join(out, text + ".pb"), "wb") as f:
            f.write(graph.as_graph_def().SerializeToString())


if __name__ == "__main__":
    for argument in sys.argv[2:]:
        write(sys.argv[1], argument)
