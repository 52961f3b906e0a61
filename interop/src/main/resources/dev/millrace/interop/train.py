"""Trains a graph in Python's TensorFlow and prints the loss of every step, one per line.

usage: train.py GRAPH FEEDS STEPS [TARGET]

FEEDS is a folder of .npy files named like the placeholders, with '/' as '@'.
"""

import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import numpy
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()


def main(graph_file, feeds, steps, target=""):
    graph_def = tf.GraphDef()
    with open(graph_file, "rb") as f:
        graph_def.ParseFromString(f.read())
    tf.import_graph_def(graph_def, name="")
    start, batch = {}, {}
    for file in os.listdir(feeds):
        name = file.removesuffix(".npy").replace("@", "/")
        (start if name.endswith("/start") else batch)[name + ":0"] = numpy.load(
            os.path.join(feeds, file)
        )
    with tf.Session(target) as session:
        session.run("init", start)
        for _ in range(int(steps)):
            print(float(session.run(["loss:0", "train"], batch)[0]))


if __name__ == "__main__":
    main(*sys.argv[1:])
