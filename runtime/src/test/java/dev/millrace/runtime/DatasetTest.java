package dev.millrace.runtime;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.AttrValue;
import dev.millrace.graph.FunctionGraph;
import dev.millrace.graph.Graph;
import dev.millrace.graph.Node;
import dev.millrace.graph.NodeBuilder;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.array.Const;
import dev.millrace.tensor.BufferPool;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.function.BooleanSupplier;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Input pipelines of int64 numbers, each built, walked through and looked at. */
class DatasetTest {
  private static final List<DType> LONG = List.of(DType.INT64);
  private static final List<Shape> ANY = List.of(Shape.unknown());

  /** A function of one int64, or of that and what it uses besides, in a graph of its own. */
  private static AttrValue.Func function(
      DType result, int arguments, Function<List<Output>, Output> body) {
    Graph graph = StandardOps.newGraph();
    Scope s = Scope.of(graph);
    List<Output> in = new ArrayList<>();
    List<DType> types = new ArrayList<>();
    for (int i = 0; i < arguments; i++) {
      in.add(s.node("_Arg").attr("T", DType.INT64).attr("index", i).add().output(0));
      types.add(DType.INT64);
    }
    s.node("_Retval").input(body.apply(in)).attr("index", 0).add();
    FunctionGraph f = new FunctionGraph(graph, types, List.of(result), null);
    return new AttrValue.Func("f", Map.of(), f);
  }

  private static AttrValue.Func function(DType result, UnaryOperator<Output> body) {
    return function(result, 1, in -> body.apply(in.getFirst()));
  }

  private static Scope scope(Output o) {
    return Scope.of(o.node().graph());
  }

  private static Output times(Output x, long factor) {
    Output f = Const.of(scope(x), Tensor.scalar(factor));
    return scope(x).node("Mul").input(x).input(f).add().output(0);
  }

  private static Output number(Scope s, long v) {
    return Const.of(s, Tensor.scalar(v));
  }

  private static NodeBuilder typed(Scope s, String op) {
    return s.node(op).attr("output_types", LONG).attr("output_shapes", ANY);
  }

  private static Output range(Scope s, long stop) {
    return typed(s, "RangeDataset")
        .input(number(s, 0))
        .input(number(s, stop))
        .input(number(s, 1))
        .add()
        .output(0);
  }

  private static Output of(Output dataset, String op, long... numbers) {
    Scope s = scope(dataset);
    NodeBuilder b = typed(s, op).input(dataset);
    for (long n : numbers) {
      b.input(number(s, n));
    }
    return b.add().output(0);
  }

  private static Output batch(Output dataset, long size, boolean wholeOnly) {
    Scope s = scope(dataset);
    return typed(s, "BatchDatasetV2")
        .input(dataset)
        .input(number(s, size))
        .input(Const.of(s, Tensor.scalar(wholeOnly)))
        .add()
        .output(0);
  }

  private static Output map(Output dataset, AttrValue.Func f, Output... captured) {
    return typed(scope(dataset), "MapDataset")
        .input(dataset)
        .inputs(List.of(captured))
        .attr("f", f)
        .add()
        .output(0);
  }

  private static Output parallelMap(Output dataset, AttrValue.Func f, long calls) {
    Scope s = scope(dataset);
    return typed(s, "ParallelMapDatasetV2")
        .input(dataset)
        .inputs(List.of())
        .input(number(s, calls))
        .attr("f", f)
        .add()
        .output(0);
  }

  private static Output calling(Output dataset, String op, String attr, AttrValue.Func f) {
    return typed(scope(dataset), op).input(dataset).inputs(List.of()).attr(attr, f).add().output(0);
  }

  /** An iterator on a dataset: how to begin, and what to take. */
  private record Pipeline(Node begin, Output next) {
    static Pipeline of(Output dataset) {
      Scope s = scope(dataset);
      Output iterator =
          typed(s, "IteratorV2").attr("shared_name", "").attr("container", "").add().output(0);
      return new Pipeline(
          s.node("MakeIterator").input(dataset).input(iterator).add(),
          typed(s, "IteratorGetNext").input(iterator).add().output(0));
    }

    void begin(LocalSession session) {
      session.run(Map.of(), List.of(), List.of(begin));
    }

    long[] take(LocalSession session) {
      try (Tensor t = session.run(Map.of(), List.of(next), List.of()).getFirst()) {
        return t.toLongs();
      }
    }

    MillraceException failure(LocalSession session) {
      return assertThrows(MillraceException.class, () -> take(session));
    }

    /** All elements one after the other, up to the end. */
    List<Long> rest(LocalSession session) {
      List<Long> all = new ArrayList<>();
      while (true) {
        long[] values;
        try {
          values = take(session);
        } catch (MillraceException e) {
          assertEquals(Code.OUT_OF_RANGE, e.code(), e.getMessage());
          assertTrue(e.getMessage().contains("End of sequence"), e.getMessage());
          return all;
        }
        Arrays.stream(values).forEach(all::add);
      }
    }
  }

  private static List<Long> all(Function<Scope, Output> dataset) {
    Graph g = StandardOps.newGraph();
    Pipeline p = Pipeline.of(dataset.apply(Scope.of(g)));
    try (LocalSession session = new LocalSession(g)) {
      p.begin(session);
      return p.rest(session);
    }
  }

  private static List<Long> numbers(long... values) {
    return LongStream.of(values).boxed().toList();
  }

  private static void await(BooleanSupplier condition, String what) throws InterruptedException {
    long deadline = System.nanoTime() + Duration.ofSeconds(20).toNanos();
    while (!condition.getAsBoolean()) {
      assertTrue(System.nanoTime() < deadline, what);
      Thread.sleep(5);
    }
  }

  private static boolean isPrefetching() {
    return Thread.getAllStackTraces().keySet().stream()
        .anyMatch(t -> t.getName().equals("millrace-prefetch"));
  }

  @Test
  void elementsComeInOrderAndThenTheEnd() {
    assertEquals(numbers(0, 1, 2, 3), all(s -> range(s, 4)));
    assertEquals(numbers(), all(s -> range(s, 0)));
    assertEquals(numbers(0, 1, 0, 1, 0, 1), all(s -> of(range(s, 2), "RepeatDataset", 3)));
    assertEquals(numbers(0, 1), all(s -> of(range(s, 9), "TakeDataset", 2)));
    assertEquals(numbers(3, 4), all(s -> of(range(s, 5), "SkipDataset", 3)));
    assertEquals(numbers(1, 4), all(s -> of(range(s, 6), "ShardDataset", 3, 1)));
    assertEquals(numbers(0, 1, 2), all(s -> of(range(s, 3), "PrefetchDataset", 2)));
  }

  /** There is nothing to repeat: an iterator that went on would never come back. */
  @Test
  void repeatingNothingForEverEnds() {
    assertEquals(numbers(), all(s -> of(range(s, 0), "RepeatDataset", -1)));
  }

  @Test
  void batchesHaveTheirElementsInRows() {
    assertEquals(numbers(0, 1, 2, 3, 4), all(s -> batch(range(s, 5), 2, false)));
    assertEquals(numbers(0, 1, 2, 3), all(s -> batch(range(s, 5), 2, true)));
  }

  @Test
  void functionsAreCalledForEveryElement() {
    assertEquals(
        numbers(0, 3, 6), all(s -> map(range(s, 3), function(DType.INT64, x -> times(x, 3)))));
    assertEquals(
        numbers(0, 3, 6, 9, 12),
        all(s -> parallelMap(range(s, 5), function(DType.INT64, x -> times(x, 3)), 3)));
    AttrValue.Func small =
        function(
            DType.BOOL,
            x -> scope(x).node("Less").input(x).input(number(scope(x), 2)).add().output(0));
    assertEquals(
        numbers(0, 1), all(s -> calling(range(s, 5), "FilterDataset", "predicate", small)));
    AttrValue.Func upTo =
        function(
            DType.VARIANT,
            x ->
                typed(scope(x), "RangeDataset")
                    .input(number(scope(x), 0))
                    .input(x)
                    .input(number(scope(x), 1))
                    .add()
                    .output(0));
    assertEquals(
        numbers(0, 0, 1, 0, 1, 2), all(s -> calling(range(s, 4), "FlatMapDataset", "f", upTo)));
  }

  @Test
  void aFunctionUsesWhatItWasGiven() {
    AttrValue.Func product =
        function(
            DType.INT64,
            2,
            in ->
                scope(in.getFirst()).node("Mul").input(in.get(0)).input(in.get(1)).add().output(0));
    assertEquals(numbers(0, 7, 14), all(s -> map(range(s, 3), product, number(s, 7))));
  }

  /** The order of these seeds is the one TensorFlow 2.21 gives. */
  @Test
  void shufflingIsTensorFlows() {
    List<Long> shuffled =
        all(s -> of(of(range(s, 8), "ShuffleDataset", 4, 1, 2), "RepeatDataset", 2));
    assertEquals(numbers(SHUFFLED), shuffled);
  }

  private static final long[] SHUFFLED = {0, 2, 1, 3, 5, 4, 6, 7, 3, 0, 2, 1, 4, 6, 5, 7};

  /** A buffer for all rounds of a repetition without an end would never be full. */
  @Test
  void aShuffleThatRepeatsHasFewRoundsInItsBuffer() {
    Graph g = StandardOps.newGraph();
    Scope s = Scope.of(g);
    Output all = of(range(s, 4), "ShuffleAndRepeatDataset", 1L << 40, 1, 2, -1);
    Pipeline p = Pipeline.of(of(all, "TakeDataset", 8));
    try (LocalSession session = new LocalSession(g)) {
      p.begin(session);
      List<Long> two = p.rest(session);
      assertEquals(numbers(0, 1, 2, 3), two.subList(0, 4).stream().sorted().toList());
      assertEquals(numbers(0, 1, 2, 3), two.subList(4, 8).stream().sorted().toList());
    }
  }

  @Test
  void anIteratorBeginsAnewWheneverItIsSet() {
    Graph g = StandardOps.newGraph();
    Pipeline p = Pipeline.of(range(Scope.of(g), 3));
    try (LocalSession session = new LocalSession(g)) {
      MillraceException early = p.failure(session);
      assertEquals(Code.FAILED_PRECONDITION, early.code());
      p.begin(session);
      assertArrayEquals(new long[] {0}, p.take(session));
      assertArrayEquals(new long[] {1}, p.take(session));
      p.begin(session);
      assertEquals(numbers(0, 1, 2), p.rest(session));
    }
  }

  @Test
  void aFailedElementIsPassedOver() {
    AttrValue.Func tenBy =
        function(
            DType.INT64,
            x -> scope(x).node("FloorDiv").input(number(scope(x), 10)).input(x).add().output(0));
    for (int way = 0; way < 3; way++) {
      Graph g = StandardOps.newGraph();
      Scope s = Scope.of(g);
      Output mapped = way == 0 ? map(range(s, 3), tenBy) : parallelMap(range(s, 3), tenBy, way);
      Pipeline p = Pipeline.of(way == 2 ? of(mapped, "PrefetchDataset", 1) : mapped);
      try (LocalSession session = new LocalSession(g)) {
        p.begin(session);
        MillraceException e = p.failure(session);
        assertEquals(Code.INVALID_ARGUMENT, e.code());
        assertTrue(e.getMessage().contains("{{node FloorDiv}}"), e.getMessage());
        assertEquals(numbers(10, 5), p.rest(session));
      }
    }
  }

  /** The function takes its number from a queue that is empty at first. */
  @Test
  void aStepThatIsOverNoLongerWaitsForItsElement() throws InterruptedException {
    for (int ahead = 0; ahead < 2; ahead++) {
      Graph g = StandardOps.newGraph();
      Scope s = Scope.of(g);
      AttrValue.Func dequeue =
          function(DType.INT64, x -> queue(scope(x), "QueueDequeueV2", null).output(0));
      Node enqueue = queue(s, "QueueEnqueueV2", number(s, 42));
      Output mapped = map(range(s, 5), dequeue);
      Pipeline p = Pipeline.of(ahead == 0 ? mapped : of(mapped, "PrefetchDataset", 1));
      LocalSession session = new LocalSession(g);
      p.begin(session);
      RunOptions soon = RunOptions.DEFAULT.withTimeout(Duration.ofMillis(50));
      MillraceException e =
          assertThrows(
              MillraceException.class,
              () -> session.run(Map.of(), List.of(p.next), List.of(), soon));
      assertEquals(Code.DEADLINE_EXCEEDED, e.code(), e.getMessage());
      session.run(Map.of(), List.of(), List.of(enqueue));
      assertArrayEquals(new long[] {42}, p.take(session));
      assertEquals(ahead == 1, isPrefetching());
      // It waits for the queue again, and must notice that the session is closed.
      session.close();
      await(() -> !isPrefetching(), "the thread that prefetches goes on");
    }
  }

  private static Node queue(Scope s, String op, Output value) {
    Output queue =
        s.node("FIFOQueueV2")
            .attr("component_types", LONG)
            .attr("shapes", List.of(Shape.scalar()))
            .attr("shared_name", "numbers")
            .add()
            .output(0);
    NodeBuilder b = s.node(op).input(queue);
    return value == null ? b.attr("component_types", LONG).add() : b.inputs(List.of(value)).add();
  }

  @Test
  void closingReleasesWhatNobodyHasTaken() throws InterruptedException {
    long before = BufferPool.current().usedBytes();
    Graph g = StandardOps.newGraph();
    Scope s = Scope.of(g);
    AttrValue.Func wide =
        function(
            DType.INT64,
            x ->
                scope(x)
                    .node("Fill")
                    .input(Const.of(scope(x), Tensor.vector(100_000)))
                    .input(x)
                    .add()
                    .output(0));
    Output mapped = of(parallelMap(range(s, 1000), wide, 2), "ShuffleDataset", 5, 1, 2);
    Output cached = cached(mapped, "");
    Pipeline p = Pipeline.of(of(batch(cached, 3, false), "PrefetchDataset", 4));
    try (LocalSession session = new LocalSession(g)) {
      p.begin(session);
      p.take(session);
      p.begin(session);
      p.take(session);
      assertTrue(BufferPool.current().usedBytes() > before + 1_000_000);
    }
    await(
        () -> BufferPool.current().usedBytes() <= before + 100_000,
        "memory is left behind: "
            + (BufferPool.current().usedBytes() - before)
            + " bytes more than before");
    await(() -> !isPrefetching(), "a thread is left behind");
  }

  /**
   * A walk that is broken off leaves nothing; a whole one is read by the next, which needs no
   * input.
   */
  @Test
  void aCacheInAFileIsWrittenOnce(@TempDir Path folder) throws IOException, InterruptedException {
    String file = folder.resolve("cache").toString();
    Graph g = StandardOps.newGraph();
    Scope s = Scope.of(g);
    Pipeline p = Pipeline.of(cached(range(s, 3), file));
    Pipeline other = Pipeline.of(cached(range(s, 0), file));
    try (LocalSession session = new LocalSession(g)) {
      p.begin(session);
      p.take(session);
      other.begin(session);
      assertEquals(Code.ALREADY_EXISTS, other.failure(session).code());
    }
    await(() -> isEmpty(folder), "something is left in the folder");
    try (LocalSession session = new LocalSession(g)) {
      p.begin(session);
      assertEquals(numbers(0, 1, 2), p.rest(session));
      other.begin(session);
      assertEquals(numbers(0, 1, 2), other.rest(session));
    }
  }

  private static boolean isEmpty(Path folder) {
    try (Stream<Path> files = Files.list(folder)) {
      return files.findAny().isEmpty();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static Output cached(Output dataset, String file) {
    Scope s = scope(dataset);
    return typed(s, "CacheDataset").input(dataset).input(text(s, file)).add().output(0);
  }

  private static Output text(Scope s, String text) {
    return Const.of(s, Tensor.scalar(text));
  }
}
