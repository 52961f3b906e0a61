package dev.millrace.ops.text;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Node;
import dev.millrace.graph.NodeBuilder;
import dev.millrace.graph.Scope;
import dev.millrace.ops.Evaluator;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.array.Const;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** What TensorFlow 2.21 made of a few strings; interop compares many more with it. */
class TextOpsTest {
  private final Scope scope = Scope.of(StandardOps.newGraph());

  private Node add(String op, Map<String, Object> attrs, Tensor... inputs) {
    NodeBuilder b = scope.node(op);
    for (Tensor t : inputs) {
      b.input(Const.of(scope, t));
    }
    attrs.forEach(b::attr);
    return b.add();
  }

  private String[] strings(String op, Map<String, Object> attrs, Tensor... inputs) {
    return Evaluator.run(add(op, attrs, inputs).output(0)).toStrings();
  }

  @Test
  void hashesAreTensorFlowsForEveryLength() {
    String all = "abcdefghij".repeat(20);
    int[] lengths = {0, 3, 7, 12, 20, 40, 64, 65, 200};
    String[] s = new String[lengths.length];
    for (int i = 0; i < s.length; i++) {
      s[i] = all.substring(0, lengths[i]);
    }
    Map<String, Object> buckets = Map.of("num_buckets", Long.MAX_VALUE);
    assertArrayEquals(
        new long[] {
          1936946117179621456L,
          2640714258260161385L,
          4341691227789030229L,
          3889769220134402701L,
          6791442473152614662L,
          6504876685642412861L,
          8115176665984236569L,
          2867273870531248049L,
          920586471271343744L
        },
        Evaluator.run(add("StringToHashBucketFast", buckets, Tensor.vector(s)).output(0))
            .toLongs());
    assertArrayEquals(
        new long[] {
          105434511174508092L,
          5658311696057142710L,
          2960345911509200449L,
          7389904212056126401L,
          3761055591039033092L,
          6605264159784274973L,
          8607672628598218044L,
          4373997809153197212L,
          2054862983414579292L
        },
        Evaluator.run(add("StringToHashBucket", buckets, Tensor.vector(s)).output(0)).toLongs());
    Map<String, Object> keyed = Map.of("num_buckets", Long.MAX_VALUE, "key", new long[] {1, 2});
    assertArrayEquals(
        new long[] {
          443797209252341628L,
          5862226954915230110L,
          957890530879302020L,
          4045541473313727314L,
          3852826867018443503L,
          4627080263384619568L,
          12885866837270995L,
          2789579009696749967L,
          8208834241544839300L
        },
        Evaluator.run(add("StringToHashBucketStrong", keyed, Tensor.vector(s)).output(0))
            .toLongs());
  }

  @Test
  void numbersArePrintedAsCDoes() {
    Tensor v = Tensor.vector(0.125f, 1e-7f, -3f);
    assertArrayEquals(
        new String[] {"0.125000", "0.000000", "-3.000000"}, strings("AsString", Map.of(), v));
    assertArrayEquals(
        new String[] {"0.12", "0.00", "-3.00"}, strings("AsString", Map.of("precision", 2), v));
    assertArrayEquals(
        new String[] {"0.125", "1e-07", "-3"}, strings("AsString", Map.of("shortest", true), v));
    assertArrayEquals(
        new String[] {"007", "-12"},
        strings("AsString", Map.of("fill", "0", "width", 3), Tensor.vector(7, -12)));
  }

  @Test
  void partsAreCountedInBytesOrInCharacters() {
    Tensor s = Tensor.scalar("äbcd");
    Tensor one = Tensor.scalar(1);
    assertArrayEquals(
        new String[] {"bc"},
        strings("Substr", Map.of("unit", "UTF8_CHAR"), s, one, Tensor.scalar(2)));
    assertArrayEquals(
        new String[] {"cd"}, strings("Substr", Map.of(), s, Tensor.scalar(-2), Tensor.scalar(9)));
    Node beyond = add("Substr", Map.of(), s, Tensor.scalar(6), one);
    assertThrows(MillraceException.class, () -> Evaluator.run(beyond.output(0)));
  }

  @Test
  void textIsSplitAndJoined() {
    Node split = add("StringSplitV2", Map.of(), Tensor.vector("a b ", ""), Tensor.scalar(""));
    assertArrayEquals(new String[] {"a", "b"}, Evaluator.run(split.output(1)).toStrings());
    assertArrayEquals(new long[] {2, 2}, Evaluator.run(split.output(2)).toLongs());
    Tensor square = Tensor.of(Shape.of(2, 2), "a", "b", "c", "d");
    assertArrayEquals(
        new String[] {"a-c-b-d"},
        strings("ReduceJoin", Map.of("separator", "-"), square, Tensor.vector(0, 1)));
  }

  @Test
  void tensorsStandInTexts() {
    NodeBuilder b = scope.node("StringFormat");
    b.inputs(java.util.List.of(Const.of(scope, Tensor.of(Shape.of(2, 2), 1f, 2f, 3f, 0.1f))));
    Node n = b.attr("template", "x: %s.").add();
    assertEquals("x: [[1 2]\n [3 0.1]].", Evaluator.run(n.output(0)).stringValue());
  }

  @Test
  void charactersAreDecodedAndEncoded() {
    Node decoded =
        add("UnicodeDecode", Map.of("input_encoding", "UTF-8"), Tensor.vector("ä😀", "", "z"));
    assertArrayEquals(new long[] {0, 2, 2, 3}, Evaluator.run(decoded.output(0)).toLongs());
    assertArrayEquals(new int[] {228, 0x1F600, 122}, Evaluator.run(decoded.output(1)).toInts());
    assertArrayEquals(
        new String[] {"ä", "😀z"},
        strings(
            "UnicodeEncode",
            Map.of("output_encoding", "UTF-8"),
            Tensor.vector(228, 0x1F600, 122),
            Tensor.vector(0L, 1L, 3L)));
  }
}
