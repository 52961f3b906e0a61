"""A TensorFlow worker of synchronous training: y = w x on y = 3 x.

usage: sync_worker.py PS_HOSTS WORKER_HOSTS INDEX REPLICAS STEPS [FOLDER]
Worker 0 is the chief. Ends by telling Millrace's parameter servers that it is done.
"""

import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
import tensorflow as tf  # noqa: E402

tf1 = tf.compat.v1
tf1.disable_v2_behavior()

ps, workers, index, replicas, steps = sys.argv[1:6]
index, replicas, steps = int(index), int(replicas), int(steps)
folder = sys.argv[6] if len(sys.argv) > 6 else None
cluster = tf1.train.ClusterSpec({"ps": ps.split(","), "worker": workers.split(",")})
server = tf1.train.Server(cluster, job_name="worker", task_index=index)

with tf1.device(
    tf1.train.replica_device_setter(
        cluster=cluster, worker_device="/job:worker/task:%d" % index
    )
):
    global_step = tf1.train.get_or_create_global_step()
    w = tf1.get_variable("w", shape=[], initializer=tf1.zeros_initializer())
    x = tf1.placeholder(tf.float32, [None], name="x")
    loss = tf1.reduce_mean(tf1.square(w * x - 3.0 * x))
    optimizer = tf1.train.SyncReplicasOptimizer(
        tf1.train.GradientDescentOptimizer(0.05),
        replicas_to_aggregate=replicas,
        total_num_replicas=replicas,
    )
    train = optimizer.minimize(loss, global_step=global_step)

done = []
word = tf1.placeholder(tf.string, [])
for i in range(len(ps.split(","))):
    with tf1.device("/job:ps/task:%d/device:CPU:0" % i):
        queue = tf1.FIFOQueue(-1, [tf.string], shapes=[()], shared_name="millrace_job_end")
        done.append(queue.enqueue(word))


class LastWord(tf1.train.SessionRunHook):
    def end(self, session):
        for op in done:
            session.run(op, feed_dict={word: "worker/%d ok" % index})


config = tf1.ConfigProto(device_filters=["/job:ps", "/job:worker/task:%d" % index])
hooks = [
    optimizer.make_session_run_hook(index == 0, num_tokens=0),
    tf1.train.StopAtStepHook(last_step=steps),
    LastWord(),
]
count = 0
with tf1.train.MonitoredTrainingSession(
    master=server.target,
    is_chief=index == 0,
    checkpoint_dir=folder,
    hooks=hooks,
    config=config,
    stop_grace_period_secs=5,
) as session:
    while not session.should_stop():
        session.run(train, feed_dict={x: [1.0, 2.0]})
        count += 1
print("steps", count)
