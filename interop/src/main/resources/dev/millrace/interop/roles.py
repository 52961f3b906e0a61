"""TensorFlow in any role of a cluster, as it is told on standard input, a line of JSON at a time.

{"serve": SERVER_DEF} starts the task that a ServerDef in Base64 describes, and answers with its target.
{"train": TARGET, "graph": FILE, "feeds": FOLDER, "init": OP, "train_op": OP, "loss": TENSOR, "steps": N}
trains a graph in a session there, or in this process if the target is empty, and answers with the losses.

FOLDER has .npy files named like the placeholders. Ends when its standard input does.
"""

import base64
import json
import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402
from tensorflow.core.protobuf import tensorflow_server_pb2  # noqa: E402

tf1 = tf.compat.v1
tf1.disable_v2_behavior()

# A server ends when nobody refers to it.
servers = []


def serve(definition):
    server = tensorflow_server_pb2.ServerDef.FromString(base64.b64decode(definition))
    servers.append(tf.distribute.Server(server))
    return servers[-1].target


def train(call):
    graph_def = tf1.GraphDef()
    with open(call["graph"], "rb") as f:
        graph_def.ParseFromString(f.read())
    if not call["train"]:
        for node in graph_def.node:
            node.device = ""
    feeds = {
        file.removesuffix(".npy") + ":0": np.load(os.path.join(call["feeds"], file))
        for file in os.listdir(call["feeds"])
    }
    with tf.Graph().as_default():
        tf.import_graph_def(graph_def, name="")
        with tf1.Session(call["train"]) as session:
            session.run(call["init"])
            steps = range(call["steps"])
            return [session.run([call["loss"], call["train_op"]], feeds)[0] for _ in steps]


print("@ ready", flush=True)
for line in sys.stdin:
    call = json.loads(line)
    answer = serve(call["serve"]) if "serve" in call else " ".join("%.9g" % v for v in train(call))
    print("@ " + answer, flush=True)
os._exit(0)
