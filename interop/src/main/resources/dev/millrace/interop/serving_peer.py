"""Compiles the minimal server over TensorFlow's C++ runtime and becomes it: SOURCE MODEL_FOLDER. It prints its port."""

import os
import subprocess
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
import tensorflow as tf  # noqa: E402
from tensorflow.core.protobuf import saved_model_pb2  # noqa: E402

source, model = sys.argv[1:3]
home = os.path.dirname(tf.__file__)
program = source + ".out"
subprocess.run(
    ["g++", "-O2", "-std=c++17", source, "-I" + home + "/include", "-L" + home, "-l:libtensorflow_cc.so.2"]
    + ["-l:libtensorflow_framework.so.2", "-Wl,-rpath," + home, "-lpthread", "-o", program],
    check=True,
    stdout=sys.stderr,
)
saved = saved_model_pb2.SavedModel()
with open(os.path.join(model, "saved_model.pb"), "rb") as f:
    saved.ParseFromString(f.read())
signature = saved.meta_graphs[0].signature_def["serving_default"]
inputs = [
    "%s=%s:%s" % (name, info.name.split(":")[0], "f" if info.dtype == tf.float32.as_datatype_enum else "l")
    for name, info in sorted(signature.inputs.items())
]
output = list(signature.outputs.values())[0].name.split(":")[0]
os.execv(program, [program, model, "0", output] + inputs)
