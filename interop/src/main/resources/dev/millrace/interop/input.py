"""Criteo-shaped input. 'write FOLDER ROWS' writes files; 'read FORMAT FOLDER' reads one with tf.data, as a contender."""
import os
import resource
import sys
import time

import numpy as np

NUMBERS = ["I%d" % i for i in range(1, 14)]
WORDS = ["C%d" % i for i in range(1, 27)]
BATCH = 4096


def write(folder, rows):
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet
    import tensorflow as tf

    random = np.random.default_rng(1)
    columns = {"label": random.integers(0, 2, rows)}
    for name in NUMBERS:
        columns[name] = pa.array(random.integers(0, 1000, rows), mask=random.random(rows) < 0.1)
    for name in WORDS:
        some = int(10 ** random.uniform(1, 5.5))
        texts = np.array(["%08x" % x for x in random.integers(0, 2**32, some)])
        chosen = np.minimum((random.zipf(1.3, rows) - 1) % some, some - 1)
        columns[name] = pa.array(texts[chosen], mask=random.random(rows) < 0.05)
    table = pa.table(columns)
    pyarrow.parquet.write_table(table, folder + "/criteo.parquet", row_group_size=50000)
    plain = pyarrow.csv.WriteOptions(include_header=True, quoting_style="none")
    pyarrow.csv.write_csv(table, folder + "/criteo.csv", plain)
    with tf.io.TFRecordWriter(folder + "/criteo.tfrecord") as out:
        for row in table.to_pylist():
            example = tf.train.Example()
            feature = example.features.feature
            feature["label"].int64_list.value.append(row["label"])
            for name in NUMBERS:
                if row[name] is not None:
                    feature[name].float_list.value.append(row[name])
            for name in WORDS:
                if row[name] is not None:
                    feature[name].bytes_list.value.append(row[name].encode())
            out.write(example.SerializeToString())


def dataset(kind, folder):
    import tensorflow as tf

    file = folder + "/criteo." + kind
    if kind == "csv":
        # Lines in batches: faster than CsvDataset and make_csv_dataset, which go line by line.
        defaults = [np.int64(0)] + [np.float32(0)] * len(NUMBERS) + [""] * len(WORDS)
        lines = tf.data.TextLineDataset(file).skip(1).batch(BATCH)
        return lines.map(lambda batch: tf.io.decode_csv(batch, defaults)).prefetch(2)
    if kind == "tfrecord":
        features = {"label": tf.io.FixedLenFeature([], tf.int64)}
        features |= {n: tf.io.FixedLenFeature([], tf.float32, 0.0) for n in NUMBERS}
        features |= {n: tf.io.FixedLenFeature([], tf.string, "") for n in WORDS}
        records = tf.data.TFRecordDataset(file).batch(BATCH)
        return records.map(lambda batch: tf.io.parse_example(batch, features)).prefetch(2)

    # tf.data has no Parquet of its own: pyarrow reads, as its users do.
    import pyarrow.parquet

    def batches():
        for batch in pyarrow.parquet.ParquetFile(file).iter_batches(BATCH):
            columns = [batch.column(0).to_numpy()]
            for i in range(1, 14):
                columns.append(batch.column(i).fill_null(0).to_numpy().astype(np.float32))
            for i in range(14, 40):
                columns.append(batch.column(i).fill_null("").to_numpy(zero_copy_only=False))
            yield tuple(columns)

    types = [tf.int64] + [tf.float32] * len(NUMBERS) + [tf.string] * len(WORDS)
    signature = tuple(tf.TensorSpec([None], t) for t in types)
    return tf.data.Dataset.from_generator(batches, output_signature=signature).prefetch(2)


def read(kind, folder):
    import tensorflow as tf

    data = dataset(kind, folder)
    print("@ tf.data %s%s" % (tf.__version__, ", pyarrow" if kind == "parquet" else ""), flush=True)
    for line in sys.stdin:
        end = time.monotonic() + int(line) / 1000
        cpu, start, rows = time.process_time(), time.monotonic(), 0
        while rows == 0 or time.monotonic() < end:
            for batch in data:
                rows += len(batch[0] if isinstance(batch, tuple) else batch["label"])
        cpu, wall = time.process_time() - cpu, time.monotonic() - start
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        micros = wall * 1e6 * BATCH / rows
        print("@ %f %f NaN %d" % (rows / cpu, micros, peak), flush=True)
    os._exit(0)


if sys.argv[1] == "write":
    write(sys.argv[2], int(sys.argv[3]))
else:
    read(sys.argv[2], sys.argv[3])
