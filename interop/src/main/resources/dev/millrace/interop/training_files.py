"""Reads what Millrace's training library wrote and writes the same for it to read.

usage: training_files.py FOLDER
  FOLDER/ours/checkpoint   a checkpoint of Millrace, with a partitioned variable p
  FOLDER/model             a SavedModel of Millrace
  FOLDER/theirs/model.ckpt written by a tf.train.Saver, with a partitioned variable p
Prints one line per finding: name and values.
"""

import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow as tf  # noqa: E402

folder = sys.argv[1]
tf1 = tf.compat.v1


def show(name, values):
    print(name, *["%.6g" % v for v in values])


latest = tf.train.latest_checkpoint(os.path.join(folder, "ours"))
print("latest", os.path.basename(latest))
reader = tf.train.load_checkpoint(latest)
for name, shape in sorted(reader.get_variable_to_shape_map().items()):
    print("shape", name, *shape)
for name in ["p", "w", "global_step"]:
    show(name, reader.get_tensor(name).flatten())

model = tf.saved_model.load(os.path.join(folder, "model"))
result = model.signatures["serving_default"](x=tf.constant([1.0, 2.0]))
show("served", result["y"].numpy())

with tf1.Graph().as_default(), tf1.Session() as session:
    tf1.saved_model.load(session, ["serve"], os.path.join(folder, "model"))
    show("loaded", session.run("y:0", {"x:0": [1.0, 2.0]}))

with tf1.Graph().as_default(), tf1.Session() as session:
    importer = tf1.train.import_meta_graph(latest + ".meta")
    importer.restore(session, latest)
    show("imported", [session.run("w:0")])

tf1.disable_v2_behavior()
with tf1.Graph().as_default():
    tf1.get_variable(
        "p",
        initializer=tf1.constant([[2.0 * i, 2.0 * i + 1] for i in range(7)]),
        partitioner=tf1.variable_axis_size_partitioner(4 * 2 * 3),
    )
    tf1.get_variable("w", shape=[], initializer=tf1.constant_initializer(42.0))
    tf1.train.get_or_create_global_step()
    saver = tf1.train.Saver()
    with tf1.Session() as session:
        session.run(tf1.global_variables_initializer())
        saver.save(session, os.path.join(folder, "theirs", "model.ckpt"), global_step=5)
