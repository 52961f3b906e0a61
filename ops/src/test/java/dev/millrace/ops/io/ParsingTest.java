package dev.millrace.ops.io;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.Node;
import dev.millrace.graph.NodeBuilder;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.TinySession;
import dev.millrace.proto.Example;
import dev.millrace.proto.Feature;
import dev.millrace.proto.FeatureList;
import dev.millrace.proto.FeatureLists;
import dev.millrace.proto.Features;
import dev.millrace.proto.Int64List;
import dev.millrace.proto.SequenceExample;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.List;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

class ParsingTest {
  private static final List<DType> LONG = List.of(DType.INT64);

  @AutoClose private final TinySession session = new TinySession();
  private final Scope scope = session.scope();

  private static Feature longs(long... v) {
    Int64List.Builder list = Int64List.newBuilder();
    for (long n : v) {
      list.addValue(n);
    }
    return Feature.newBuilder().setInt64List(list).build();
  }

  private Output bytes(Shape shape, Object... strings) {
    return session.constant(Tensor.ofObjects(DType.STRING, shape, strings));
  }

  private Output keys(String... keys) {
    return session.constant(Tensor.of(Shape.of(keys.length), keys));
  }

  private void fails(String why, Node node) {
    MillraceException e = assertThrows(MillraceException.class, () -> session.run(node));
    assertEquals(Code.INVALID_ARGUMENT, e.code());
    assertTrue(e.getMessage().contains(why), e.getMessage());
  }

  private static byte[] example(long... v) {
    Features.Builder f = Features.newBuilder().putFeature("other", longs());
    return Example.newBuilder()
        .setFeatures(v.length == 0 ? f : f.putFeature("n", longs(v)))
        .build()
        .toByteArray();
  }

  private Node ragged(Output serialized) {
    return scope
        .node("ParseExampleV2")
        .input(serialized)
        .input(keys())
        .input(keys())
        .input(keys())
        .input(keys("n"))
        .inputs(List.of())
        .attr("num_sparse", 0)
        .attr("sparse_types", List.of())
        .attr("ragged_value_types", LONG)
        .attr("ragged_split_types", LONG)
        .attr("dense_shapes", List.of())
        .add();
  }

  @Test
  void featuresOfAnyLengthLieBehindEachOther() {
    Node batch = ragged(bytes(Shape.of(3), example(1, 2), example(), example(3)));
    Tensor[] t = session.run(batch.output(0), batch.output(1));
    assertArrayEquals(new long[] {1, 2, 3}, t[0].toLongs());
    assertArrayEquals(new long[] {0, 2, 2, 3}, t[1].toLongs());
    Node one = ragged(bytes(Shape.scalar(), example(1, 2)));
    assertArrayEquals(new long[] {1, 2}, session.fetch(one.output(0)).toLongs());
    assertEquals(Shape.of(0), session.fetch(one.output(1)).shape());
  }

  @Test
  void aFeatureThatMustBeThereIsNamed() {
    NodeBuilder b =
        scope
            .node("ParseExampleV2")
            .input(bytes(Shape.of(1), example()))
            .input(keys("first"))
            .input(keys())
            .input(keys("n"))
            .input(keys())
            .inputs(List.of(session.constant(Tensor.vector(new long[0]))))
            .attr("num_sparse", 0)
            .attr("sparse_types", List.of())
            .attr("ragged_value_types", List.of())
            .attr("ragged_split_types", List.of())
            .attr("dense_shapes", List.of(Shape.of(1)));
    fails("Name: first, Feature: n (data type: int64) is required", b.add());
  }

  private Node steps(boolean mayBeMissing, Feature... steps) {
    FeatureLists.Builder lists = FeatureLists.newBuilder();
    if (steps.length > 0) {
      lists.putFeatureList("n", FeatureList.newBuilder().addAllFeature(List.of(steps)).build());
    }
    byte[] one = SequenceExample.newBuilder().setFeatureLists(lists).build().toByteArray();
    FeatureList two = FeatureList.newBuilder().addFeature(longs(8, 9)).build();
    byte[] other =
        SequenceExample.newBuilder()
            .setFeatureLists(FeatureLists.newBuilder().putFeatureList("n", two))
            .build()
            .toByteArray();
    return scope
        .node("ParseSequenceExampleV2")
        .input(bytes(Shape.of(2), one, other))
        .input(keys("one", "two"))
        .input(keys())
        .input(keys())
        .input(keys())
        .input(keys())
        .input(keys("n"))
        .input(keys())
        .input(session.constant(Tensor.of(Shape.of(1), mayBeMissing)))
        .inputs(List.of())
        .attr("Nfeature_list_dense", 1)
        .attr("feature_list_dense_types", LONG)
        .attr("feature_list_dense_shapes", List.of(Shape.of(2)))
        .add();
  }

  @Test
  void shorterSequencesAreFilledUp() {
    Node n = steps(false, longs(1, 2), longs(3, 4), longs(5, 6));
    Tensor[] t = session.run(n.output(0), n.output(1));
    assertEquals(Shape.of(2, 3, 2), t[0].shape());
    assertArrayEquals(new long[] {1, 2, 3, 4, 5, 6, 8, 9, 0, 0, 0, 0}, t[0].toLongs());
    assertArrayEquals(new long[] {3, 1}, t[1].toLongs());
    Node missing = steps(true);
    assertArrayEquals(new long[] {0, 1}, session.fetch(missing.output(1)).toLongs());
    fails("Name: one, Feature list 'n' is required", steps(false));
    fails("Index: 1.  Number of int64 values != expected", steps(false, longs(1, 2), longs(3)));
  }

  private Node csv(String line) {
    return scope
        .node("DecodeCSV")
        .input(session.constant(Tensor.vector(line)))
        .inputs(
            List.of(
                session.constant(Tensor.vector(7)), session.constant(Tensor.vector(new String[0]))))
        .add();
  }

  @Test
  void linesAreTakenApart() {
    Node n = csv("-3,\"a,\"\"b\"\"\"");
    Tensor[] t = session.run(n.output(0), n.output(1));
    assertEquals(-3, t[0].longAt(0));
    assertEquals("a,\"b\"", t[1].stringAt(0));
    assertEquals(7, session.fetch(csv(",x").output(0)).longAt(0));
    fails("Field 1 is required but missing in record 0!", csv("1,"));
    fails("Expect 2 fields but have 1 in record 0", csv("1"));
    fails("Field 0 in record 0 is not a valid int32: x", csv("x,y"));
    fails("Quoted field has to end with quote", csv("1,\"y"));
  }
}
