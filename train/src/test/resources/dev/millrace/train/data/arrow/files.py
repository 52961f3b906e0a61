"""Writes plain.arrow, lz4.arrow, zstd.arrow and stream.arrows into the current folder; needs pyarrow."""

import pyarrow as pa

schema = pa.schema(
    [
        ("n", pa.int64()),
        ("text", pa.string()),
        ("large", pa.large_string()),
        ("f", pa.float32()),
        ("half", pa.float16()),
        ("maybe", pa.int32()),
        ("u", pa.uint16()),
        ("flag", pa.bool_()),
        ("tags", pa.list_(pa.int32())),
        ("pair", pa.list_(pa.float32(), 2)),
        ("word", pa.dictionary(pa.int8(), pa.string())),
        ("user", pa.struct([("age", pa.int8()), ("name", pa.string())])),
        ("when", pa.timestamp("ms")),
        ("code", pa.binary(3)),
        ("price", pa.decimal128(9, 2)),
        ("none", pa.null()),
        ("words", pa.list_(pa.dictionary(pa.int32(), pa.large_string()))),
    ]
)


def batch(start, n):
    import decimal
    import numpy as np

    rows = range(start, start + n)
    values = [
        list(rows),
        ["text of number %d" % i for i in rows],
        ["large %d" % i for i in rows],
        [i / 4 for i in rows],
        [np.float16(i % 8 / 2) for i in rows],
        [None if i % 3 == 0 else i for i in rows],
        [i * 200 for i in rows],
        [i % 2 == 0 for i in rows],
        [None if i % 7 == 0 else list(range(i % 5)) for i in rows],
        [[i, i + 0.5] for i in rows],
        [None if i % 11 == 0 else ["red", "green", "blue"][i % 3] for i in rows],
        [None if i % 13 == 0 else {"age": i % 100, "name": None if i % 2 else "user %d" % i} for i in rows],
        [i * 1000 for i in rows],
        [b"%03d" % (i % 1000) for i in rows],
        [decimal.Decimal(i) for i in rows],
        [None for i in rows],
        [["w%d" % (i % 3), "w%d" % (i % 2)] for i in rows],
    ]
    arrays = [pa.array(v, f.type) for v, f in zip(values, schema)]
    return pa.record_batch(arrays, schema=schema)


batches = pa.Table.from_batches([batch(0, 200), batch(200, 99), batch(299, 1)]).unify_dictionaries().to_batches()
for name in ["plain", "lz4", "zstd"]:
    options = pa.ipc.IpcWriteOptions(compression=None if name == "plain" else name)
    with pa.ipc.new_file(name + ".arrow", schema, options=options) as out:
        for b in batches:
            out.write_batch(b)
with pa.ipc.new_stream("stream.arrows", schema) as out:
    out.write_batch(batches[2])
