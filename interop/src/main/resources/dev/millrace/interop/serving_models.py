"""Writes three SavedModels with TensorFlow and Keras, inputs for them, and what TensorFlow predicts.

usage: serving_models.py FOLDER
"""

import json
import os
import sys

import numpy as np
import tensorflow as tf


def values(t):
    a = np.asarray(t)
    if a.dtype.kind in "OS":
        return [v.decode() if isinstance(v, bytes) else str(v) for v in a.reshape(-1)]
    return [float(v) for v in a.reshape(-1)]


def described(named):
    return {
        k: {"dtype": tf.as_dtype(v.dtype).name, "shape": list(v.shape), "values": values(v)}
        for k, v in named.items()
    }


def write(folder, name, inputs, signature="serving_default"):
    path = os.path.join(folder, name)
    fed = {k: tf.constant(v) for k, v in inputs.items()}
    outputs = tf.saved_model.load(path).signatures[signature](**fed)
    with open(os.path.join(folder, name + ".json"), "w") as f:
        json.dump({"inputs": described(fed), "outputs": described(outputs)}, f)
    print(name, sorted(fed), sorted(outputs))


def dense(folder, random):
    model = tf.keras.Sequential(
        [
            tf.keras.layers.Input((8,), name="features"),
            tf.keras.layers.Dense(16, activation="relu"),
            tf.keras.layers.BatchNormalization(),
            tf.keras.layers.Dropout(0.3),
            tf.keras.layers.LayerNormalization(),
            tf.keras.layers.Dense(3, activation="softmax"),
        ]
    )
    model.compile("adam", "sparse_categorical_crossentropy")
    x = random.normal(size=(64, 8)).astype("float32")
    model.fit(x, random.integers(0, 3, 64), epochs=2, verbose=0)
    model.export(os.path.join(folder, "dense"), verbose=False)
    loaded = tf.saved_model.load(os.path.join(folder, "dense"))
    name = list(loaded.signatures["serving_default"].structured_input_signature[1])[0]
    write(folder, "dense", {name: x[:5]})


def cnn(folder, random):
    model = tf.keras.Sequential(
        [
            tf.keras.layers.Input((16, 16, 3)),
            tf.keras.layers.Rescaling(1 / 255.0),
            tf.keras.layers.Conv2D(8, 3, padding="same", use_bias=False),
            tf.keras.layers.BatchNormalization(),
            tf.keras.layers.ReLU(),
            tf.keras.layers.MaxPooling2D(),
            tf.keras.layers.DepthwiseConv2D(3, padding="same"),
            tf.keras.layers.Conv2D(16, 3, strides=2, activation="relu"),
            tf.keras.layers.GlobalAveragePooling2D(),
            tf.keras.layers.Dense(10),
        ]
    )
    model.compile("sgd", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    x = random.uniform(0, 255, size=(32, 16, 16, 3)).astype("float32")
    model.fit(x, random.integers(0, 10, 32), epochs=1, verbose=0)
    model.export(os.path.join(folder, "cnn"), verbose=False)
    loaded = tf.saved_model.load(os.path.join(folder, "cnn"))
    name = list(loaded.signatures["serving_default"].structured_input_signature[1])[0]
    write(folder, "cnn", {name: x[:3]})


class WideAndDeep(tf.Module):
    """A table from a vocabulary file and one of constants, hashed crosses, embeddings."""

    def __init__(self, vocabulary, random):
        super().__init__()
        self.file = tf.saved_model.Asset(vocabulary)
        self.sites = tf.lookup.StaticVocabularyTable(
            tf.lookup.TextFileInitializer(
                self.file,
                tf.string,
                tf.lookup.TextFileIndex.WHOLE_LINE,
                tf.int64,
                tf.lookup.TextFileIndex.LINE_NUMBER,
            ),
            num_oov_buckets=3,
        )
        self.devices = tf.lookup.StaticHashTable(
            tf.lookup.KeyValueTensorInitializer(["phone", "tablet", "desktop"], [1.0, 2.0, 3.0]), 0.5
        )
        self.wide = tf.Variable(random.normal(size=(50, 1)).astype("float32"))
        self.embedding = tf.Variable(random.normal(size=(8, 4)).astype("float32"))
        self.w1 = tf.Variable(random.normal(size=(6, 8)).astype("float32"))
        self.b1 = tf.Variable(random.normal(size=(8,)).astype("float32"))
        self.w2 = tf.Variable(random.normal(size=(8, 1)).astype("float32"))

    @tf.function(
        input_signature=[
            tf.TensorSpec([None], tf.string, "site"),
            tf.TensorSpec([None], tf.string, "device"),
            tf.TensorSpec([None], tf.float32, "price"),
        ]
    )
    def click(self, site, device, price):
        crossed = tf.strings.to_hash_bucket_fast(tf.strings.join([site, device], "_X_"), 50)
        wide = tf.gather(self.wide, crossed)
        deep = tf.concat(
            [
                tf.gather(self.embedding, self.sites.lookup(site)),
                tf.expand_dims(self.devices.lookup(device), 1),
                tf.expand_dims(tf.math.log1p(price), 1),
            ],
            1,
        )
        hidden = tf.nn.relu(tf.matmul(deep, self.w1) + self.b1)
        logits = tf.squeeze(wide + tf.matmul(hidden, self.w2), 1)
        return {"click": tf.sigmoid(logits), "site_id": self.sites.lookup(site)}


def wide_and_deep(folder, random):
    vocabulary = os.path.join(folder, "sites.txt")
    with open(vocabulary, "w") as f:
        f.write("a.org\nb.org\nc.org\nd.org\ne.org\n")
    model = WideAndDeep(vocabulary, random)
    path = os.path.join(folder, "wide_and_deep")
    tf.saved_model.save(model, path, signatures={"serving_default": model.click})
    # The model must find its own copy.
    os.remove(vocabulary)
    write(
        folder,
        "wide_and_deep",
        {
            "site": ["a.org", "e.org", "unknown.org", "c.org", ""],
            "device": ["phone", "desktop", "tablet", "fridge", "phone"],
            "price": np.array([1, 2.5, 0, 100, 0.01], "float32"),
        },
    )


if __name__ == "__main__":
    where = sys.argv[1]
    os.makedirs(where, exist_ok=True)
    tf.keras.utils.set_random_seed(7)
    dense(where, np.random.default_rng(1))
    cnn(where, np.random.default_rng(2))
    wide_and_deep(where, np.random.default_rng(3))
