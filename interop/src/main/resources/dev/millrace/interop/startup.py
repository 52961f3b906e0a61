"""A job of TensorFlow's that trains on MNIST: DATA_FOLDER LOG_FOLDER [JOB INDEX PS_HOSTS WORKER_HOSTS].

Without a job it starts one parameter server and two workers as processes and ends them when it is ended. Worker 0
prints its first step, and then one every 0.2 s.
"""

import os
import signal
import socket
import subprocess
import sys
import time

data, logs = sys.argv[1:3]
if len(sys.argv) == 3:
    held = []
    for _ in range(3):
        s = socket.socket()
        s.bind(("127.0.0.1", 0))
        held.append(s)
    hosts = ["127.0.0.1:%d" % s.getsockname()[1] for s in held]
    for s in held:
        s.close()
    shape = [hosts[0], ",".join(hosts[1:])]
    tasks = [
        subprocess.Popen([sys.executable, __file__, data, logs, job, index] + shape)
        for job, index in [("ps", "0"), ("worker", "0"), ("worker", "1")]
    ]

    def end(*_):
        for task in tasks:
            task.kill()
        os._exit(0)

    signal.signal(signal.SIGTERM, end)
    tasks[1].wait()
    end()

job, index, ps, workers = sys.argv[3:7]
index = int(index)
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
import gzip  # noqa: E402

import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

tf1 = tf.compat.v1
tf1.disable_v2_behavior()
tf1.logging.set_verbosity(tf1.logging.ERROR)
cluster = tf1.train.ClusterSpec({"ps": ps.split(","), "worker": workers.split(",")})
server = tf1.train.Server(cluster, job_name=job, task_index=index)
if job == "ps":
    server.join()


def read(name, skip):
    with gzip.open(os.path.join(data, name)) as f:
        return np.frombuffer(f.read(), np.uint8, offset=skip)


images = read("train-images-idx3-ubyte.gz", 16).reshape(-1, 784)
labels = read("train-labels-idx1-ubyte.gz", 8).astype(np.int64)


def dense(name, x, size, activation=None):
    with tf1.variable_scope(name):
        w = tf1.get_variable("kernel", [int(x.shape[1]), size])
        b = tf1.get_variable("bias", [size], initializer=tf1.zeros_initializer())
        y = tf1.nn.bias_add(tf1.matmul(x, w), b)
        return activation(y) if activation else y


with tf1.device(
    tf1.train.replica_device_setter(cluster=cluster, worker_device="/job:worker/task:%d" % index)
):
    step = tf1.train.get_or_create_global_step()
    x = tf1.placeholder(tf.float32, [None, 784])
    y = tf1.placeholder(tf.int64, [None])
    h = dense("hidden1", x, 256, tf1.nn.relu)
    h = dense("hidden2", h, 128, tf1.nn.relu)
    logits = dense("logits", h, 10)
    loss = tf1.reduce_mean(
        tf1.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits)
    )
    tf1.summary.scalar("loss", loss)
    train = tf1.train.AdamOptimizer(0.001).minimize(loss, global_step=step)

random = np.random.RandomState(index)
order = random.permutation(len(labels))
at = 0
shown = 0
with tf1.train.MonitoredTrainingSession(
    master=server.target,
    is_chief=index == 0,
    checkpoint_dir=logs if index == 0 else None,
    save_checkpoint_secs=60,
    config=tf1.ConfigProto(device_filters=["/job:ps", "/job:worker/task:%d" % index]),
) as session:
    while True:
        if at + 100 > len(labels):
            order = random.permutation(len(labels))
            at = 0
        rows = order[at : at + 100]
        at += 100
        batch = {x: images[rows].astype(np.float32) / 255, y: labels[rows]}
        _, _, made = session.run([train, loss, step], feed_dict=batch)
        now = time.perf_counter()
        if index == 0 and now - shown > 0.2:
            shown = now
            print("step %d/1000000" % made, flush=True)
