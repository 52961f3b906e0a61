package dev.millrace.interop.conformance.cases;

import dev.millrace.base.Code;
import dev.millrace.interop.GraphWriter;
import dev.millrace.interop.conformance.CaseTable;
import dev.millrace.interop.conformance.Kernels;
import dev.millrace.interop.conformance.OpCase;
import dev.millrace.interop.conformance.Scenario;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Tensors given by coordinates and values, and sums of picked rows. */
public final class SparseCases extends CaseTable {
  private boolean strongHash;

  public SparseCases() {
    reorder();
    reshape();
    fillEmptyRows();
    for (String how : List.of("Sum", "Mean", "SqrtN")) {
      segments("SparseSegment" + how);
      segmentGradients("SparseSegment" + how);
    }
    concat();
    split();
    slice();
    sum();
    sumWithDense();
    product();
    setSize();
    cross();
    serialized();
    serializedAsVariants();
    map();
  }

  /** Coordinates, {@code rank} to a value. */
  private static Tensor at(int rank, long... coordinates) {
    return Tensor.of(Shape.of(coordinates.length / rank, rank), coordinates);
  }

  private void reorder() {
    Tensor some = at(2, 3, 2, 0, 1, 1, 3, 0, 0);
    for (DType dtype : List.of(DType.FLOAT, DType.DOUBLE, DType.INT32, DType.STRING, DType.BOOL)) {
      op("SparseReorder", some, any(dtype, 4), longs(4, 5)).fixed(2);
    }
    op("SparseReorder", at(3, 1, 0, 1, 1, 0, 0, 0, 1, 1), floats(3), longs(2, 2, 2)).fixed(2);
    op("SparseReorder", at(2), floats(0), longs(2, 2)).fixed(2).noGradient();
    // What is outside the shape is put in order too.
    op("SparseReorder", some, floats(4), longs(3, 5)).fixed(2);
    op("SparseReorder", some, floats(3), longs(4, 5)).fails(Code.INVALID_ARGUMENT);
    op("SparseReorder", longs(1, 2), floats(2), longs(4)).fails(Code.INVALID_ARGUMENT);
  }

  private void reshape() {
    Tensor some = at(3, 0, 0, 0, 0, 1, 2, 1, 1, 1);
    for (long[] to : List.of(new long[] {12}, new long[] {-1, 4}, new long[] {2, 2, -1, 1})) {
      op("SparseReshape", some, longs(2, 2, 3), longs(to)).fixed(1, 2);
    }
    op("SparseReshape", at(2), longs(0, 3), longs(3, 0)).fixed(1, 2);
    for (long[] to : List.of(new long[] {5, -1}, new long[] {13}, new long[] {-1, -1})) {
      op("SparseReshape", some, longs(2, 2, 3), longs(to)).fails(Code.INVALID_ARGUMENT);
    }
    op("SparseReshape", some, longs(2, 2, 3), longs(-2, 6)).fails(Code.INVALID_ARGUMENT);
    op("SparseReshape", at(2), longs(0, 3), longs(-1, 0)).fails(Code.INVALID_ARGUMENT);
    op("SparseReshape", longs(1, 2), longs(4), longs(2, 2)).fails(Code.INVALID_ARGUMENT);
  }

  private void fillEmptyRows() {
    String op = "SparseFillEmptyRows";
    Tensor some = at(2, 0, 0, 1, 0, 1, 3, 3, 2);
    for (DType dtype : List.of(DType.FLOAT, DType.DOUBLE, DType.INT32, DType.STRING, DType.BOOL)) {
      op(op, some, any(dtype, 4), longs(5, 6), any(dtype)).fixed(2);
    }
    // Rows in any order, none empty, and nothing at all.
    op(op, at(2, 2, 0, 0, 1, 2, 1), floats(3), longs(4, 6), floats()).fixed(2);
    op(op, at(1, 0, 1), floats(2), longs(2), floats()).fixed(2);
    op(op, at(2), floats(0), longs(2, 6), floats()).fixed(2);
    op(op, at(2), floats(0), longs(0, 6), floats()).fixed(2).noGradient();
    op(op, some, floats(4), longs(3, 6), floats()).fails(Code.INVALID_ARGUMENT);
    op(op, some, floats(3), longs(5, 6), floats()).fails(Code.INVALID_ARGUMENT);
    op(op, some, floats(4), longs(0, 6), floats()).fails(Code.INVALID_ARGUMENT);
    op(op, some, floats(4), longs(5, 6), floats(1)).fails(Code.INVALID_ARGUMENT);
    for (DType dtype : List.of(DType.FLOAT, DType.DOUBLE, DType.INT64)) {
      op(op + "Grad", longs(2, 0, 3), any(dtype, 5)).noGradient();
    }
    op(op + "Grad", longs(), floats(2)).noGradient();
    op(op + "Grad", longs(1, 5), floats(5)).fails(Code.INVALID_ARGUMENT);
  }

  private void concat() {
    String op = "SparseConcat";
    Tensor some = at(2, 0, 1, 1, 0, 1, 2);
    Tensor more = at(2, 0, 0, 1, 2);
    for (DType dtype : List.of(DType.FLOAT, DType.INT32, DType.STRING, DType.BOOL)) {
      for (int axis : new int[] {0, 1, -1, -2}) {
        op(op, some, more, any(dtype, 3), any(dtype, 2), longs(2, 3), longs(2, 3))
            .with("N", 2)
            .with("concat_dim", axis);
      }
    }
    op(op, some, more, more, floats(3), floats(2), floats(2), longs(2, 3), longs(2, 4), longs(2, 3))
        .with("N", 3)
        .with("concat_dim", 1)
        .noGradient();
    op(op, at(2), at(2), floats(0), floats(0), longs(2, 3), longs(0, 3))
        .with("N", 2)
        .with("concat_dim", 0);
    Tensor[] uneven = {some, more, floats(3), floats(2), longs(2, 3), longs(3, 3)};
    op(op, uneven).with("N", 2).with("concat_dim", 0);
    op(op, uneven).with("N", 2).with("concat_dim", 1).fails(Code.INVALID_ARGUMENT);
    op(op, uneven).with("N", 2).with("concat_dim", 2).fails(Code.INVALID_ARGUMENT);
    op(op, uneven).with("N", 2).with("concat_dim", -3).fails(Code.INVALID_ARGUMENT);
    op(op, some, at(1, 1, 0), floats(3), floats(2), longs(2, 3), longs(3))
        .with("N", 2)
        .with("concat_dim", 0)
        .fails(Code.INVALID_ARGUMENT);
  }

  private void split() {
    String op = "SparseSplit";
    Tensor some = at(2, 0, 1, 1, 0, 1, 4, 3, 3, 3, 6);
    for (DType dtype : List.of(DType.FLOAT, DType.INT32, DType.STRING, DType.BOOL)) {
      for (long axis : new long[] {0, 1, -1}) {
        op(op, Tensor.scalar(axis), some, any(dtype, 5), longs(4, 7))
            .with("num_split", 3)
            .noGradient();
      }
    }
    op(op, Tensor.scalar(1L), some, floats(5), longs(4, 7)).with("num_split", 1).noGradient();
    op(op, Tensor.scalar(1L), at(2), floats(0), longs(4, 7)).with("num_split", 7).noGradient();
    op(op, Tensor.scalar(2L), some, floats(5), longs(4, 7))
        .with("num_split", 2)
        .fails(Code.INVALID_ARGUMENT);
    op(op, Tensor.scalar(0L), some, floats(5), longs(4, 7))
        .with("num_split", 5)
        .fails(Code.INVALID_ARGUMENT);
    op(op, longs(0, 1), some, floats(5), longs(4, 7))
        .with("num_split", 2)
        .fails(Code.INVALID_ARGUMENT);
  }

  private void slice() {
    String op = "SparseSlice";
    Tensor some = at(2, 0, 1, 1, 0, 1, 4, 3, 3, 3, 6);
    for (DType dtype : List.of(DType.FLOAT, DType.DOUBLE, DType.INT32, DType.STRING)) {
      op(op, some, any(dtype, 5), longs(4, 7), longs(1, 0), longs(2, 5));
      op(op, some, any(dtype, 5), longs(4, 7), longs(1, 3), longs(9, 9));
    }
    op(op, some, floats(5), longs(4, 7), longs(0, 0), longs(4, 7));
    op(op, some, floats(5), longs(4, 7), longs(5, 0), longs(1, 7)).noGradient();
    op(op, at(2), floats(0), longs(4, 7), longs(1, 1), longs(1, 1)).noGradient();
    op(op, some, floats(5), longs(4, 7), longs(0), longs(4, 7)).fails(Code.INVALID_ARGUMENT);
    op(op, some, floats(5), longs(4, 7), longs(0, 0), longs(4)).fails(Code.INVALID_ARGUMENT);
    op(op, some, floats(5), longs(4, 7), longs(0, 0), longs(-4, 7)).fails(Code.INVALID_ARGUMENT);
    op(op, some, floats(4), longs(4, 7), longs(0, 0), longs(4, 7)).fails(Code.INVALID_ARGUMENT);
    String grad = op + "Grad";
    for (DType dtype : List.of(DType.FLOAT, DType.DOUBLE, DType.INT64)) {
      op(grad, any(dtype, 2), some, longs(1, 0), at(2, 0, 0, 0, 4)).noGradient();
    }
    op(grad, floats(0), some, longs(1, 0), at(2)).noGradient();
    op(grad, floats(2), some, longs(1, 0), at(2, 0, 0)).fails(Code.INVALID_ARGUMENT);
    op(grad, floats(2), some, longs(1, 0), at(2, 0, 0, 0, 5)).fails(Code.INTERNAL);
    op(grad, floats(2), some, longs(1, 0), at(1, 0, 4)).fails(Code.INVALID_ARGUMENT);
  }

  private void sum() {
    String op = "SparseAdd";
    Tensor a = at(2, 0, 1, 1, 0, 3, 2);
    Tensor b = at(2, 0, 0, 1, 0, 3, 3);
    Tensor dims = longs(4, 5);
    for (DType dtype : Kernels.types(op, "T")) {
      Tensor none = Tensor.allocate(dtype, Shape.scalar());
      none.setLong(0, 0);
      op(op, a, any(dtype, 3), dims, b, any(dtype, 3), dims, none).noGradientBy(6);
    }
    op(op, a, floats(3), dims, b, floats(3), dims, Tensor.scalar(0.7f)).noGradient();
    op(op, at(2), floats(0), dims, at(2), floats(0), dims, Tensor.scalar(0f)).noGradient();
    op(op, a, floats(3), dims, at(2), floats(0), dims, Tensor.scalar(0f)).noGradient();
    op(op, a, floats(3), dims, b, floats(3), longs(4, 6), Tensor.scalar(0f))
        .fails(Code.INVALID_ARGUMENT);
    op(op, a, floats(3), dims, at(1, 1), floats(1), longs(4), Tensor.scalar(0f))
        .fails(Code.INVALID_ARGUMENT);
    op(op, a, floats(3), dims, b, floats(2), dims, Tensor.scalar(0f)).fails(Code.INVALID_ARGUMENT);
    op(op, a, floats(3), dims, b, floats(3), dims, floats(1)).fails(Code.INVALID_ARGUMENT);
    String grad = op + "Grad";
    for (DType dtype : List.of(DType.FLOAT, DType.DOUBLE, DType.INT64)) {
      op(grad, any(dtype, 3), a, b, at(2, 0, 1, 1, 0, 3, 3)).noGradient();
    }
    op(grad, floats(0), a, b, at(2)).noGradient();
    op(grad, floats(3), a, b, at(2, 0, 1)).fails(Code.INVALID_ARGUMENT);
    op(grad, floats(1), a, at(1, 0), at(2, 0, 1)).fails(Code.INVALID_ARGUMENT);
  }

  private void sumWithDense() {
    String op = "SparseTensorDenseAdd";
    Tensor some = at(2, 0, 1, 1, 0, 2, 2);
    for (DType dtype : List.of(DType.FLOAT, DType.DOUBLE, DType.INT32, DType.INT64)) {
      op(op, some, any(dtype, 3), longs(3, 4), any(dtype, 3, 4));
    }
    op(op, Tensor.of(Shape.of(2, 1), 2, 2), floats(2), ints(3), floats(3));
    op(op, at(2), floats(0), longs(3, 4), floats(3, 4)).noGradient();
    op(op, some, floats(3), longs(3, 4), floats(3, 5)).fails(Code.INVALID_ARGUMENT);
    op(op, some, floats(3), longs(3, 4), floats(3)).fails(Code.INVALID_ARGUMENT);
    op(op, some, floats(3), longs(2, 4), floats(2, 4)).fails(Code.INVALID_ARGUMENT);
    op(op, some, floats(2), longs(3, 4), floats(3, 4)).fails(Code.INVALID_ARGUMENT);
  }

  private void product() {
    String op = "SparseTensorDenseMatMul";
    Tensor some = at(2, 0, 1, 1, 0, 2, 2, 2, 3);
    for (DType dtype : List.of(DType.FLOAT, DType.DOUBLE, DType.INT32)) {
      op(op, some, any(dtype, 4), longs(3, 4), any(dtype, 4, 5)).fixed(2);
      op(op, some, any(dtype, 4), longs(3, 4), any(dtype, 3, 5)).fixed(2).with("adjoint_a", true);
      op(op, some, any(dtype, 4), longs(3, 4), any(dtype, 5, 4)).fixed(2).with("adjoint_b", true);
      op(op, some, any(dtype, 4), longs(3, 4), any(dtype, 5, 3))
          .fixed(2)
          .with("adjoint_a", true)
          .with("adjoint_b", true);
    }
    op(op, Tensor.of(Shape.of(2, 2), 2, 0, 0, 1), floats(2), longs(3, 2), floats(2, 2)).fixed(2);
    op(op, at(2), floats(0), longs(3, 4), floats(4, 5)).fixed(2).noGradient();
    op(op, some, floats(4), longs(3, 4), floats(3, 5)).fails(Code.INVALID_ARGUMENT);
    op(op, some, floats(4), longs(3, 4), floats(4)).fails(Code.INVALID_ARGUMENT);
    op(op, some, floats(4), longs(3, 3), floats(3, 5)).fails(Code.INVALID_ARGUMENT);
    op(op, some, floats(3), longs(3, 4), floats(4, 5)).fails(Code.INVALID_ARGUMENT);
    op(op, some, floats(4), longs(3), floats(4, 5)).fails(Code.INVALID_ARGUMENT);
  }

  private void setSize() {
    Tensor some = at(2, 0, 0, 0, 1, 0, 2, 2, 0, 2, 3);
    for (DType dtype : List.of(DType.INT32, DType.INT64, DType.STRING)) {
      op("SetSize", some, any(dtype, 5), longs(3, 4));
    }
    op("SetSize", at(3, 0, 0, 0, 0, 0, 1, 1, 1, 0), longs(7, 7, 7), longs(2, 2, 2));
    op("SetSize", at(2), longs(), longs(3, 4));
    op("SetSize", at(1, 0, 1), longs(1, 2), longs(4)).fails(Code.INVALID_ARGUMENT);
    op("SetSize", at(2, 1, 0, 0, 0), longs(1, 2), longs(2, 2)).fails(Code.INVALID_ARGUMENT);
    op("SetSize", at(2, 0, 0, 2, 0), longs(1, 2), longs(2, 2)).fails(Code.INVALID_ARGUMENT);
  }

  private void cross() {
    Tensor first = at(2, 0, 0, 1, 0, 1, 1);
    Tensor second = at(2, 0, 0, 0, 1, 2, 0);
    for (DType a : List.of(DType.STRING, DType.INT64)) {
      for (DType b : List.of(DType.STRING, DType.INT64)) {
        Tensor[] sparse = {first, second, any(a, 3), any(b, 3), longs(3, 2), longs(3, 2)};
        crosses(List.of(a, b), List.of(), sparse);
        Tensor[] both = {first, any(a, 3), longs(3, 2), any(b, 3, 2), any(a, 3, 1)};
        crosses(List.of(a), List.of(b, a), both);
        crosses(List.of(), List.of(a, b), any(a, 2, 2), any(b, 2, 3));
      }
    }
    List<DType> one = List.of(DType.STRING);
    crosses(one, List.of(), at(2), any(DType.STRING, 0), longs(0, 2));
    crosses(one, List.of(), at(2), any(DType.STRING, 0), longs(2, 2));
    for (String op : List.of("SparseCross", "SparseCrossV2", "SparseCrossHashed")) {
      for (Tensor[] bad :
          List.of(
              new Tensor[] {first, any(DType.STRING, 3), longs(3), any(DType.INT64, 3, 2)},
              new Tensor[] {first, any(DType.STRING, 2), longs(3, 2), any(DType.INT64, 3, 2)},
              new Tensor[] {first, any(DType.STRING, 3), longs(3, 2), any(DType.INT64, 2, 2)},
              new Tensor[] {first, any(DType.STRING, 3), longs(3, 2), any(DType.INT64, 3)})) {
        cross(op, one, List.of(DType.INT64), bad).fails(Code.INVALID_ARGUMENT);
      }
    }
  }

  private void crosses(List<DType> sparse, List<DType> dense, Tensor... inputs) {
    cross("SparseCross", sparse, dense, inputs);
    for (int buckets : new int[] {0, 100}) {
      cross("SparseCross", sparse, dense, inputs)
          .with("hashed_output", true)
          .with("num_buckets", buckets)
          .with("out_type", DType.INT64);
    }
    cross("SparseCrossV2", sparse, dense, inputs);
    cross("SparseCrossHashed", sparse, dense, inputs);
    // TensorFlow's process ends over numbers in dense columns, of which it makes strings.
    strongHash = !dense.contains(DType.INT64);
    cross("SparseCrossHashed", sparse, dense, inputs);
    strongHash = false;
  }

  private OpCase cross(String op, List<DType> sparse, List<DType> dense, Tensor... inputs) {
    List<Tensor> all = new ArrayList<>(List.of(inputs));
    if (op.equals("SparseCrossV2")) {
      all.add(Tensor.scalar("-"));
    } else if (op.equals("SparseCrossHashed")) {
      all.addAll(List.of(Tensor.scalar(1000L), Tensor.scalar(strongHash), longs(1, 2)));
    }
    OpCase c =
        op(op, all.toArray(Tensor[]::new))
            .with("N", sparse.size())
            .with("sparse_types", sparse)
            .with("dense_types", dense);
    return op.equals("SparseCross")
        ? c.with("hashed_output", false)
            .with("num_buckets", 0)
            .with("hash_key", 0xDECAFCAFFEL)
            .with("out_type", DType.STRING)
            .with(
                "internal_type",
                sparse.contains(DType.INT64) || dense.contains(DType.INT64)
                    ? DType.INT64
                    : DType.STRING)
        : c;
  }

  private void serialized() {
    Tensor some = at(3, 0, 1, 2, 0, 3, 0, 2, 0, 1);
    for (DType dtype : List.of(DType.FLOAT, DType.INT32, DType.STRING, DType.BOOL)) {
      op("SerializeSparse", some, any(dtype, 3), longs(4, 4, 3));
      op("SerializeManySparse", some, any(dtype, 3), longs(4, 4, 3));
    }
    op("SerializeSparse", at(2), floats(0), longs(2, 2));
    op("SerializeManySparse", at(2), floats(0), longs(2, 2));
    op("SerializeManySparse", at(2), floats(0), longs(0, 2));
    for (String op : List.of("SerializeSparse", "SerializeManySparse")) {
      op(op, longs(1, 2), floats(2), longs(4)).fails(Code.INVALID_ARGUMENT);
      op(op, some, floats(3, 1), longs(4, 4, 3)).fails(Code.INVALID_ARGUMENT);
      op(op, some, floats(3), Tensor.scalar(4L)).fails(Code.INVALID_ARGUMENT);
    }
    op("SerializeManySparse", at(1, 0), floats(1), longs(4)).fails(Code.INVALID_ARGUMENT);
    op("SerializeManySparse", at(2, 4, 0), floats(1), longs(4, 4)).fails(Code.INVALID_ARGUMENT);
    for (String op : List.of("DeserializeSparse", "DeserializeManySparse")) {
      Tensor wrong = Tensor.of(Shape.of(1, 3), "a", "b", "c");
      for (DType dtype : List.of(DType.FLOAT, DType.STRING)) {
        op(op, wrong).with("dtype", dtype).fails(Code.INVALID_ARGUMENT);
      }
      op(op, Tensor.of(Shape.of(1, 2), "a", "b"))
          .with("dtype", DType.FLOAT)
          .fails(Code.INVALID_ARGUMENT);
      op(op, Tensor.of(Shape.of(0, 3), new String[0]))
          .with("dtype", DType.FLOAT)
          .fails(Code.INVALID_ARGUMENT);
      op(op, Tensor.scalar("a")).with("dtype", DType.FLOAT).fails(Code.INVALID_ARGUMENT);
    }
    for (DType dtype : List.of(DType.FLOAT, DType.STRING, DType.INT64)) {
      roundTrip(dtype, DType.STRING);
    }
  }

  private void serializedAsVariants() {
    roundTrip(DType.FLOAT, DType.VARIANT);
    roundTrip(DType.STRING, DType.VARIANT);
  }

  /** Serialized one by one or all rows at once, and put together again. */
  private void roundTrip(DType dtype, DType as) {
    Scenario s = scenario("DeserializeSparse of " + dtype + " by " + as);
    GraphWriter g = s.graph();
    g.constant("at", at(2, 0, 1, 0, 3, 2, 0));
    g.constant("values", any(dtype, 3));
    g.constant("dims", longs(4, 5));
    g.constant("wide", longs(4, 9));
    g.constant("deep", at(3, 0, 1, 1, 0, 1, 2, 2, 0, 0));
    g.constant("cube", longs(3, 2, 3));
    Map<String, Object> out = Map.of("T", dtype, "out_type", as);
    g.add("one", "SerializeSparse", out, "at", "values", "dims");
    g.add("other", "SerializeSparse", out, "at", "values", "wide");
    g.add("third", "SerializeSparse", out, "deep", "values", "cube");
    g.add("rows", "SerializeManySparse", out, "at", "values", "dims");
    g.add("both", "Pack", Map.of(), "one", "other");
    g.add("square", "Pack", Map.of(), "both", "both");
    g.add("uneven", "Pack", Map.of(), "one", "third");
    for (String from : List.of("one", "both", "square", "rows")) {
      g.add("from_" + from, "DeserializeSparse", Map.of("dtype", dtype), from);
      s.fetch("from_" + from, "from_" + from + ":1", "from_" + from + ":2");
    }
    g.add("bad_rank", "DeserializeSparse", Map.of("dtype", dtype), "uneven");
    g.add("bad_type", "DeserializeSparse", Map.of("dtype", DType.DOUBLE), "both");
    s.fails(Code.INVALID_ARGUMENT, "bad_rank").fails(Code.INVALID_ARGUMENT, "bad_type");
    if (as == DType.STRING) {
      for (String from : List.of("both", "rows")) {
        g.add("many_" + from, "DeserializeManySparse", Map.of("dtype", dtype), from);
        s.fetch("many_" + from, "many_" + from + ":1", "many_" + from + ":2");
      }
      g.add("many_rank", "DeserializeManySparse", Map.of("dtype", dtype), "uneven");
      s.fails(Code.INVALID_ARGUMENT, "many_rank");
    }
  }

  private void map() {
    for (DType dtype : List.of(DType.FLOAT, DType.STRING, DType.INT64)) {
      Scenario s = scenario("TakeManySparseFromTensorsMap of " + dtype);
      GraphWriter g = s.graph();
      Map<String, Object> shared = Map.of("shared_name", "m");
      Map<String, Object> taken = Map.of("shared_name", "m", "dtype", dtype);
      g.constant("at", at(2, 0, 1, 0, 3, 2, 0));
      g.constant("values", any(dtype, 3));
      g.constant("dims", longs(4, 5));
      g.constant("wide", longs(3, 9));
      g.constant("deep", at(3, 0, 1, 1, 0, 1, 2, 2, 0, 0));
      g.constant("cube", longs(3, 2, 3));
      g.constant("line", at(1, 0, 1, 2));
      g.constant("length", longs(3));
      g.constant("outside", longs(2, 5));
      g.placeholder("handles", DType.INT64, Shape.unknown());
      g.add("one", "AddSparseToTensorsMap", shared, "at", "values", "dims");
      g.add("other", "AddSparseToTensorsMap", shared, "at", "values", "wide");
      g.add("third", "AddSparseToTensorsMap", shared, "deep", "values", "cube");
      g.add("rows", "AddManySparseToTensorsMap", shared, "at", "values", "dims");
      g.add("flat", "AddManySparseToTensorsMap", shared, "line", "values", "length");
      g.add("few", "AddManySparseToTensorsMap", shared, "at", "values", "outside");
      g.add("take", "TakeManySparseFromTensorsMap", taken, "handles");
      g.add(
          "wrong",
          "TakeManySparseFromTensorsMap",
          Map.of("shared_name", "m", "dtype", DType.DOUBLE),
          "handles");
      s.fetch("one").fetch("other").fetch("rows").fetch("third").fetch("one");
      take(s, 1, 0).fetch(Map.of("handles", longs(2, 3, 4, 5)), "take", "take:1", "take:2");
      // One that is gone, one that never was, none, no vector, one rank beside another.
      s.step(Map.of("handles", longs(0)), Code.INVALID_ARGUMENT, "take");
      s.step(Map.of("handles", longs(99)), Code.INVALID_ARGUMENT, "take");
      s.step(Map.of("handles", longs()), Code.INVALID_ARGUMENT, "take");
      s.step(Map.of("handles", Tensor.scalar(6L)), Code.INVALID_ARGUMENT, "take");
      s.step(Map.of("handles", longs(6, 7)), Code.INVALID_ARGUMENT, "take");
      s.fetch("one").step(Map.of("handles", longs(8)), Code.INVALID_ARGUMENT, "wrong");
      s.fails(Code.INVALID_ARGUMENT, "flat").fails(Code.INVALID_ARGUMENT, "few");
    }
  }

  private static Scenario take(Scenario s, long... handles) {
    return s.fetch(Map.of("handles", longs(handles)), "take", "take:1", "take:2");
  }

  private void segments(String op) {
    for (DType dtype : Kernels.types(op, "T")) {
      op(op, any(dtype, 5, 3), ints(4, 0, 4, 2), ints(0, 0, 0, 2));
      op(op + "WithNumSegments", any(dtype, 5, 3), ints(4, 0, 4), ints(0, 0, 2), scalar(4))
          .fixed(3);
    }
    op(op, floats(5), longs(4, 0, 4, 2), longs(0, 1, 1, 1));
    op(op, floats(3, 2, 2), longs(2, 2), ints(1, 1));
    op(op, floats(3, 2), ints(), longs());
    op(op, floats(3, 0), ints(0, 1), ints(0, 0));
    op(op, floats(3, 2), ints(3), ints(0)).fails(Code.INVALID_ARGUMENT);
    op(op, floats(3, 2), ints(0, 1), ints(1, 0)).fails(Code.INVALID_ARGUMENT);
    op(op, floats(3, 2), ints(0, 1), ints(0)).fails(Code.INVALID_ARGUMENT);
    op(op, floats(3, 2), ints(0, 1), ints(-1, 0)).fails(Code.INVALID_ARGUMENT);
    op = op + "WithNumSegments";
    op(op, floats(5), longs(4, 0), longs(1, 1), Tensor.scalar(3L)).fixed(3);
    op(op, floats(3, 2), ints(), ints(), scalar(2)).fixed(3);
    op(op, floats(3, 2), ints(0, 1), ints(0, 2), scalar(2)).fails(Code.INVALID_ARGUMENT);
    op(op, floats(3, 2), ints(0), ints(0), scalar(-1)).fails(Code.INVALID_ARGUMENT);
  }

  private void segmentGradients(String op) {
    for (String grad : List.of(op + "Grad", op + "GradV2")) {
      for (DType dtype : Kernels.types(grad, "T")) {
        op(grad, any(dtype, 3, 2), ints(4, 0, 4, 2), ints(0, 0, 0, 2), scalar(6))
            .fixed(3)
            .noGradient();
      }
      op(grad, floats(2, 3), longs(1, 0), longs(1, 1), scalar(2)).fixed(3).noGradient();
      op(grad, floats(2, 3), ints(1, 0), ints(0, 2), scalar(2)).fails(Code.INVALID_ARGUMENT);
      op(grad, floats(2, 3), ints(1, 3), ints(0, 1), scalar(2)).fails(Code.INVALID_ARGUMENT);
      op(grad, floats(2, 3), ints(1), ints(0, 1), scalar(2)).fails(Code.INVALID_ARGUMENT);
    }
  }
}
