"""Writes transforms.txt: what TensorFlow makes of features. python transforms.py > transforms.txt"""
import random
import struct
import sys

import numpy as np
import tensorflow as tf

random.seed(7)
words = ["", "a", "ad", "Größe", "日本", "a longer string that does not fit into one block of the hash"]
words += ["".join(random.choice("abcdefghij0123456789") for _ in range(k)) for k in range(1, 150, 3)]
numbers = [0, 1, 42, 2**31, 2**62] + [random.randrange(10**12) for _ in range(40)]
floats = np.array([random.gauss(0, 30) for _ in range(40)] + [0, 18, 25, 17.999999], np.float32)


def row(name, values):
    print(name, *values)


def bits(x):
    """float32 values as the hexadecimal numbers of their bits."""
    return ["%08x" % struct.unpack("<I", struct.pack("<f", v))[0] for v in np.ravel(x)]


def hexadecimal(texts):
    return [t.encode().hex() or "-" for t in texts]


row("words", hexadecimal(words))
row("numbers", numbers)
row("floats", bits(floats))
row("hashed", tf.strings.to_hash_bucket_fast(words, 100_000).numpy())
row("hashed.numbers", tf.strings.to_hash_bucket_fast(tf.strings.as_string(numbers), 1000).numpy())
vocabulary = words[1:12]
table = tf.lookup.StaticVocabularyTable(
    tf.lookup.KeyValueTensorInitializer(
        vocabulary, np.arange(len(vocabulary), dtype=np.int64)), 5)
row("vocabulary", table.lookup(tf.constant(words)).numpy())
row("bucketized", tf.raw_ops.Bucketize(input=floats, boundaries=[-10.5, 0, 18, 25, 60]).numpy())
n = len(numbers)
left = tf.reshape(tf.constant(words[:n]), [-1, 1])
right = tf.reshape(tf.constant(words[-n:]), [-1, 1])
third = tf.reshape(tf.constant(numbers, tf.int64), [-1, 1])
row("crossed", tf.sparse.cross_hashed([left, right], 10_000).values.numpy())
row("crossed.numbers", tf.sparse.cross_hashed([left, third, right], 100_000).values.numpy())
mean, deviation = np.float32(3.25), np.float32(1.7)
row("normalized", bits((tf.constant(floats) - mean) / deviation))
row("logarithm", bits(tf.math.log1p(tf.maximum(tf.constant(floats), 0.0))))

ids = np.array([[random.randrange(-1, 8) for _ in range(4)] for _ in range(20)], np.int64)
ids[3] = -1
ids.sort(axis=1)
ids = ids[:, ::-1]
weights = np.array([[random.uniform(0.1, 2) for _ in range(4)] for _ in range(20)], np.float32)
rows = np.array([[random.gauss(0, 1) for _ in range(3)] for _ in range(8)], np.float32)
row("ids", np.ravel(ids))
row("weights", bits(weights))
row("table", bits(rows))
row("one_hot", np.ravel(np.max(tf.one_hot(ids, 8), axis=1)).astype(int))
there = np.argwhere(ids >= 0)
sparse = tf.SparseTensor(there, ids[ids >= 0], ids.shape)
weighted = tf.SparseTensor(there, weights[ids >= 0], ids.shape)
for combiner in ["sum", "mean", "sqrtn"]:
    for suffix, w in [("", None), (".weighted", weighted)]:
        found = tf.nn.safe_embedding_lookup_sparse(
            tf.constant(rows), sparse, sparse_weights=w, combiner=combiner)
        row(combiner + suffix, bits(found))
