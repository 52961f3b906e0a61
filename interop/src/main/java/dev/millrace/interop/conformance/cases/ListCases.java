package dev.millrace.interop.conformance.cases;

import dev.millrace.base.Code;
import dev.millrace.interop.GraphWriter;
import dev.millrace.interop.conformance.CaseTable;
import dev.millrace.interop.conformance.Scenario;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.List;
import java.util.Map;

/** Lists of tensors and values that may be missing. */
public final class ListCases extends CaseTable {
  private static final Map<String, Object> FLOATS = Map.of("element_dtype", DType.FLOAT);

  public ListCases() {
    pushAndPop();
    items();
    fromAndToTensor();
    gatherAndScatter();
    sums();
    branchesOfOne();
    optionals();
    stacksDifferentiated();
    itemsDifferentiated();
    scattersDifferentiated();
    pieces(DType.DOUBLE);
    pieces(DType.INT32);
  }

  private static void shape(GraphWriter g) {
    g.constant("any", Tensor.scalar(-1));
    g.constant("two", Tensor.vector(2));
    g.constant("unlimited", Tensor.scalar(-1));
  }

  private void pushAndPop() {
    Scenario s = scenario("EmptyTensorList, TensorListPushBack and TensorListPopBack");
    GraphWriter g = s.graph();
    shape(g);
    g.placeholder("x", DType.FLOAT, Shape.of(2));
    g.add("empty", "EmptyTensorList", FLOATS, "two", "unlimited");
    g.add("one", "TensorListPushBack", FLOATS, "empty", "x");
    g.add("minus", "Neg", Map.of(), "x");
    g.add("both", "TensorListPushBack", FLOATS, "one", "minus");
    g.add("length", "TensorListLength", Map.of(), "both");
    g.add("shape", "TensorListElementShape", Map.of("shape_type", DType.INT32), "both");
    g.add("unknown", "EmptyTensorList", FLOATS, "any", "unlimited");
    g.add("anyShape", "TensorListElementShape", Map.of("shape_type", DType.INT64), "unknown");
    g.add("pop", "TensorListPopBack", FLOATS, "both", "any");
    g.add("popAgain", "TensorListPopBack", FLOATS, "pop", "two");
    g.add("stillOne", "TensorListLength", Map.of(), "one");
    g.add("tooMany", "TensorListPopBack", FLOATS, "empty", "two");
    g.constant("limit", Tensor.scalar(1));
    g.add("small", "EmptyTensorList", FLOATS, "two", "limit");
    g.add("full", "TensorListPushBack", FLOATS, "small", "x");
    g.add("overfull", "TensorListPushBack", FLOATS, "full", "x");
    g.placeholder("long", DType.FLOAT, Shape.of(-1));
    g.add("misfit", "TensorListPushBack", FLOATS, "empty", "long");
    Map<String, Tensor> feeds = Map.of("x:0", floats(2), "long:0", floats(3));
    s.fetch(feeds, "pop:1", "popAgain:1", "length", "shape", "stillOne", "anyShape");
    for (String refused : List.of("tooMany", "overfull", "misfit")) {
      s.step(feeds, Code.INVALID_ARGUMENT, refused);
    }
  }

  private void items() {
    Scenario s = scenario("TensorListReserve, TensorListSetItem and TensorListGetItem");
    GraphWriter g = s.graph();
    shape(g);
    g.placeholder("x", DType.FLOAT, Shape.of(2));
    g.constant("zero", Tensor.scalar(0));
    g.constant("one", Tensor.scalar(1));
    g.constant("four", Tensor.scalar(4));
    g.constant("n", Tensor.scalar(3));
    g.add("list", "TensorListReserve", FLOATS, "two", "n");
    g.add("set", "TensorListSetItem", FLOATS, "list", "one", "x");
    g.add("first", "TensorListGetItem", FLOATS, "set", "zero", "any");
    g.add("second", "TensorListGetItem", FLOATS, "set", "one", "two");
    g.add("untouched", "TensorListGetItem", FLOATS, "list", "one", "two");
    g.add("outside", "TensorListSetItem", FLOATS, "list", "four", "x");
    Map<String, Object> growing =
        Map.of("element_dtype", DType.FLOAT, "resize_if_index_out_of_bounds", true);
    g.add("grown", "TensorListSetItem", growing, "list", "four", "x");
    g.add("length", "TensorListLength", Map.of(), "grown");
    g.add("shorter", "TensorListResize", Map.of(), "set", "one");
    g.add("rest", "TensorListLength", Map.of(), "shorter");
    g.add("beyond", "TensorListGetItem", FLOATS, "list", "four", "two");
    g.add("open", "TensorListReserve", FLOATS, "any", "n");
    g.add("noShape", "TensorListGetItem", FLOATS, "open", "one", "any");
    Map<String, Tensor> feeds = Map.of("x:0", floats(2));
    s.fetch(feeds, "first", "second", "untouched", "length", "rest");
    for (String refused : List.of("outside", "beyond", "noShape")) {
      s.step(feeds, Code.INVALID_ARGUMENT, refused);
    }
  }

  private void fromAndToTensor() {
    Scenario s = scenario("TensorListFromTensor and TensorListStack");
    GraphWriter g = s.graph();
    shape(g);
    g.placeholder("x", DType.FLOAT, Shape.of(-1, 2));
    g.add("list", "TensorListFromTensor", FLOATS, "x", "two");
    g.add("stack", "TensorListStack", FLOATS, "list", "any");
    Map<String, Object> three = Map.of("element_dtype", DType.FLOAT, "num_elements", 3);
    g.add("counted", "TensorListStack", three, "list", "two");
    s.fetch(Map.of("x:0", floats(3, 2)), "stack", "counted");
    s.fetch(Map.of("x:0", floats(0, 2)), "stack");
    s.step(Map.of("x:0", floats(4, 2)), Code.INVALID_ARGUMENT, "counted");
  }

  private void gatherAndScatter() {
    Scenario s =
        scenario("TensorListScatterV2, TensorListScatterIntoExistingList and TensorListGather");
    GraphWriter g = s.graph();
    shape(g);
    g.placeholder("x", DType.FLOAT, Shape.of(2, 2));
    g.constant("there", Tensor.vector(3, 1));
    g.constant("n", Tensor.scalar(5));
    g.add("list", "TensorListScatterV2", FLOATS, "x", "there", "two", "n");
    g.add("open", "TensorListScatterV2", FLOATS, "x", "there", "two", "unlimited");
    g.add("length", "TensorListLength", Map.of(), "open");
    g.constant("back", Tensor.vector(1, 0, 3));
    g.add("some", "TensorListGather", FLOATS, "list", "back", "two");
    g.constant("here", Tensor.vector(0, 4));
    g.add("more", "TensorListScatterIntoExistingList", FLOATS, "list", "x", "here");
    g.add("all", "TensorListStack", FLOATS, "more", "two");
    s.fetch(Map.of("x:0", floats(2, 2)), "some", "length", "all");
  }

  private void sums() {
    Scenario s = scenario("AddN and ZerosLike of TensorListFromTensor");
    GraphWriter g = s.graph();
    shape(g);
    g.placeholder("x", DType.FLOAT, Shape.of(3, 2));
    g.add("list", "TensorListFromTensor", FLOATS, "x", "two");
    g.add("zeros", "ZerosLike", Map.of(), "list");
    g.add("sum", "AddN", Map.of("T", DType.VARIANT, "N", 3), "list", "zeros", "list");
    g.add("y", "TensorListStack", FLOATS, "sum", "two");
    g.add("z", "TensorListStack", FLOATS, "zeros", "two");
    s.fetch(Map.of("x:0", floats(3, 2)), "y", "z");
  }

  private static final Map<String, Object> DOUBLES = Map.of("element_dtype", DType.DOUBLE);

  private void stacksDifferentiated() {
    Scenario s = scenario("TensorListPushBack, TensorListPopBack and TensorListStack, by x");
    GraphWriter g = s.graph();
    shape(g);
    g.placeholder("x", DType.DOUBLE, Shape.of(2));
    g.add("empty", "EmptyTensorList", DOUBLES, "two", "unlimited");
    g.add("square", "Square", Map.of(), "x");
    g.add("exp", "Exp", Map.of(), "x");
    g.add("one", "TensorListPushBack", DOUBLES, "empty", "square");
    g.add("both", "TensorListPushBack", DOUBLES, "one", "exp");
    g.add("all", "TensorListStack", DOUBLES, "both", "two");
    g.add("cube", "Mul", Map.of(), "all", "x");
    g.add("pop", "TensorListPopBack", DOUBLES, "both", "two");
    g.add("rest", "TensorListStack", DOUBLES, "pop:0", "two");
    g.add("again", "TensorListPopBack", DOUBLES, "pop:0", "two");
    g.add("product", "Mul", Map.of(), "pop:1", "again:1");
    Map<String, Tensor> feeds = Map.of("x:0", doubles(2));
    for (String y : List.of("cube:0", "pop:1", "rest:0", "again:1", "product:0")) {
      s.differentiate(y, "x:0", feeds);
    }
  }

  private void itemsDifferentiated() {
    Scenario s = scenario("TensorListSetItem, TensorListGetItem and TensorListResize, by x");
    GraphWriter g = s.graph();
    shape(g);
    g.placeholder("x", DType.DOUBLE, Shape.of(3, 2));
    g.placeholder("row", DType.DOUBLE, Shape.of(2));
    g.constant("zero", Tensor.scalar(0));
    g.constant("one", Tensor.scalar(1));
    g.constant("four", Tensor.scalar(4));
    g.add("list", "TensorListFromTensor", DOUBLES, "x", "two");
    g.add("squared", "Square", Map.of(), "row");
    g.add("set", "TensorListSetItem", DOUBLES, "list", "one", "squared");
    Map<String, Object> growing =
        Map.of("element_dtype", DType.DOUBLE, "resize_if_index_out_of_bounds", true);
    g.add("grown", "TensorListSetItem", growing, "list", "four", "squared");
    g.add("shorter", "TensorListResize", Map.of(), "set", "one");
    g.add("longer", "TensorListResize", Map.of(), "set", "four");
    g.add("first", "TensorListGetItem", DOUBLES, "set", "zero", "two");
    g.add("second", "TensorListGetItem", DOUBLES, "set", "one", "any");
    g.add("item", "Mul", Map.of(), "first", "second");
    for (String list : List.of("list", "set", "grown", "shorter", "longer")) {
      g.add(list + "/all", "TensorListStack", DOUBLES, list, "two");
      g.add(list + "/y", "Square", Map.of(), list + "/all");
    }
    Map<String, Tensor> feeds = Map.of("x:0", doubles(3, 2), "row:0", doubles(2));
    for (String y : List.of("list/y", "set/y", "grown/y", "shorter/y", "longer/y", "item")) {
      s.differentiate(y + ":0", "x:0", feeds);
      if (!y.equals("list/y")) {
        s.differentiate(y + ":0", "row:0", feeds);
      }
    }
  }

  private void pieces(DType dtype) {
    Scenario s = scenario("TensorListSplit and TensorListConcatV2 of " + dtype);
    GraphWriter g = s.graph();
    g.placeholder("x", dtype, Shape.of(-1, 2));
    g.constant("rows", Tensor.vector(-1, 2));
    g.constant("any", Tensor.scalar(-1));
    g.constant("lengths", Tensor.vector(2L, 0, 1));
    g.constant("none", Tensor.vector(new long[0]));
    Map<String, Object> type = Map.of("element_dtype", dtype);
    g.add("list", "TensorListSplit", type, "x", "rows", "lengths");
    g.add("all", "TensorListConcatV2", type, "list", "rows", "none");
    g.add("unknown", "TensorListConcatV2", type, "list", "any", "lengths");
    g.constant("one", Tensor.scalar(1));
    g.add("unset", "TensorListReserve", type, "rows", "one");
    g.add("zeros", "TensorListConcatV2", type, "unset", "rows", "lengths");
    g.add("noLength", "TensorListConcatV2", type, "unset", "rows", "none");
    Map<String, Tensor> feeds = Map.of("x:0", any(dtype, 3, 2));
    s.fetch(feeds, "all:0", "all:1", "unknown:0", "zeros:0", "zeros:1");
    s.step(feeds, Code.INVALID_ARGUMENT, "noLength");
    s.step(Map.of("x:0", any(dtype, 2, 2)), Code.INVALID_ARGUMENT, "all");
    s.step(Map.of("x:0", any(dtype, 4, 2)), Code.INVALID_ARGUMENT, "all");
    if (dtype == DType.DOUBLE) {
      g.add("square", "Square", Map.of(), "all:0");
      s.differentiate("square:0", "x:0", feeds);
    }
  }

  private void scattersDifferentiated() {
    Scenario s = scenario("TensorListScatterV2 and TensorListGather, by x");
    GraphWriter g = s.graph();
    shape(g);
    g.placeholder("x", DType.DOUBLE, Shape.of(-1, 2));
    g.constant("there", Tensor.vector(3, 1));
    g.constant("here", Tensor.vector(1, 0));
    g.constant("n", Tensor.scalar(5));
    g.add("list", "TensorListScatterV2", DOUBLES, "x", "there", "two", "n");
    g.add("exp", "Exp", Map.of(), "x");
    g.add("more", "TensorListScatterIntoExistingList", DOUBLES, "list", "exp", "here");
    // One of them twice.
    g.constant("back", Tensor.vector(1, 0, 3, 1));
    for (String list : List.of("list", "more")) {
      g.add(list + "/some", "TensorListGather", DOUBLES, list, "back", "two");
      g.add(list + "/y", "Square", Map.of(), list + "/some");
      s.differentiate(list + "/y:0", "x:0", Map.of("x:0", doubles(2, 2)));
    }
  }

  /** Two lists made of one differ; neither sees what is done to the other. */
  private void branchesOfOne() {
    Scenario s = scenario("TensorListSetItem of one list, twice");
    GraphWriter g = s.graph();
    shape(g);
    g.placeholder("x", DType.FLOAT, Shape.of(2));
    g.constant("zero", Tensor.scalar(0));
    g.constant("n", Tensor.scalar(1));
    g.add("list", "TensorListReserve", FLOATS, "two", "n");
    g.add("minus", "Neg", Map.of(), "x");
    g.add("a", "TensorListSetItem", FLOATS, "list", "zero", "x");
    g.add("b", "TensorListSetItem", FLOATS, "list", "zero", "minus");
    for (String list : List.of("a", "b", "list")) {
      g.add(list + "/y", "TensorListStack", FLOATS, list, "two");
    }
    s.fetch(Map.of("x:0", floats(2)), "a/y", "b/y", "list/y");
  }

  private void optionals() {
    Scenario s = scenario("OptionalFromValue, OptionalGetValue and OptionalHasValue");
    GraphWriter g = s.graph();
    g.placeholder("x", DType.FLOAT, Shape.of(2));
    g.constant("name", Tensor.scalar("name"));
    g.add(
        "some",
        "OptionalFromValue",
        Map.of("Toutput_types", List.of(DType.FLOAT, DType.STRING)),
        "x",
        "name");
    g.add("none", "OptionalNone", Map.of());
    g.add("hasSome", "OptionalHasValue", Map.of(), "some");
    g.add("hasNone", "OptionalHasValue", Map.of(), "none");
    Map<String, Object> both =
        Map.of(
            "output_types",
            List.of(DType.FLOAT, DType.STRING),
            "output_shapes",
            List.of(Shape.of(2), Shape.scalar()));
    g.add("value", "OptionalGetValue", both, "some");
    g.add("nothing", "OptionalGetValue", both, "none");
    Map<String, Tensor> feeds = Map.of("x:0", floats(2));
    s.fetch(feeds, "value:0", "value:1", "hasSome", "hasNone");
    s.step(feeds, Code.INVALID_ARGUMENT, "nothing");
  }
}
