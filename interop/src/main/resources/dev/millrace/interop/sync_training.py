"""A task of TensorFlow's synchronous training: NETWORK PS_HOSTS WORKER_HOSTS JOB INDEX.

Worker 0 is the chief. Workers, told a number of steps on standard input, run them and answer with the seconds
they took; a parameter server serves until its standard input ends.
"""

import os
import sys
import time

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

tf1 = tf.compat.v1
tf1.disable_v2_behavior()

network, ps, workers, job, index = sys.argv[1:6]
index = int(index)
cluster = tf1.train.ClusterSpec({"ps": ps.split(","), "worker": workers.split(",")})
server = tf1.train.Server(cluster, job_name=job, task_index=index)
if job == "ps":
    print("@ ready", flush=True)
    sys.stdin.read()
    os._exit(0)


def dense(name, x, size, activation=None):
    with tf1.variable_scope(name):
        w = tf1.get_variable("kernel", [int(x.shape[1]), size])
        b = tf1.get_variable("bias", [size], initializer=tf1.zeros_initializer())
        y = tf1.nn.bias_add(tf1.matmul(x, w), b)
        return activation(y) if activation else y


def convolution(name, x, filters):
    with tf1.variable_scope(name):
        w = tf1.get_variable("kernel", [5, 5, int(x.shape[3]), filters])
        b = tf1.get_variable("bias", [filters], initializer=tf1.zeros_initializer())
        y = tf1.nn.relu(tf1.nn.bias_add(tf1.nn.conv2d(x, w, strides=[1, 1, 1, 1], padding="SAME"), b))
        return tf1.nn.max_pool(y, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")


with tf1.device(
    tf1.train.replica_device_setter(cluster=cluster, worker_device="/job:worker/task:%d" % index)
):
    global_step = tf1.train.get_or_create_global_step()
    x = tf1.placeholder(tf.float32, [None, 784])
    y = tf1.placeholder(tf.int64, [None])
    h = x
    if network == "mlp":
        h = dense("hidden1", h, 512, tf1.nn.relu)
        h = dense("hidden2", h, 512, tf1.nn.relu)
    elif network == "cnn":
        h = convolution("conv1", tf1.reshape(h, [-1, 28, 28, 1]), 32)
        h = convolution("conv2", h, 64)
        h = dense("dense", tf1.reshape(h, [-1, 7 * 7 * 64]), 1024, tf1.nn.relu)
    logits = dense("logits", h, 10)
    loss = tf1.reduce_mean(
        tf1.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits)
    )
    count = len(workers.split(","))
    optimizer = tf1.train.SyncReplicasOptimizer(
        tf1.train.GradientDescentOptimizer(0.01),
        replicas_to_aggregate=count,
        total_num_replicas=count,
    )
    train = optimizer.minimize(loss, global_step=global_step)

random = np.random.RandomState(index)
batch = {x: random.rand(100, 784).astype(np.float32), y: random.randint(10, size=100)}
session = tf1.train.MonitoredTrainingSession(
    master=server.target,
    is_chief=index == 0,
    hooks=[optimizer.make_session_run_hook(index == 0, num_tokens=0)],
    config=tf1.ConfigProto(device_filters=["/job:ps", "/job:worker/task:%d" % index]),
)
print("@ ready", flush=True)
for line in sys.stdin:
    start = time.perf_counter()
    for _ in range(int(line)):
        session.run([loss, train], feed_dict=batch)
    print("@ %.9f" % (time.perf_counter() - start), flush=True)
os._exit(0)
