"""The programs of a tutorial on TensorFlow's distributed runtime, as written for its own servers.

The first argument says which; the others are targets or flags. Each prints what its test looks at.
"""

import sys

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()


def hello(target):
    c = tf.constant("Hello, distributed TensorFlow!")
    with tf.Session(target) as sess:
        print(sess.run(c).decode())


def devices(target):
    """Means of two halves, each on a task of its own."""
    x = tf.placeholder(tf.float32, 100)
    with tf.device("/job:local/task:1"):
        first_batch = tf.slice(x, [0], [50])
        mean1 = tf.reduce_mean(first_batch)
    with tf.device("/job:local/task:0"):
        second_batch = tf.slice(x, [50], [-1])
        mean2 = tf.reduce_mean(second_batch)
        mean = (mean1 + mean2) / 2
    config = tf.ConfigProto(log_device_placement=True)
    with tf.Session(target, config=config) as sess:
        print("mean %.1f" % sess.run(mean, feed_dict={x: np.arange(100, dtype=np.float32)}))
        names = sorted(d.name for d in sess.list_devices())
        print("devices " + " ".join(names))
        options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        metadata = tf.RunMetadata()
        sess.run(mean, {x: np.ones(100, np.float32)}, options=options, run_metadata=metadata)
        traced = {n.node_name for d in metadata.step_stats.dev_stats for n in d.node_stats}
        print("traced " + str("Mean" in traced))


def arithmetic(target):
    """Variables on a ps, operations on three tasks."""
    with tf.device("/job:ps/task:0"):
        w = tf.get_variable("w", initializer=tf.constant([6.0, 8.0]))
        b = tf.get_variable("b", initializer=tf.constant([2.0, 4.0]))
    with tf.device("/job:worker/task:0"):
        add = w + b
    with tf.device("/job:worker/task:1"):
        mul = w * b
    with tf.device("/job:worker/task:2"):
        div = w / b
    with tf.Session(target) as sess:
        sess.run(tf.global_variables_initializer())
        for value in sess.run([add, mul, div]):
            print(value.tolist())
    # Another session finds the variables of the first.
    with tf.Session(target) as sess:
        print("kept %s" % sess.run(w).tolist())
        try:
            sess.run(tf.get_variable("u", initializer=1.0))
        except tf.errors.FailedPreconditionError as e:
            print("uninitialized " + str("uninitialized" in e.message))
        x = tf.placeholder(tf.float32, name="x")
        try:
            sess.run(x + 1)
        except tf.errors.InvalidArgumentError as e:
            print("unfed " + str("must feed a value for placeholder tensor 'x'" in e.message))
    tf.Session.reset(target)
    with tf.Session(target) as sess:
        try:
            sess.run(w)
        except tf.errors.FailedPreconditionError:
            print("reset")


def partial_run(target):
    with tf.device("/job:worker/task:1"):
        a = tf.placeholder(tf.float32, [])
        b = tf.placeholder(tf.float32, [])
        c = tf.placeholder(tf.float32, [])
        r1 = a + b
    with tf.device("/job:worker/task:0"):
        r2 = r1 * c
    with tf.Session(target) as sess:
        for _ in range(3):
            h = sess.partial_run_setup([r1, r2], [a, b, c])
            first = sess.partial_run(h, r1, {a: 1.0, b: 2.0})
            print("partial %s %s" % (first, sess.partial_run(h, r2, {c: first * 10})))


def control_flow(target):
    """A conditional whose branches are on different tasks, a loop on the far one."""
    with tf.device("/job:local/task:0"):
        x = tf.placeholder(tf.float32, [])

        def double():
            with tf.device("/job:local/task:1"):
                return x * 2.0

        def negate():
            with tf.device("/job:local/task:0"):
                return -x

        branch = tf.cond(x > 0.0, double, negate)

    with tf.device("/job:local/task:1"):
        _, looped = tf.while_loop(
            lambda i, t: i < 5,
            lambda i, t: (i + 1, t + x),
            [tf.constant(0), tf.constant(0.0)],
        )
    with tf.Session(target) as sess:
        print("branch %s %s" % (sess.run(branch, {x: 3.0}), sess.run(branch, {x: -3.0})))
        print("loop %s %s" % (sess.run(looped, {x: 2.0}), sess.run(looped, {x: 3.0})))


def functions(target):
    """Branches, loops over two tasks and calls, all as functions; trained as in one process."""
    tf.enable_control_flow_v2()
    tf.enable_resource_variables()

    def losses(target, near, far):
        with tf.Graph().as_default(), tf.device(near), tf.Session(target) as sess:
            x = tf.constant([0.5, -0.25])
            w = tf.get_variable("w", initializer=tf.constant([0.5, 1.0]))
            value = w.read_value()

            def body(i, v):
                with tf.device(far):
                    v = tf.tanh(v * value) + x
                return i + 1, v

            _, v = tf.while_loop(lambda i, v: i < 4, body, [0, x])
            v = tf.cond(tf.reduce_sum(v) > 0.0, lambda: v * value, lambda: v - value)

            @tf.function
            def distance(a):
                return tf.reduce_sum(tf.square(a - 1.0))

            loss = distance(v)
            train = tf.train.MomentumOptimizer(0.1, 0.5).minimize(loss)
            sess.run(tf.global_variables_initializer())
            values = [sess.run([loss, train])[0] for _ in range(5)]

            @tf.function
            def norm(a):
                return tf.sqrt(distance(a + 1.0))

            # The session's graph grows, and with it its functions.
            return values + [sess.run(norm(value))]

    alone = losses("", None, None)
    together = losses(target, "/job:local/task:0", "/job:local/task:1")
    print("agree %s" % np.allclose(alone, together, rtol=1e-5))
    print("trains %s" % (together[4] < 0.8 * together[0]))


def order(target):
    """What is read after an update, and where a function's parts run."""
    near, far = "/job:local/task:0", "/job:local/task:1"
    config = tf.ConfigProto(operation_timeout_in_ms=30000)

    def run(build, v2=True):
        (tf.enable_control_flow_v2 if v2 else tf.disable_control_flow_v2)()
        with tf.Graph().as_default(), tf.device(near), tf.Session(target, config=config) as sess:
            fetch, feeds = build()
            sess.run(tf.global_variables_initializer())
            print("%s %s" % (build.__name__, [np.array(sess.run(fetch, f)).tolist() for f in feeds]))

    def after_updates():
        with tf.device(far):
            v = tf.get_variable("a", initializer=1.0, use_resource=False)
            grow = tf.assign_add(v, 1.0)
        with tf.control_dependencies([grow.op]):
            first = v.read_value()
        with tf.control_dependencies([tf.assign(v, first * 10.0).op]):
            return [first, v.read_value()], [{}, {}]

    def in_a_branch():
        with tf.device(far):
            v = tf.get_variable("b", initializer=1.0, use_resource=False)
        p = tf.placeholder(tf.bool, [])

        def grown():
            with tf.control_dependencies([tf.assign_add(v, 2.0).op]):
                return v.read_value()

        return tf.cond(p, grown, lambda: tf.constant(-1.0)), [{p: b} for b in (True, False, True)]

    def branch_in_a_loop():
        p = tf.placeholder(tf.bool, [])
        loop = tf.while_loop(
            lambda i, x: i < 4,
            lambda i, x: (i + 1, tf.cond(p, lambda: x + 1.0, lambda: 7.0)),
            [0, 1.0],
        )
        return loop[1], [{p: True}, {p: False}]

    def loop_in_a_function_in_a_loop():
        @tf.function
        def squared(y):
            return tf.while_loop(lambda j, z: j < 2, lambda j, z: (j + 1, z * 2.0), [0, y])[1]

        return tf.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, squared(x)), [0, 1.0])[1], [{}]

    def gradient_of_rows():
        v = tf.get_variable("c", initializer=[1.0, 2.0, 3.0], use_resource=True)

        @tf.function
        def rows(y):
            return y + tf.reduce_sum(v.sparse_read([0, 2]))

        y = tf.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, rows(x)), [0, 0.0])[1]
        return tf.convert_to_tensor(tf.gradients(y, v)[0]), [{}]

    def result_beside_a_variable():
        v = tf.get_variable("d", initializer=3.0, use_resource=True)

        @tf.function
        def power(x):
            return tf.while_loop(lambda i, y: i < 2, lambda i, y: (i + 1, y * v), [0, x])[1]

        y = power(tf.constant(2.0))
        return [y, tf.gradients(y, v)[0]], [{}]

    def assertion_in_a_function():
        x = tf.placeholder(tf.float32, [])

        @tf.function
        def checked(x):
            with tf.control_dependencies([tf.debugging.Assert(x < 10.0, [x])]):
                return tf.identity(x)

        return checked(x), [{x: 1.0}, {x: 2.0}]

    def reader_follows_a_resource():
        with tf.device(far):
            v = tf.get_variable("e", initializer=5.0, use_resource=True)
        with tf.device(near):
            return tf.raw_ops.ReadVariableOp(resource=v.handle, dtype=tf.float32), [{}]

    def list_over_tasks():
        made = tf.raw_ops.TensorListFromTensor(tensor=[1.0, 2.0], element_shape=tf.zeros([0], tf.int32))
        with tf.device(far):
            more = tf.raw_ops.TensorListPushBack(input_handle=made, tensor=3.0)
        more = tf.identity(more)
        return tf.raw_ops.TensorListStack(input_handle=more, element_shape=-1, element_dtype=tf.float32), [{}]

    run(after_updates)
    run(in_a_branch, v2=False)
    run(branch_in_a_loop)
    run(loop_in_a_function_in_a_loop)
    run(gradient_of_rows)
    run(result_beside_a_variable)
    run(assertion_in_a_function, v2=False)
    run(reader_follows_a_resource)
    run(list_over_tasks)


def propagation(target, other):
    """A cluster that only the client knows, of servers that were started one by one."""
    addresses = [t.replace("grpc://", "") for t in (target, other)]
    cluster = tf.train.ClusterSpec({"ps": addresses[1:], "worker": addresses[:1]})
    with tf.device("/job:ps/task:0"):
        w = tf.get_variable("w", initializer=tf.constant([6.0, 8.0]))
    with tf.device("/job:worker/task:0"):
        y = tf.reduce_sum(w * 0.5)
    train = tf.train.GradientDescentOptimizer(1.0).minimize(y)
    config = tf.ConfigProto(cluster_def=cluster.as_cluster_def())
    with tf.Session(target, config=config) as sess:
        sess.run(tf.global_variables_initializer())
        print("sums %s" % [float(sess.run([y, train])[0]) for _ in range(2)])
        print("devices %s" % " ".join(sorted(d.name for d in sess.list_devices())))


def mnist(job_name, task_index, ps_hosts, worker_hosts, target=""):
    """Asynchronous training, between-graph, on data that can be told apart."""
    cluster = tf.train.ClusterSpec({"ps": ps_hosts.split(","), "worker": worker_hosts.split(",")})
    task = int(task_index)
    if not target:
        server = tf.train.Server(cluster, job_name=job_name, task_index=task)
        if job_name == "ps":
            server.join()
        target = server.target
    with tf.device(
        tf.train.replica_device_setter(worker_device="/job:worker/task:%d" % task, cluster=cluster)
    ):
        x = tf.placeholder(tf.float32, [None, 784])
        y_ = tf.placeholder(tf.int64, [None])
        hidden_w = tf.get_variable(
            "hidden_w", [784, 32], initializer=tf.truncated_normal_initializer(stddev=0.05)
        )
        hidden_b = tf.get_variable("hidden_b", [32], initializer=tf.zeros_initializer())
        hidden = tf.nn.relu(tf.matmul(x, hidden_w) + hidden_b)
        w = tf.get_variable("w", [32, 10], initializer=tf.truncated_normal_initializer(stddev=0.1))
        b = tf.get_variable("b", [10], initializer=tf.zeros_initializer())
        y = tf.matmul(hidden, w) + b
        loss = tf.reduce_mean(
            tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y_, logits=y)
        )
        accuracy = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(y, 1), y_), tf.float32))
        global_step = tf.train.get_or_create_global_step()
        train_op = tf.train.AdagradOptimizer(0.05).minimize(loss, global_step=global_step)
    rng = np.random.RandomState(1)
    centers = rng.rand(10, 784)
    data = np.random.RandomState(2 + task)
    hooks = [tf.train.StopAtStepHook(last_step=200)]
    config = tf.ConfigProto(device_filters=["/job:ps", "/job:worker/task:%d" % task])
    best = 0.0
    with tf.train.MonitoredTrainingSession(
        master=target, is_chief=(task == 0), hooks=hooks, config=config
    ) as sess:
        while not sess.should_stop():
            labels = data.randint(0, 10, 100)
            images = centers[labels] + 0.3 * data.randn(100, 784)
            _, a, step = sess.run([train_op, accuracy, global_step], {x: images, y_: labels})
            best = max(best, a)
    print("accuracy %.2f at step %d" % (best, step))


def mnist_with_ps(ps_hosts, worker_hosts, target):
    """The same with the ps in this process and the worker elsewhere."""
    cluster = tf.train.ClusterSpec({"ps": ps_hosts.split(","), "worker": worker_hosts.split(",")})
    server = tf.train.Server(cluster, job_name="ps", task_index=0)
    mnist("worker", 0, ps_hosts, worker_hosts, target)
    del server


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
