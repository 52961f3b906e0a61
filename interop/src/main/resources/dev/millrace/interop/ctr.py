"""A click model of TensorFlow's: CSV_FILE LOG_FOLDER WORKERS [JOB INDEX PS_HOSTS WORKER_HOSTS].

With no workers it trains in one process. Otherwise, without a job, it starts one parameter server and the workers as
processes and ends them when it is ended. The first worker prints a step every 0.2 s.
"""

import os
import signal
import socket
import subprocess
import sys
import time

data, logs, workers = sys.argv[1], sys.argv[2], int(sys.argv[3])
if workers and len(sys.argv) == 4:
    held = []
    for _ in range(1 + workers):
        s = socket.socket()
        s.bind(("127.0.0.1", 0))
        held.append(s)
    hosts = ["127.0.0.1:%d" % s.getsockname()[1] for s in held]
    for s in held:
        s.close()
    tasks = [
        subprocess.Popen(
            [sys.executable, __file__] + sys.argv[1:] + [job, str(index), hosts[0], ",".join(hosts[1:])]
        )
        for job, index in [("ps", 0)] + [("worker", i) for i in range(workers)]
    ]

    def end(*_):
        for task in tasks:
            task.kill()
        os._exit(0)

    signal.signal(signal.SIGTERM, end)
    tasks[1].wait()
    end()

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
import tensorflow as tf  # noqa: E402

tf1 = tf.compat.v1
tf1.disable_v2_behavior()
tf1.logging.set_verbosity(tf1.logging.ERROR)
index, target, device, config = 0, "", None, None
if workers:
    job, index = sys.argv[4], int(sys.argv[5])
    cluster = tf1.train.ClusterSpec({"ps": sys.argv[6].split(","), "worker": sys.argv[7].split(",")})
    server = tf1.train.Server(cluster, job_name=job, task_index=index)
    if job == "ps":
        server.join()
    target = server.target
    here = "/job:worker/task:%d" % index
    device = tf1.train.replica_device_setter(cluster=cluster, worker_device=here)
    config = tf1.ConfigProto(device_filters=["/job:ps", here])

NUMBERS, CATEGORIES, IDS, WIDTH, HIDDEN, BATCH = 13, 26, 10000, 8, 64, 256


def parse(lines):
    return tf1.io.decode_csv(lines, [[0]] + [[0.0]] * NUMBERS + [[0]] * CATEGORIES)


def dense(name, x, size, activation=None):
    with tf1.variable_scope(name):
        w = tf1.get_variable("kernel", [int(x.shape[1]), size])
        b = tf1.get_variable("bias", [size], initializer=tf1.zeros_initializer())
        y = tf1.nn.bias_add(tf1.matmul(x, w), b)
        return activation(y) if activation else y


with tf1.device(device):
    step = tf1.train.get_or_create_global_step()
    with tf1.device("/job:worker/task:%d/cpu:0" % index if workers else None):
        lines = tf1.data.TextLineDataset(data).skip(1)
        if workers:
            lines = lines.shard(workers, index)
        rows = lines.repeat().shuffle(10000).batch(BATCH, drop_remainder=True)
        rows = rows.map(parse, num_parallel_calls=tf1.data.experimental.AUTOTUNE).prefetch(2)
        columns = tf1.data.make_one_shot_iterator(rows).get_next()
    parts = [tf1.reshape(c, [-1, 1]) for c in columns[1 : 1 + NUMBERS]]
    for i in range(CATEGORIES):
        table = tf1.get_variable("c%d" % i, [IDS, WIDTH])
        ids = columns[1 + NUMBERS + i]
        parts.append(tf1.nn.embedding_lookup(table, ids))
    features = tf1.concat(parts, 1)
    features.set_shape([BATCH, NUMBERS + CATEGORIES * WIDTH])
    hidden = dense("hidden", features, HIDDEN, tf1.nn.relu)
    logits = dense("click", hidden, 2)
    loss = tf1.reduce_mean(
        tf1.nn.sparse_softmax_cross_entropy_with_logits(labels=columns[0], logits=logits)
    )
    train = tf1.train.AdamOptimizer(0.001).minimize(loss, global_step=step)

shown = 0
with tf1.train.MonitoredTrainingSession(
    master=target,
    is_chief=index == 0,
    checkpoint_dir=logs if index == 0 else None,
    save_checkpoint_secs=60,
    config=config,
) as session:
    while True:
        _, _, made = session.run([train, loss, step])
        now = time.perf_counter()
        if index == 0 and now - shown > 0.2:
            shown = now
            print("step %d/1000000" % made, flush=True)
