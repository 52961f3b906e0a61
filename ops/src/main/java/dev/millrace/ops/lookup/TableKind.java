package dev.millrace.ops.lookup;

/** The kinds of tables TensorFlow has. */
enum TableKind {
  /** Filled once, then only read. */
  STATIC("HashTable"),
  /** Of single values. */
  MUTABLE("MutableHashTable"),
  /** Of values that have a shape. */
  OF_TENSORS("MutableHashTableOfTensors"),
  /** Of keys and values that have a shape, with two keys that no entry may have. */
  DENSE("MutableDenseHashTable");

  final String label;

  TableKind(String label) {
    this.label = label;
  }
}
