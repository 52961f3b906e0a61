package dev.millrace.ops.lookup;

import dev.millrace.base.MillraceException;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;

/** What a table is called, and what its keys and values are. */
record TableSpec(
    TableKind kind, String name, DType keys, DType values, Shape keyShape, Shape valueShape) {
  /** Refuses a node that takes the table of this name for another kind of table. */
  void checkSame(TableSpec wanted) {
    if (keys != wanted.keys || values != wanted.values || kind != wanted.kind) {
      throw MillraceException.invalid(
          "Conflicting key/value dtypes %s->%s with %s-%s for table %s: it is a %s, not a %s.",
          wanted.keys, wanted.values, keys, values, name, kind.label, wanted.kind.label);
    }
  }

  void checkKeys(Tensor t) {
    checkType("Key", keys, t);
    Shape s = t.shape();
    int rank = keyShape.rank();
    if (kind == TableKind.DENSE && s.rank() > 1 + rank) {
      throw MillraceException.invalid(
          "Expected key shape %s got %s", Shape.of(s.dim(0)).concat(keyShape), s);
    }
    if (s.rank() < rank || !s.slice(s.rank() - rank, s.rank()).equals(keyShape)) {
      throw MillraceException.invalid(
          "Input key shape %s must end with the table's key shape %s", s, keyShape);
    }
  }

  void checkValues(Tensor keysGiven, Tensor t) {
    checkKeys(keysGiven);
    checkType("Value", values, t);
    Shape wanted = valuesFor(keysGiven.shape());
    if (!wanted.equals(t.shape())) {
      throw MillraceException.invalid("Expected shape %s for value, got %s", wanted, t.shape());
    }
  }

  /** Refuses what cannot be rows of a dense table, with or without a dimension for their parts. */
  void checkExported(Tensor keysGiven, Tensor t) {
    checkType("Key", keys, keysGiven);
    checkType("Value", values, t);
    Shape s = keysGiven.shape();
    long n = s.rank() == 0 ? 1 : s.dim(0);
    if (keysGiven.elements() != n * keyShape.elements()) {
      throw MillraceException.invalid(
          "Expected key shape %s got %s", Shape.of(n).concat(keyShape), s);
    }
    if (t.elements() != n * valueShape.elements()) {
      throw MillraceException.invalid(
          "Expected shape %s for value, got %s", Shape.of(n).concat(valueShape), t.shape());
    }
  }

  /** Whether {@code t} has a default for each key rather than one for all. */
  boolean isDefaultPerKey(Tensor keysGiven, Tensor t) {
    checkKeys(keysGiven);
    checkType("Default value", values, t);
    if (t.shape().equals(valueShape)) {
      return false;
    }
    Shape full = valuesFor(keysGiven.shape());
    if (!full.equals(t.shape())) {
      throw MillraceException.invalid(
          "Expected shape %s or %s for default value, got %s", valueShape, full, t.shape());
    }
    return true;
  }

  /** The shape of the values of keys of shape {@code s}. */
  Shape valuesFor(Shape s) {
    return s.slice(0, s.rank() - keyShape.rank()).concat(valueShape);
  }

  private static void checkType(String what, DType wanted, Tensor t) {
    if (t.dtype() != wanted) {
      throw MillraceException.invalid("%s must be type %s but got %s", what, wanted, t.dtype());
    }
  }
}
