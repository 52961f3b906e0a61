"""Predicts with a SavedModel of Millrace, by both of TensorFlow's loaders.

usage: serving_reads.py FOLDER
"""

import sys

import tensorflow as tf

word = ["a.org", "c.org", "elsewhere"]
price = [0.5, 2.0, -1.0]


def show(name, values):
    print(name, *[repr(float(v)) for v in values])


loaded = tf.saved_model.load(sys.argv[1])
served = loaded.signatures["serving_default"]
show("tf2", served(word=tf.constant(word), price=tf.constant(price))["click"].numpy().reshape(-1))
with tf.Graph().as_default(), tf.compat.v1.Session() as session:
    meta = tf.compat.v1.saved_model.load(session, ["serve"], sys.argv[1])
    signature = meta.signature_def["serving_default"]
    show(
        "tf1",
        session.run(
            signature.outputs["click"].name,
            {signature.inputs["word"].name: word, signature.inputs["price"].name: price},
        ).reshape(-1),
    )
