package dev.millrace.interop.conformance.cases;

import dev.millrace.base.Code;
import dev.millrace.interop.GraphWriter;
import dev.millrace.interop.conformance.CaseTable;
import dev.millrace.interop.conformance.Scenario;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Arrays of tensors that a step writes and reads element by element or all at once. */
public final class TensorArrayCases extends CaseTable {
  public TensorArrayCases() {
    writeAndRead();
    scatterAndGather();
    splitAndConcat();
    gradientOfSplit();
    gradient();
    dynamicSize();
    unwritten();
    refusals();
    emptyArray();
    strings();
    derivatives();
  }

  private static void array(
      GraphWriter g, String name, DType type, int size, Map<String, Object> more) {
    Map<String, Object> attrs = new HashMap<>(Map.of("dtype", type));
    attrs.putAll(more);
    g.constant(name + "/size", Tensor.scalar(size));
    g.add(name, "TensorArrayV3", attrs, name + "/size");
  }

  private static void write(GraphWriter g, String name, String flow, int index, String value) {
    g.constant(name + "/index", Tensor.scalar(index));
    g.add(name, "TensorArrayWriteV3", Map.of(), "a", name + "/index", value, flow);
  }

  private static void read(
      GraphWriter g, String name, String array, String flow, int index, DType type) {
    g.constant(name + "/index", Tensor.scalar(index));
    g.add(name, "TensorArrayReadV3", Map.of("dtype", type), array, name + "/index", flow);
  }

  private void writeAndRead() {
    for (boolean clears : new boolean[] {true, false}) {
      Scenario s = scenario("TensorArrayV3, TensorArrayWriteV3 and TensorArrayReadV3 " + clears);
      GraphWriter g = s.graph();
      g.placeholder("x", DType.FLOAT, Shape.of(2, 3));
      g.placeholder("y", DType.FLOAT, Shape.of(4));
      array(g, "a", DType.FLOAT, 3, Map.of("clear_after_read", clears));
      write(g, "w0", "a:1", 0, "x");
      write(g, "w2", "w0", 2, "y");
      g.add("size", "TensorArraySizeV3", Map.of(), "a", "w2");
      read(g, "r2", "a", "w2", 2, DType.FLOAT);
      read(g, "r0", "a", "w2", 0, DType.FLOAT);
      g.add("after", "Identity", Map.of(), "w2", "^r2");
      read(g, "again", "a", "after", 2, DType.FLOAT);
      g.add("close", "TensorArrayCloseV3", Map.of(), "a", "^r0", "^r2");
      Map<String, Tensor> feeds = Map.of("x:0", floats(2, 3), "y:0", floats(4));
      s.fetch(feeds, "r0", "r2", "size");
      s.run(feeds, "close");
      s.step(feeds, clears ? Code.INVALID_ARGUMENT : Code.OK, "again");
    }
  }

  private void scatterAndGather() {
    Scenario s = scenario("TensorArrayScatterV3 and TensorArrayGatherV3");
    GraphWriter g = s.graph();
    g.placeholder("x", DType.INT64, Shape.of(3, 2));
    array(g, "a", DType.INT64, 3, Map.of("element_shape", Shape.of(2)));
    g.constant("there", Tensor.vector(2, 0, 1));
    g.add("w", "TensorArrayScatterV3", Map.of(), "a", "there", "x", "a:1");
    g.constant("back", Tensor.vector(1, 2));
    g.add("r", "TensorArrayGatherV3", Map.of("dtype", DType.INT64), "a", "back", "w");
    g.constant("none", Tensor.of(Shape.of(0), new int[0]));
    Map<String, Object> whole = Map.of("dtype", DType.INT64, "element_shape", Shape.of(2));
    g.add("empty", "TensorArrayGatherV3", whole, "a", "none", "w");
    g.placeholder("any", DType.INT32, Shape.of(-1));
    g.add("short", "TensorArrayScatterV3", Map.of(), "a", "any", "x", "a:1");
    g.constant("far", Tensor.vector(1, 3));
    g.add("outside", "TensorArrayGatherV3", Map.of("dtype", DType.INT64), "a", "far", "w");
    Map<String, Tensor> feeds =
        Map.of("x:0", Tensor.of(Shape.of(3, 2), 1L, 2, 3, 4, 5, 6), "any:0", Tensor.vector(0, 1));
    s.fetch(feeds, "r").fetch(feeds, "empty");
    s.step(feeds, Code.INVALID_ARGUMENT, "short");
    s.step(feeds, Code.INVALID_ARGUMENT, "outside");
  }

  private void splitAndConcat() {
    Scenario s = scenario("TensorArraySplitV3 and TensorArrayConcatV3");
    GraphWriter g = s.graph();
    g.placeholder("x", DType.FLOAT, Shape.of(6, 2));
    g.placeholder("lengths", DType.INT64, Shape.of(-1));
    array(g, "a", DType.FLOAT, 3, Map.of());
    g.add("w", "TensorArraySplitV3", Map.of(), "a", "x", "lengths", "a:1");
    read(g, "first", "a", "w", 0, DType.FLOAT);
    g.add("r", "TensorArrayConcatV3", Map.of("dtype", DType.FLOAT), "a", "w");
    for (long[] l : List.of(new long[] {1, 3, 2}, new long[] {0, 6, 0})) {
      Map<String, Tensor> feeds = Map.of("x:0", floats(6, 2), "lengths:0", Tensor.vector(l));
      s.fetch(feeds, "r:0", "r:1").fetch(feeds, "first");
    }
    for (long[] l : List.of(new long[] {1, 3, 1}, new long[] {3, 3})) {
      Map<String, Tensor> feeds = Map.of("x:0", floats(6, 2), "lengths:0", Tensor.vector(l));
      s.step(feeds, Code.INVALID_ARGUMENT, "w");
    }
  }

  /** What goes back through a split is as long as the tensor that was split. */
  private void gradientOfSplit() {
    Scenario s = scenario("TensorArrayGradV3 of an array that has grown since the split");
    GraphWriter g = s.graph();
    g.placeholder("x", DType.FLOAT, Shape.of(6));
    g.placeholder("more", DType.FLOAT, Shape.of(2));
    g.constant("lengths", Tensor.vector(1L, 3L, 2L));
    array(g, "a", DType.FLOAT, 3, Map.of("dynamic_size", true));
    g.add("w", "TensorArraySplitV3", Map.of(), "a", "x", "lengths", "a:1");
    write(g, "w3", "w", 3, "more");
    g.add("whole", "TensorArrayConcatV3", Map.of("dtype", DType.FLOAT), "a", "w3");
    g.add("g", "TensorArrayGradV3", Map.of("source", "gradients"), "a", "w3");
    g.constant("all", Tensor.vector(1L, 3L, 2L, 2L));
    g.placeholder("dy", DType.FLOAT, Shape.of(8));
    g.add("back", "TensorArraySplitV3", Map.of(), "g", "dy", "all", "g:1");
    g.add("dx", "TensorArrayConcatV3", Map.of("dtype", DType.FLOAT), "g", "back");
    Map<String, Tensor> feeds = Map.of("x:0", floats(6), "more:0", floats(2), "dy:0", floats(8));
    s.fetch(feeds, "whole:0", "whole:1").fetch(feeds, "dx:0", "dx:1");
  }

  /** Several writes to an array of gradients add up; what was not written is zero. */
  private void gradient() {
    Scenario s = scenario("TensorArrayGradV3");
    GraphWriter g = s.graph();
    g.placeholder("x", DType.FLOAT, Shape.of(3));
    array(g, "a", DType.FLOAT, 2, Map.of("clear_after_read", false));
    write(g, "w0", "a:1", 0, "x");
    write(g, "w1", "w0", 1, "x");
    Map<String, Object> source = Map.of("source", "gradients");
    g.add("g", "TensorArrayGradV3", source, "a", "w1");
    g.add("same", "TensorArrayGradV3", source, "a", "w1", "^g");
    g.constant("zero", Tensor.scalar(0));
    g.add("one", "TensorArrayWriteV3", Map.of(), "g", "zero", "x", "g:1");
    g.add("two", "TensorArrayWriteV3", Map.of(), "same", "zero", "x", "one");
    read(g, "sum", "g", "two", 0, DType.FLOAT);
    read(g, "nothing", "same", "two", 1, DType.FLOAT);
    g.add("twice", "TensorArrayGradV3", source, "g", "g:1");
    Map<String, Tensor> feeds = Map.of("x:0", floats(3));
    s.fetch(feeds, "sum").fetch(feeds, "nothing");
    s.step(feeds, Code.INVALID_ARGUMENT, "twice");
  }

  private void dynamicSize() {
    Scenario s = scenario("TensorArrayV3 that grows");
    GraphWriter g = s.graph();
    g.placeholder("x", DType.DOUBLE, Shape.of(2));
    array(g, "a", DType.DOUBLE, 1, Map.of("dynamic_size", true, "element_shape", Shape.of(2)));
    write(g, "w", "a:1", 4, "x");
    g.add("size", "TensorArraySizeV3", Map.of(), "a", "w");
    read(g, "r", "a", "w", 2, DType.DOUBLE);
    read(g, "written", "a", "w", 4, DType.DOUBLE);
    Map<String, Tensor> feeds = Map.of("x:0", Tensor.vector(1.5, -2));
    s.fetch(feeds, "size", "r", "written");
  }

  private void unwritten() {
    for (boolean known : new boolean[] {true, false}) {
      Scenario s = scenario("TensorArrayReadV3 of what was never written, shape known: " + known);
      GraphWriter g = s.graph();
      array(g, "a", DType.FLOAT, 2, Map.of("element_shape", known ? Shape.of(2) : Shape.of(-1)));
      read(g, "r", "a", "a:1", 1, DType.FLOAT);
      s.step(Map.of(), known ? Code.OK : Code.INVALID_ARGUMENT, "r");
    }
  }

  private void refusals() {
    Scenario s = scenario("TensorArrayWriteV3 that is refused");
    GraphWriter g = s.graph();
    array(g, "a", DType.FLOAT, 2, Map.of("element_shape", Shape.of(2)));
    g.constant("x", Tensor.vector(1f, 2));
    g.placeholder("long", DType.FLOAT, Shape.of(-1));
    g.constant("doubles", Tensor.vector(1.0, 2));
    write(g, "outside", "a:1", 2, "x");
    write(g, "negative", "a:1", -1, "x");
    write(g, "shape", "a:1", 0, "long");
    write(g, "type", "a:1", 0, "doubles");
    write(g, "once", "a:1", 0, "x");
    write(g, "twice", "once", 0, "x");
    read(g, "r", "a", "once", 0, DType.FLOAT);
    g.add("later", "Identity", Map.of(), "once", "^r");
    write(g, "afterRead", "later", 0, "x");
    read(g, "asInt", "a", "once", 0, DType.INT32);
    for (String target : List.of("outside", "negative", "type", "twice", "afterRead", "asInt")) {
      s.fails(Code.INVALID_ARGUMENT, target);
    }
    s.step(Map.of("long:0", Tensor.vector(1f, 2, 3)), Code.INVALID_ARGUMENT, "shape");
    s.fetch("r");
    Scenario refused = scenario("TensorArrayWriteV3 of a shape known to be wrong");
    g = refused.graph();
    array(g, "a", DType.FLOAT, 2, Map.of("element_shape", Shape.of(2)));
    g.constant("long", Tensor.vector(1f, 2, 3));
    write(g, "shape", "a:1", 0, "long");
    refused.fails(Code.INVALID_ARGUMENT, "shape");
    refused = scenario("TensorArrayScatterV3 of lengths known to differ");
    g = refused.graph();
    array(g, "a", DType.FLOAT, 2, Map.of());
    g.constant("long", Tensor.vector(1f, 2, 3));
    g.constant("i", Tensor.vector(0, 1));
    g.add("w", "TensorArrayScatterV3", Map.of(), "a", "i", "long", "a:1");
    refused.fails(Code.INVALID_ARGUMENT, "w");
  }

  private void emptyArray() {
    Scenario s = scenario("TensorArrayConcatV3 of no elements");
    GraphWriter g = s.graph();
    array(g, "a", DType.FLOAT, 0, Map.of());
    g.add(
        "r",
        "TensorArrayConcatV3",
        Map.of("dtype", DType.FLOAT, "element_shape_except0", Shape.of(3)),
        "a",
        "a:1");
    s.fetch("r:0", "r:1");
  }

  private void strings() {
    Scenario s = scenario("TensorArrayGatherV3 of strings");
    GraphWriter g = s.graph();
    g.constant("x", Tensor.vector("one", "two"));
    array(g, "a", DType.STRING, 2, Map.of());
    g.constant("i", Tensor.vector(0, 1));
    g.add("w", "TensorArrayScatterV3", Map.of(), "a", "i", "x", "a:1");
    g.add("r", "TensorArrayGatherV3", Map.of("dtype", DType.STRING), "a", "i", "w");
    s.fetch("r");
  }

  private void derivatives() {
    Scenario s = scenario("TensorArrayV3, differentiated");
    GraphWriter g = s.graph();
    g.placeholder("x", DType.DOUBLE, Shape.of(4));
    array(g, "a", DType.DOUBLE, 2, Map.of("clear_after_read", false));
    g.add("square", "Square", Map.of(), "x");
    write(g, "w0", "a:1", 0, "x");
    write(g, "w1", "w0", 1, "square");
    read(g, "r0", "a", "w1", 0, DType.DOUBLE);
    read(g, "r1", "a", "w1", 1, DType.DOUBLE);
    g.add("read", "Mul", Map.of(), "r0", "r1");
    g.constant("i", Tensor.vector(1, 0, 1));
    g.add("gathered", "TensorArrayGatherV3", Map.of("dtype", DType.DOUBLE), "a", "i", "w1");
    g.constant("halves", Tensor.of(Shape.of(2), 3L, 1L));
    array(g, "b", DType.DOUBLE, 2, Map.of());
    g.add("split", "TensorArraySplitV3", Map.of(), "b", "square", "halves", "b:1");
    g.add("joined", "TensorArrayConcatV3", Map.of("dtype", DType.DOUBLE), "b", "split");
    g.add("cube", "Mul", Map.of(), "joined", "x");
    array(g, "c", DType.DOUBLE, 4, Map.of());
    g.constant("order", Tensor.vector(3, 0, 2, 1));
    g.add("scattered", "TensorArrayScatterV3", Map.of(), "c", "order", "square", "c:1");
    g.constant("some", Tensor.vector(0, 1, 3));
    g.add("part", "TensorArrayGatherV3", Map.of("dtype", DType.DOUBLE), "c", "some", "scattered");
    Map<String, Tensor> feeds = Map.of("x:0", doubles(4));
    for (String y : List.of("read", "gathered", "cube", "part")) {
      s.differentiate(y + ":0", "x:0", feeds);
    }
  }
}
