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

/** Queues and gradient accumulators, as far as one thread can tell. */
public final class QueueCases extends CaseTable {
  private static final Map<String, Object> FLOATS = Map.of("component_types", List.of(DType.FLOAT));

  public QueueCases() {
    firstInFirstOut();
    severalComponents();
    closed();
    reference();
    // As resources, and as references.
    for (String version : List.of("V2", "")) {
      many(version);
      padding(version);
      priority(version);
      shuffle(version);
    }
    for (String reduction : List.of("MEAN", "SUM")) {
      accumulator(true, reduction);
      accumulator(false, reduction);
    }
    sparseAccumulator();
    stage();
    barrier();
    mutex();
  }

  private void barrier() {
    Map<String, Object> types = Map.of("component_types", List.of(DType.FLOAT, DType.INT64));
    Scenario s = scenario("Barrier");
    GraphWriter g = s.graph();
    g.add(
        "b",
        "Barrier",
        Map.of(
            "component_types", List.of(DType.FLOAT, DType.INT64),
            "shapes", List.of(Shape.of(2), Shape.scalar())));
    g.add("shapeless", "Barrier", types);
    g.add("vain", "BarrierReadySize", Map.of(), "shapeless");
    s.fails(Code.INVALID_ARGUMENT, "vain");
    g.constant("keys", Tensor.vector("a", "b", "c"));
    g.constant("more", Tensor.vector("c", "a"));
    g.constant("new", Tensor.vector("z"));
    g.constant("known", Tensor.vector("b"));
    g.constant("v", floats(1, 2));
    g.constant("x", floats(3, 2));
    g.constant("y", longs(7, 8));
    g.constant("w", longs(9));
    g.constant("one", Tensor.scalar(1));
    g.constant("nine", Tensor.scalar(9));
    g.add("first", "BarrierInsertMany", Map.of("component_index", 0), "b", "keys", "x");
    g.add("second", "BarrierInsertMany", Map.of("component_index", 1), "b", "more", "y");
    g.add("again", "BarrierInsertMany", Map.of("component_index", 0), "b", "known", "v");
    g.add("strange", "BarrierInsertMany", Map.of("component_index", 1), "b", "new", "w");
    g.add("none", "BarrierInsertMany", Map.of("component_index", 2), "b", "more", "y");
    g.add("take", "BarrierTakeMany", types, "b", "one");
    Map<String, Object> small =
        Map.of("component_types", List.of(DType.FLOAT, DType.INT64), "allow_small_batch", true);
    g.add("rest", "BarrierTakeMany", small, "b", "nine");
    g.add("ready", "BarrierReadySize", Map.of(), "b");
    g.add("waiting", "BarrierIncompleteSize", Map.of(), "b");
    g.add("close", "BarrierClose", Map.of(), "b");
    g.add("cancel", "BarrierClose", Map.of("cancel_pending_enqueues", true), "b");
    s.run("first").fetch("ready", "waiting").run("second").fetch("ready", "waiting");
    s.fails(Code.INVALID_ARGUMENT, "again").fails(Code.INVALID_ARGUMENT, "none");
    s.fetch("take:0", "take:1", "take:2", "take:3").fetch("ready", "waiting");
    s.run("close").fails(Code.CANCELLED, "close").fails(Code.CANCELLED, "strange");
    s.fetch("rest:0", "rest:1", "rest:2", "rest:3").run("cancel").fails(Code.CANCELLED, "cancel");
    s.fetch("ready", "waiting").fails(Code.OUT_OF_RANGE, "take").fails(Code.OUT_OF_RANGE, "rest");
  }

  private void mutex() {
    Scenario s = scenario("MutexLock");
    GraphWriter g = s.graph();
    g.add("m", "MutexV2", Map.of());
    g.add("lock", "MutexLock", Map.of(), "m");
    g.add("unlock", "ConsumeMutexLock", Map.of(), "lock");
    // Twice: the first must have given it back, consumed or forgotten with its step.
    s.run("unlock").run("unlock").run("lock").run("unlock");
  }

  private void firstInFirstOut() {
    Scenario s = scenario("FIFOQueueV2");
    GraphWriter g = s.graph();
    g.add("q", "FIFOQueueV2", FLOATS);
    g.placeholder("x", DType.FLOAT, Shape.unknown());
    g.add("put", "QueueEnqueueV2", Map.of(), "q", "x");
    g.add("take", "QueueDequeueV2", FLOATS, "q");
    g.add("size", "QueueSizeV2", Map.of(), "q");
    put(s, floats(2)).fetch("size");
    put(s, floats(3)).fetch("size").fetch("take").fetch("take").fetch("size");
  }

  private void severalComponents() {
    Scenario s = scenario("FIFOQueueV2 of several components");
    GraphWriter g = s.graph();
    Map<String, Object> types =
        Map.of(
            "component_types", List.of(DType.FLOAT, DType.STRING),
            "shapes", List.of(Shape.of(2), Shape.scalar()),
            "capacity", 3);
    g.add("q", "FIFOQueueV2", types);
    g.constant("x", floats(2));
    g.constant("name", Tensor.scalar("a"));
    g.add("put", "QueueEnqueueV2", Map.of(), "q", "x", "name");
    g.add(
        "take",
        "QueueDequeueV2",
        Map.of("component_types", List.of(DType.FLOAT, DType.STRING)),
        "q");
    s.run("put").fetch("take:0", "take:1");
    g.constant("wrong", floats(3));
    g.add("bad", "QueueEnqueueV2", Map.of(), "q", "wrong", "name");
    s.fails(Code.INVALID_ARGUMENT, "bad");
  }

  private void closed() {
    Scenario s = scenario("QueueCloseV2");
    GraphWriter g = s.graph();
    g.add("q", "FIFOQueueV2", FLOATS);
    g.constant("x", floats(2));
    g.add("put", "QueueEnqueueV2", Map.of(), "q", "x");
    g.add("take", "QueueDequeueV2", FLOATS, "q");
    g.add("size", "QueueSizeV2", Map.of(), "q");
    g.add("closed", "QueueIsClosedV2", Map.of(), "q");
    g.add("close", "QueueCloseV2", Map.of(), "q");
    g.add("cancel", "QueueCloseV2", Map.of("cancel_pending_enqueues", true), "q");
    s.run("put").fetch("closed").run("close").fetch("closed", "size");
    s.fails(Code.CANCELLED, "put").fetch("take").fails(Code.OUT_OF_RANGE, "take").run("cancel");
  }

  private void reference() {
    Scenario s = scenario("FIFOQueue");
    GraphWriter g = s.graph();
    g.add("q", "FIFOQueue", FLOATS);
    g.constant("x", floats(2));
    g.add("put", "QueueEnqueue", Map.of(), "q", "x");
    g.add("take", "QueueDequeue", FLOATS, "q");
    g.add("size", "QueueSize", Map.of(), "q");
    g.add("close", "QueueClose", Map.of(), "q");
    g.add("closed", "QueueIsClosed", Map.of(), "q");
    s.run("put").run("put").fetch("size", "closed").fetch("take").run("close").fetch("take");
    s.fails(Code.OUT_OF_RANGE, "take");
  }

  private void many(String version) {
    Scenario s = scenario("QueueEnqueueMany" + version);
    GraphWriter g = s.graph();
    Map<String, Object> scalars =
        Map.of("component_types", List.of(DType.FLOAT), "shapes", List.of(Shape.scalar()));
    g.add("q", "FIFOQueue" + version, scalars);
    g.constant("x", floats(5));
    g.add("put", "QueueEnqueueMany" + version, Map.of(), "q", "x");
    g.constant("two", Tensor.scalar(2));
    g.constant("nine", Tensor.scalar(9));
    g.add("take", "QueueDequeueMany" + version, FLOATS, "q", "two");
    g.add("most", "QueueDequeueUpTo" + version, FLOATS, "q", "nine");
    g.add("all", "QueueDequeueMany" + version, FLOATS, "q", "nine");
    g.add("size", "QueueSize" + version, Map.of(), "q");
    g.add("close", "QueueClose" + version, Map.of(), "q");
    s.run("put").fetch("size").fetch("take").fetch("size").run("close");
    s.fails(Code.OUT_OF_RANGE, "all").fetch("most").fetch("size");
    s.fails(Code.OUT_OF_RANGE, "most");
  }

  private void padding(String version) {
    Scenario s = scenario("PaddingFIFOQueue" + version);
    GraphWriter g = s.graph();
    g.add(
        "q",
        "PaddingFIFOQueue" + version,
        Map.of("component_types", List.of(DType.FLOAT), "shapes", List.of(Shape.of(-1))));
    g.placeholder("x", DType.FLOAT, Shape.unknown());
    g.add("put", "QueueEnqueue" + version, Map.of(), "q", "x");
    g.constant("two", Tensor.scalar(2));
    g.add("take", "QueueDequeueMany" + version, FLOATS, "q", "two");
    put(s, floats(1));
    put(s, floats(3)).fetch("take");
  }

  private void priority(String version) {
    Scenario s = scenario("PriorityQueue" + version);
    GraphWriter g = s.graph();
    g.add(
        "q",
        "PriorityQueue" + version,
        Map.of("component_types", List.of(DType.STRING), "shapes", List.of(Shape.scalar())));
    g.constant("keys", longs(7, 3, 5));
    g.constant("names", Tensor.vector("seven", "three", "five"));
    g.add("put", "QueueEnqueueMany" + version, Map.of(), "q", "keys", "names");
    g.add(
        "take",
        "QueueDequeue" + version,
        Map.of("component_types", List.of(DType.INT64, DType.STRING)),
        "q");
    s.run("put").fetch("take:0", "take:1").fetch("take:0", "take:1").fetch("take:0", "take:1");
  }

  private void shuffle(String version) {
    Scenario s = scenario("RandomShuffleQueue" + version);
    GraphWriter g = s.graph();
    g.add(
        "q",
        "RandomShuffleQueue" + version,
        Map.of("component_types", List.of(DType.FLOAT), "shapes", List.of(Shape.scalar())));
    g.constant("x", floats(6));
    g.add("put", "QueueEnqueueMany" + version, Map.of(), "q", "x");
    g.constant("six", Tensor.scalar(6));
    g.add("take", "QueueDequeueMany" + version, FLOATS, "q", "six");
    g.constant("axis", ints(0));
    // The order is left to chance, the sum is not.
    g.add("sum", "Sum", Map.of(), "take", "axis");
    g.add("size", "QueueSize" + version, Map.of(), "q");
    s.run("put").fetch("size").fetch("sum").fetch("size");
  }

  private void accumulator(boolean isResource, String reduction) {
    String prefix = isResource ? "Resource" : "";
    Scenario s = scenario(prefix + "ConditionalAccumulator with " + reduction);
    GraphWriter g = s.graph();
    g.add(
        "a",
        prefix + "ConditionalAccumulator",
        Map.of("dtype", DType.FLOAT, "shape", Shape.of(2), "reduction_type", reduction));
    g.placeholder("step", DType.INT64, Shape.scalar());
    g.placeholder("gradient", DType.FLOAT, Shape.of(2));
    g.constant("two", Tensor.scalar(2));
    g.constant("none", Tensor.scalar(0));
    g.constant("later", Tensor.scalar(5L));
    g.add("apply", prefix + "AccumulatorApplyGradient", Map.of(), "a", "step", "gradient");
    g.add("take", prefix + "AccumulatorTakeGradient", Map.of("dtype", DType.FLOAT), "a", "two");
    g.add("count", prefix + "AccumulatorNumAccumulated", Map.of(), "a");
    g.add("set", prefix + "AccumulatorSetGlobalStep", Map.of(), "a", "later");
    g.add(
        "takeNone", prefix + "AccumulatorTakeGradient", Map.of("dtype", DType.FLOAT), "a", "none");
    s.fetch("count");
    for (int i = 0; i < 3; i++) {
      apply(s, 0);
    }
    // Taking makes the step 1, so that gradients of step 0 are stale and dropped.
    s.fetch("count").fetch("take").fetch("count");
    apply(s, 0);
    apply(s, 1);
    s.fetch("count").run("set");
    apply(s, 4);
    apply(s, 5);
    s.fetch("count").fetch("take").fails(Code.INVALID_ARGUMENT, "takeNone");
  }

  private void apply(Scenario s, long step) {
    s.run(Map.of("step:0", Tensor.scalar(step), "gradient:0", floats(2)), "apply");
  }

  private void sparseAccumulator() {
    Scenario s = scenario("SparseConditionalAccumulator");
    GraphWriter g = s.graph();
    g.add(
        "a", "SparseConditionalAccumulator", Map.of("dtype", DType.FLOAT, "shape", Shape.of(5, 2)));
    g.constant("step", Tensor.scalar(0L));
    g.constant("rows1", longs(1, 3));
    g.constant("values1", floats(2, 2));
    g.constant("rows2", longs(0, 3));
    g.constant("values2", floats(2, 2));
    g.constant("shape", longs(5, 2));
    g.constant("two", Tensor.scalar(2));
    Map<String, Object> known = Map.of("has_known_shape", true);
    g.add(
        "apply1",
        "SparseAccumulatorApplyGradient",
        known,
        "a",
        "step",
        "rows1",
        "values1",
        "shape");
    g.add(
        "apply2",
        "SparseAccumulatorApplyGradient",
        known,
        "a",
        "step",
        "rows2",
        "values2",
        "shape");
    g.add("take", "SparseAccumulatorTakeGradient", Map.of("dtype", DType.FLOAT), "a", "two");
    s.run("apply1").run("apply2").fetch("take:0", "take:1", "take:2");
  }

  private void stage() {
    Scenario s = scenario("Stage");
    GraphWriter g = s.graph();
    g.constant("x", floats(2));
    Map<String, Object> types =
        Map.of("dtypes", List.of(DType.FLOAT, DType.FLOAT), "shared_name", "area");
    g.add("put", "Stage", Map.of("shared_name", "area"), "x", "x");
    g.add("take", "Unstage", types);
    s.run("put").fetch("take:0", "take:1");
  }

  private static Scenario put(Scenario s, Tensor x) {
    return s.run(Map.of("x:0", x), "put");
  }
}
