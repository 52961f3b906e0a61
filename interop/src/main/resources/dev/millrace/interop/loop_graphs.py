"""Writes graphs with loops as TF1-style Python makes them.

usage: loop_graphs.py OUT

Each gives OUT/NAME.pb, and OUT/NAME_as_functions.pb with branches and loops that are calls of functions. The placeholder is x, a vector of three floats; y is the result, and dx, where
there is one, its gradient. init, where there is one, has to be run first.
"""

import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
tf.disable_resource_variables()


def power(x, **options):
    return tf.while_loop(lambda i, v: i < 5, lambda i, v: (i + 1, v * x), [0, x], **options)[1]


def one_at_a_time(x):
    return power(x, parallel_iterations=1)


def long(x):
    return tf.while_loop(lambda i, v: i < 200, lambda i, v: (i + 1, tf.sin(v) + x), [0, x])[1]


def until(x):
    return tf.while_loop(lambda v: tf.reduce_sum(v) < 100.0, lambda v: (v * 2.0 + 1.0,), [x])


def nested(x):
    def body(i, v):
        inner = tf.while_loop(lambda j, w: j < i, lambda j, w: (j + 1, tf.sin(w) + x), [0, v])
        return i + 1, inner[1]

    return tf.while_loop(lambda i, v: i < 4, body, [0, x])[1]


def branch_in_loop(x):
    def body(i, v):
        even = tf.equal(tf.math.floormod(i, 2), 0)
        return i + 1, tf.cond(even, lambda: v * x, lambda: v + 2.0 * x)

    return tf.while_loop(lambda i, v: i < 5, body, [0, x])[1]


def loop_in_branch(x):
    return tf.cond(tf.reduce_sum(x) > 3.0, lambda: power(x), lambda: x * 2.0)


def never(x):
    return tf.while_loop(lambda i, v: i < 0, lambda i, v: (i + 1, v * x), [0, x])[1] + x


def two_exits(x):
    i, v, w = tf.while_loop(
        lambda i, v, w: i < 6, lambda i, v, w: (i + 1, w, v + w * 0.5), [0, x, x * x]
    )
    return v * w + tf.cast(i, tf.float32)


def map_values(x):
    return tf.map_fn(lambda e: e * e + 1.0, x)


def scan(x):
    return tf.scan(lambda a, e: a * e, x)


def reference(x):
    v = tf.get_variable("v", initializer=tf.constant([1.0, 2.0, 3.0]))

    def body(i):
        with tf.control_dependencies([tf.assign_add(v, x)]):
            return (i + 1,)

    done = tf.while_loop(lambda i: i < 4, body, [0], parallel_iterations=1)
    with tf.control_dependencies([done[0] if isinstance(done, (tuple, list)) else done]):
        return v.read_value()


def choice(x):
    return tf.switch_case(
        tf.cast(tf.reduce_sum(x), tf.int32), [lambda: x * x, lambda: tf.sin(x), lambda: x + 1.0]
    )


def effects(x):
    """A variable changed in a branch and in a loop, and read after."""
    v = tf.get_variable("v", initializer=tf.constant([1.0, 2.0, 3.0]), use_resource=True)

    def add():
        with tf.control_dependencies([v.assign_add(x)]):
            return tf.constant(1.0)

    def body(i):
        with tf.control_dependencies([v.assign_add(v * x)]):
            return (i + 1,)

    changed = tf.cond(tf.reduce_sum(x) > 3.0, add, lambda: tf.constant(0.0))
    with tf.control_dependencies([changed]):
        done = tf.while_loop(lambda i: i < 3, body, [0], parallel_iterations=1)
    with tf.control_dependencies([done[0] if isinstance(done, (tuple, list)) else done]):
        return v.read_value() + changed


def call(x):
    scale = tf.get_variable("scale", initializer=tf.constant([3.0, 2.0, 1.0]), use_resource=True)

    @tf.function
    def inner(a):
        return a * scale

    @tf.function
    def outer(a):
        return tf.reduce_sum(inner(a) * inner(x)) * a

    return outer(x) + inner(x)


GRAPHS = [
    power,
    one_at_a_time,
    long,
    until,
    nested,
    branch_in_loop,
    loop_in_branch,
    never,
    two_exits,
    map_values,
    scan,
    reference,
    choice,
    effects,
    call,
]

ONLY_FUNCTIONS = [choice, call]
ONLY_VALUES = [reference, effects]


def write(make, file):
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [3], name="x")
        y = make(x)
        y = y[0] if isinstance(y, (tuple, list)) else y
        tf.identity(y, name="y")
        if make not in ONLY_VALUES:
            tf.identity(tf.gradients(y, x)[0], name="dx")
        if tf.global_variables():
            tf.group(tf.global_variables_initializer(), name="init")
        with open(file, "wb") as f:
            f.write(graph.as_graph_def().SerializeToString())


if __name__ == "__main__":
    for make in GRAPHS:
        file = os.path.join(sys.argv[1], make.__name__)
        if make not in ONLY_FUNCTIONS:
            tf.disable_control_flow_v2()
            write(make, file + ".pb")
        if make is not reference:
            tf.enable_control_flow_v2()
            write(make, file + "_as_functions.pb")
