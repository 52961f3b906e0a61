"""Trains from tf.data on the servers behind every target; prints its name and the losses of its steps.

usage: dataset_training.py RECORDS TARGET...

The target "local" stands for a session in this process. RECORDS is written first: TFRecords of eight
floats, the last of which is to be predicted.
"""

import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import numpy
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()

ROWS = 96


def write(records):
    x = numpy.random.RandomState(7).normal(size=(ROWS, 7)).astype(numpy.float32)
    y = x @ numpy.arange(7, dtype=numpy.float32) + 1
    with tf.python_io.TFRecordWriter(records) as writer:
        for row in numpy.concatenate([x, y[:, None]], axis=1).astype(numpy.float32):
            writer.write(row.tobytes())


def parse(record):
    row = tf.reshape(tf.decode_raw(record, tf.float32), [8])
    return row[:7], row[7]


def train(records, target):
    def on(job):
        return tf.device(None if target == "local" else "/job:%s/task:0" % job)

    session = "" if target == "local" else target
    with tf.Graph().as_default():
        with on("worker"):
            names = tf.placeholder(tf.string, [None])
            rows = tf.data.TFRecordDataset(names).map(parse, num_parallel_calls=2)
            training = (
                rows.filter(lambda x, y: x[0] < 1.5)
                .shuffle(16, seed=3)
                .repeat()
                .batch(8, drop_remainder=True)
                .prefetch(2)
            )
            learning = tf.data.make_initializable_iterator(training)
            x0 = numpy.eye(7, dtype=numpy.float32)
            testing = tf.data.Dataset.from_tensor_slices((x0, numpy.arange(7, dtype=numpy.float32) + 1))
            tested = tf.data.make_one_shot_iterator(testing.batch(3))
            which = tf.placeholder(tf.string, [])
            iterator = tf.data.Iterator.from_string_handle(
                which, tf.data.get_output_types(rows.batch(1)), tf.data.get_output_shapes(rows.batch(1))
            )
            x, y = iterator.get_next()
            handles = [learning.string_handle(), tested.string_handle()]
        with on("ps"):
            w = tf.get_variable("w", [7], initializer=tf.zeros_initializer(), use_resource=True)
            b = tf.get_variable("b", [], initializer=tf.zeros_initializer(), use_resource=True)
        with on("worker"):
            loss = tf.reduce_mean(tf.square(tf.reduce_sum(x * w, axis=1) + b - y))
            step = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
        losses = []
        with tf.Session(session) as s:
            s.run(tf.global_variables_initializer())
            s.run(learning.initializer, {names: [records]})
            learn, test = s.run(handles)
            for _ in range(40):
                losses.append(s.run([loss, step], {which: learn})[0])
            try:
                while True:
                    losses.append(s.run(loss, {which: test}))
            except tf.errors.OutOfRangeError as e:
                assert "End of sequence" in e.message, e.message
        print(target, *losses)


if __name__ == "__main__":
    write(sys.argv[1])
    for at in sys.argv[2:]:
        train(sys.argv[1], at)
