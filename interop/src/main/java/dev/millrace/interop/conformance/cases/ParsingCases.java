package dev.millrace.interop.conformance.cases;

import com.google.protobuf.ByteString;
import dev.millrace.base.Code;
import dev.millrace.interop.conformance.CaseTable;
import dev.millrace.proto.AttrValue;
import dev.millrace.proto.BytesList;
import dev.millrace.proto.Example;
import dev.millrace.proto.Feature;
import dev.millrace.proto.FeatureList;
import dev.millrace.proto.FeatureLists;
import dev.millrace.proto.Features;
import dev.millrace.proto.FloatList;
import dev.millrace.proto.Int64List;
import dev.millrace.proto.SequenceExample;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.ArrayList;
import java.util.List;

/** Examples, sequences of features, and lines of values. */
public final class ParsingCases extends CaseTable {
  private static final AttrValue NONE =
      AttrValue.newBuilder().setList(AttrValue.ListValue.getDefaultInstance()).build();
  private static final Tensor NO_NAMES = Tensor.of(Shape.of(0), new String[0]);
  private static final Tensor NO_FLOATS = Tensor.of(Shape.of(0), new float[0]);

  public ParsingCases() {
    examples();
    sequences();
    lines();
  }

  private static Feature floats(float... v) {
    FloatList.Builder list = FloatList.newBuilder();
    for (float f : v) {
      list.addValue(f);
    }
    return Feature.newBuilder().setFloatList(list).build();
  }

  private static Feature words(String... v) {
    BytesList.Builder list = BytesList.newBuilder();
    for (String s : v) {
      list.addValue(ByteString.copyFromUtf8(s));
    }
    return Feature.newBuilder().setBytesList(list).build();
  }

  private static Feature whole(long... v) {
    Int64List.Builder list = Int64List.newBuilder();
    for (long n : v) {
      list.addValue(n);
    }
    return Feature.newBuilder().setInt64List(list).build();
  }

  private static Features features(float[] x, long[] n, String... w) {
    Features.Builder f = Features.newBuilder().putFeature("x", floats(x));
    if (n != null) {
      f.putFeature("n", whole(n)).putFeature("m", whole(n));
    }
    return f.putFeature("w", words(w)).putFeature("v", words(w)).build();
  }

  private static Tensor serialized(byte[]... examples) {
    Object[] all = new Object[examples.length];
    System.arraycopy(examples, 0, all, 0, all.length);
    return Tensor.ofObjects(DType.STRING, Shape.of(all.length), all);
  }

  private void examples() {
    byte[] one = example(features(new float[] {1, 2}, new long[] {7, 8, 9}, "a", ""));
    byte[] two = example(features(new float[] {3, 4}, null));
    Tensor both = serialized(one, two);
    Tensor single = Tensor.ofObjects(DType.STRING, Shape.scalar(), new Object[] {one});
    for (Tensor examples : List.of(both, single, serialized())) {
      for (DType splits : List.of(DType.INT32, DType.INT64)) {
        // TensorFlow loses a feature whose key is given twice.
        Tensor words = Tensor.vector("w", "n");
        Tensor others = Tensor.vector("v", "m");
        op("ParseExampleV2", examples, NO_NAMES, words, Tensor.vector("x"), others, NO_FLOATS)
            .fixed(2, 3, 4)
            .with("num_sparse", 2)
            .with("sparse_types", List.of(DType.STRING, DType.INT64))
            .with("ragged_value_types", List.of(DType.STRING, DType.INT64))
            .with("ragged_split_types", List.of(splits, splits))
            .with("dense_shapes", List.of(Shape.of(2)))
            .noGradient();
      }
      long unknown = Shape.UNKNOWN;
      Tensor filling = Tensor.vector(-1L);
      for (Shape shape : List.of(Shape.of(unknown), Shape.of(1), Shape.of(3))) {
        boolean fits = shape.dim(0) == unknown || examples.elements() == 0 || shape.dim(0) == 3;
        Tensor absent = shape.dim(0) == 3 ? Tensor.vector(4L, 5L, 6L) : filling;
        op("ParseExampleV2", examples, NO_NAMES, NO_NAMES, Tensor.vector("n"), NO_NAMES, absent)
            .fixed(2, 3, 4)
            .with("num_sparse", 0)
            .with("sparse_types", NONE)
            .with("ragged_value_types", NONE)
            .with("ragged_split_types", NONE)
            .with("dense_shapes", List.of(shape))
            .noGradient()
            .fails(fits ? Code.OK : Code.INVALID_ARGUMENT);
      }
    }
    Tensor named = Tensor.vector("one", "two");
    for (String key : List.of("n", "w", "other")) {
      op("ParseExampleV2", both, named, NO_NAMES, Tensor.vector(key), NO_NAMES, NO_FLOATS)
          .fixed(2, 3, 4)
          .with("num_sparse", 0)
          .with("sparse_types", NONE)
          .with("ragged_value_types", NONE)
          .with("ragged_split_types", NONE)
          .with("dense_shapes", List.of(Shape.of(2)))
          .fails(Code.INVALID_ARGUMENT);
    }
  }

  private static byte[] example(Features f) {
    return Example.newBuilder().setFeatures(f).build().toByteArray();
  }

  private static byte[] sequence(Features context, FeatureList numbers, FeatureList words) {
    FeatureLists.Builder lists = FeatureLists.newBuilder();
    if (numbers != null) {
      lists.putFeatureList("numbers", numbers);
    }
    return SequenceExample.newBuilder()
        .setContext(context)
        .setFeatureLists(lists.putFeatureList("words", words).putFeatureList("more", words))
        .build()
        .toByteArray();
  }

  private static FeatureList list(Feature... steps) {
    return FeatureList.newBuilder().addAllFeature(List.of(steps)).build();
  }

  private void sequences() {
    byte[] one =
        sequence(
            features(new float[] {1, 2}, new long[] {7}, "a", "b"),
            list(whole(1, 2), whole(3, 4), whole(5, 6)),
            list(words("p", "q"), words("r")));
    byte[] two =
        sequence(
            features(new float[] {3, 4}, null),
            list(whole(7, 8)),
            list(words(), words("s", "t", "u")));
    byte[] lacking = sequence(features(new float[] {5, 6}, null), null, list());
    byte[] uneven = sequence(features(new float[] {5, 6}, null), list(whole(1)), list(words("v")));
    for (byte[] other : List.of(two, lacking, uneven)) {
      for (boolean missing : new boolean[] {true, false}) {
        boolean works = other == two || (other == lacking && missing);
        sequences(one, other, missing, works ? Code.OK : Code.INVALID_ARGUMENT);
      }
    }
  }

  private void sequences(byte[] one, byte[] other, boolean missing, Code code) {
    Tensor both = serialized(one, other);
    Tensor single = Tensor.ofObjects(DType.STRING, Shape.scalar(), new Object[] {other});
    List<DType> string = List.of(DType.STRING);
    List<DType> longs = List.of(DType.INT64);
    Tensor x = Tensor.vector("x");
    Tensor w = Tensor.vector("w");
    Tensor words = Tensor.vector("words");
    Tensor numbers = Tensor.vector("numbers");
    for (Tensor examples : List.of(both, single)) {
      // Where there is nothing to split TensorFlow has a scalar, but says it is a vector.
      boolean ragged = examples == both;
      op(
              "ParseSequenceExampleV2",
              examples,
              NO_NAMES,
              w,
              x,
              ragged ? Tensor.vector("v") : NO_NAMES,
              words,
              numbers,
              ragged ? Tensor.vector("more") : NO_NAMES,
              Tensor.of(Shape.of(1), missing),
              NO_FLOATS)
          .fixed(2, 3, 4, 5, 6, 7)
          .with("Ncontext_sparse", 1)
          .with("context_sparse_types", string)
          .with("context_ragged_value_types", ragged ? string : NONE)
          .with("context_ragged_split_types", ragged ? longs : NONE)
          .with("context_dense_shapes", List.of(Shape.of(2)))
          .with("Nfeature_list_sparse", 1)
          .with("Nfeature_list_dense", 1)
          .with("feature_list_dense_types", longs)
          .with("feature_list_sparse_types", string)
          .with("feature_list_ragged_value_types", ragged ? string : NONE)
          .with("feature_list_ragged_split_types", ragged ? List.of(DType.INT32) : NONE)
          .with("feature_list_dense_shapes", List.of(Shape.of(2)))
          .noGradient()
          .fails(code);
    }
    Object empty = missing ? List.of("numbers") : NONE;
    op("ParseSequenceExample", both, NO_NAMES, NO_FLOATS)
        .with("feature_list_dense_missing_assumed_empty", empty)
        .with("context_sparse_keys", List.of("w"))
        .with("context_dense_keys", List.of("x"))
        .with("feature_list_sparse_keys", List.of("words"))
        .with("feature_list_dense_keys", List.of("numbers"))
        .with("Ncontext_sparse", 1)
        .with("Ncontext_dense", 1)
        .with("Nfeature_list_sparse", 1)
        .with("Nfeature_list_dense", 1)
        .with("context_sparse_types", string)
        .with("context_dense_shapes", List.of(Shape.of(2)))
        .with("feature_list_dense_types", longs)
        .with("feature_list_sparse_types", string)
        .with("feature_list_dense_shapes", List.of(Shape.of(2)))
        .noGradient()
        .fails(code);
    List<Tensor> in =
        new ArrayList<>(
            List.of(single, missing ? numbers : NO_NAMES, Tensor.scalar("w"), Tensor.scalar("x")));
    in.addAll(List.of(Tensor.scalar("words"), Tensor.scalar("numbers"), NO_FLOATS));
    in.add(Tensor.scalar("name"));
    op("ParseSingleSequenceExample", in.toArray(Tensor[]::new))
        .fixed(2, 3, 4, 5)
        .with("Ncontext_sparse", 1)
        .with("Ncontext_dense", 1)
        .with("Nfeature_list_sparse", 1)
        .with("Nfeature_list_dense", 1)
        .with("context_sparse_types", string)
        .with("Tcontext_dense", List.of(DType.FLOAT))
        .with("context_dense_shapes", List.of(Shape.of(2)))
        .with("feature_list_dense_types", longs)
        .with("feature_list_sparse_types", string)
        .with("feature_list_dense_shapes", List.of(Shape.of(2)))
        .noGradient()
        .fails(code);
  }

  private void lines() {
    Tensor number = Tensor.vector(7);
    Tensor word = Tensor.vector("none");
    op("DecodeCSV", Tensor.vector("1,a", "2,\"b,\"\"c\"\"\"", ",", "-3,"), number, word)
        .noGradient();
    op("DecodeCSV", Tensor.scalar("1.5;nan;-9;inf"), NO_FLOATS, floats(1), longs(), doubles(1))
        .with("field_delim", ";")
        .noGradient();
    op("DecodeCSV", Tensor.of(Shape.of(2, 1), "NA,\"", "5,x"), number, word)
        .with("na_value", "NA")
        .with("use_quote_delim", false)
        .noGradient();
    op("DecodeCSV", Tensor.vector("1,2,3", "4,5,6"), number, Tensor.vector(1f))
        .with("select_cols", List.of(0, 2))
        .noGradient();
    op("DecodeCSV", Tensor.of(Shape.of(0), new String[0]), number).noGradient();
    for (String wrong :
        List.of("1", "1,2,3", "x,2", "1.5,2", "99999999999,2", "1,a\"b", "1,\"ab")) {
      op("DecodeCSV", Tensor.vector(wrong), number, word).fails(Code.INVALID_ARGUMENT);
    }
    op("DecodeCSV", Tensor.vector(",a"), ints(), word).fails(Code.INVALID_ARGUMENT);
    op("DecodeCSV", Tensor.vector("1,2"), number, word)
        .with("select_cols", List.of(1, 0))
        .fails(Code.INVALID_ARGUMENT);
  }
}
