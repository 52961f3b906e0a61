"""Prints the tensors of FILE.npz, and of FILE.safetensors if that library is there: name, type, shape, sum.

usage: array_files.py FILE
"""

import sys

import numpy as np

files = {"npz": dict(np.load(sys.argv[1] + ".npz"))}
try:
    from safetensors.numpy import load_file

    files["safetensors"] = load_file(sys.argv[1] + ".safetensors")
except ImportError:
    print("absent safetensors")
for kind, arrays in files.items():
    for name, a in sorted(arrays.items()):
        total = b"|".join(a.reshape(-1)).decode() if a.dtype.kind == "S" else repr(float(a.astype("f8").sum()))
        print(kind, name, a.dtype.kind, list(a.shape), total)
