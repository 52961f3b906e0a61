"""Writes the Parquet files of ParquetFilesTest with pyarrow: python files.py FOLDER."""
import sys

import pyarrow as pa
import pyarrow.parquet as pq

ROWS = 300


def table():
    i = range(ROWS)
    return pa.table(
        {
            "n": pa.array(i, pa.int64()),
            "small": pa.array([k * 7 - 1000 for k in i], pa.int32()),
            "large": pa.array([k * 10_000_000_019 - (1 << 40) for k in i], pa.int64()),
            "float": pa.array([k / 8 for k in i], pa.float32()),
            "double": pa.array([-k / 16 for k in i], pa.float64()),
            "flag": pa.array([k % 3 == 0 for k in i], pa.bool_()),
            "word": pa.array(["word %d" % (k % 10) for k in i], pa.string()),
            "text": pa.array(["text of number %d" % k for k in i], pa.string()),
            "fixed": pa.array([b"%04d" % k for k in i], pa.binary(4)),
            "maybe": pa.array([None if k % 5 == 0 else k for k in i], pa.int32()),
            "perhaps": pa.array([None if k % 7 < 4 else "p%d" % k for k in i], pa.string()),
            "ids": pa.array(
                [None if k % 11 == 0 else list(range(k % 4)) for k in i], pa.list_(pa.int64())
            ),
            "user": pa.array([None if k % 13 == 0 else {"age": k} for k in i]),
            "price": pa.array([k for k in i], pa.decimal128(9, 2)),
        }
    )


def write(name, **options):
    pq.write_table(
        table(), sys.argv[1] + "/" + name, row_group_size=128, data_page_size=256,
        write_batch_size=32, **options)


for codec in ["none", "snappy", "gzip", "zstd", "lz4"]:
    write(codec + ".parquet", compression=codec, write_page_checksum=codec == "snappy")
write("v2.parquet", compression="zstd", data_page_version="2.0", version="2.6")
write("v2-plain.parquet", compression="none", data_page_version="2.0", use_dictionary=False)
write(
    "delta.parquet",
    compression="snappy",
    use_dictionary=False,
    column_encoding={
        "n": "DELTA_BINARY_PACKED",
        "small": "DELTA_BINARY_PACKED",
        "large": "DELTA_BINARY_PACKED",
        "float": "BYTE_STREAM_SPLIT",
        "double": "BYTE_STREAM_SPLIT",
        "word": "DELTA_LENGTH_BYTE_ARRAY",
        "text": "DELTA_BYTE_ARRAY",
        "flag": "RLE",
        "maybe": "DELTA_BINARY_PACKED",
    },
)
write("brotli.parquet", compression="brotli")
