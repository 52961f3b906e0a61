"""Writes arrays.npz, compressed.npz and arrays.safetensors into the current folder; needs numpy and safetensors."""

import numpy as np
from safetensors.numpy import save_file

matrix = (np.arange(12) % 5).reshape(3, 4)
codes = ["f2", "f4", "f8", "i1", "i4", "i8", "u1", "u4"]
arrays = {"layer/" + c: matrix.astype(c) for c in codes}
save_file(
    {n: a for n, a in arrays.items() if a.dtype in ("f2", "f4", "f8", "i8")}
    | {"step": np.array(42), "flags": np.array([True, False, True])},
    "arrays.safetensors",
    {"format": "pt"},
)
arrays["big_endian"] = matrix.astype(">f8")
arrays["fortran"] = np.asfortranarray(matrix.astype("f4"))
arrays["step"] = np.int64(42)
arrays["bytes"] = np.array([b"a", b"", b"longer"])
arrays["text"] = np.array(["a", "", "longer"])
arrays["empty"] = np.zeros((0, 3), "f4")
np.savez("arrays.npz", **arrays)
np.savez_compressed("compressed.npz", **arrays)
