package dev.millrace.interop.conformance.cases;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.interop.GraphWriter;
import dev.millrace.interop.conformance.CaseTable;
import dev.millrace.interop.conformance.Scenario;
import dev.millrace.proto.AttrValue;
import dev.millrace.proto.DataType;
import dev.millrace.proto.FunctionDef;
import dev.millrace.proto.NameAttrList;
import dev.millrace.proto.NodeDef;
import dev.millrace.proto.OpDef;
import dev.millrace.storage.record.RecordWriter;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.zip.GZIPOutputStream;

/** Datasets and iterators. */
public final class DatasetCases extends CaseTable {
  private static final Map<String, Object> LONG = elements(DType.INT64);
  private static final AttrValue NOTHING =
      AttrValue.newBuilder().setList(AttrValue.ListValue.getDefaultInstance()).build();

  public DatasetCases() {
    sources();
    parts();
    pairs();
    batches();
    padding();
    functions();
    failures();
    shuffling();
    windows();
    folds();
    passing();
    iterators();
    oneShot();
    files();
  }

  private static Map<String, Object> elements(DType... types) {
    List<Shape> shapes = java.util.Collections.nCopies(types.length, Shape.unknown());
    return Map.of("output_types", List.of(types), "output_shapes", shapes);
  }

  private static Map<String, Object> with(Map<String, Object> attrs, Object... more) {
    Map<String, Object> all = new HashMap<>(attrs);
    for (int i = 0; i < more.length; i += 2) {
      all.put((String) more[i], more[i + 1]);
    }
    return all;
  }

  // ---- functions ----

  /** A function of int64 arguments; the body's edges are to single outputs. */
  private static FunctionDef function(
      String name, List<String> arguments, List<String> results, Function<GraphWriter, ?> body) {
    GraphWriter g = new GraphWriter();
    arguments.forEach(a -> g.placeholder(a, DType.INT64, Shape.scalar()));
    var _ = body.apply(g);
    FunctionDef.Builder f = FunctionDef.newBuilder();
    OpDef.Builder signature = f.getSignatureBuilder().setName(name);
    Map<String, String> edges = new HashMap<>();
    for (NodeDef n : g.build().getNodeList()) {
      if (arguments.contains(n.getName())) {
        edges.put(n.getName(), n.getName());
        signature.addInputArg(
            OpDef.ArgDef.newBuilder().setName(n.getName()).setType(DataType.DT_INT64));
        continue;
      }
      OpDef op = GraphWriter.definition(n.getOp());
      signature.setIsStateful(signature.getIsStateful() || op.getIsStateful());
      edges.put(n.getName(), n.getName() + ":" + op.getOutputArg(0).getName() + ":0");
      NodeDef.Builder node = n.toBuilder().clearInput();
      n.getInputList().forEach(in -> node.addInput(edges.get(in)));
      f.addNodeDef(node);
    }
    for (int i = 0; i < results.size(); i++) {
      String result = results.get(i);
      signature.addOutputArg(
          OpDef.ArgDef.newBuilder().setName("r" + i).setTypeValue(g.dtype(result).number()));
      f.putRet("r" + i, edges.get(result));
    }
    return f.build();
  }

  private static AttrValue named(String function) {
    return AttrValue.newBuilder().setFunc(NameAttrList.newBuilder().setName(function)).build();
  }

  private static FunctionDef times() {
    return function(
        "times",
        List.of("x"),
        List.of("y"),
        g -> {
          g.constant("three", Tensor.scalar(3L));
          return g.add("y", "Mul", Map.of(), "x", "three");
        });
  }

  private static FunctionDef isSmall() {
    return function(
        "is_small",
        List.of("x"),
        List.of("y"),
        g -> {
          g.constant("two", Tensor.scalar(2L));
          return g.add("y", "Less", Map.of(), "x", "two");
        });
  }

  private static FunctionDef upTo() {
    return function(
        "up_to",
        List.of("x"),
        List.of("y"),
        g -> {
          g.constant("zero", Tensor.scalar(0L));
          g.constant("one", Tensor.scalar(1L));
          return g.add("y", "RangeDataset", LONG, "zero", "x", "one");
        });
  }

  private static FunctionDef sum(List<String> results) {
    return function(
        "sum" + results.size(),
        List.of("state", "x"),
        results,
        g -> g.add("y", "AddV2", Map.of(), "state", "x"));
  }

  // ---- pipelines ----

  private static String number(GraphWriter g, String name, long value) {
    return g.constant(name, Tensor.scalar(value));
  }

  /** The numbers from 0 on. */
  private static String range(GraphWriter g, String name, long stop) {
    number(g, name + "_start", 0);
    number(g, name + "_stop", stop);
    number(g, name + "_step", 1);
    return g.add(name, "RangeDataset", LONG, name + "_start", name + "_stop", name + "_step");
  }

  /** A dataset of another with some numbers for settings. */
  private static String of(GraphWriter g, String op, String input, long... numbers) {
    String name = op + numbers.length + "_" + input;
    String[] inputs = new String[numbers.length + 1];
    inputs[0] = input;
    for (int i = 0; i < numbers.length; i++) {
      inputs[i + 1] = number(g, name + "_" + i, numbers[i]);
    }
    return g.add(name, op, LONG, inputs);
  }

  private static void iterator(Scenario s, String name, String dataset, DType... types) {
    GraphWriter g = s.graph();
    Map<String, Object> attrs = elements(types);
    g.add(name, "IteratorV2", with(attrs, "shared_name", "", "container", ""));
    g.add(name + "_make", "MakeIterator", Map.of(), dataset, name);
    g.add(name + "_next", "IteratorGetNext", attrs, name);
  }

  /** Iterates over a dataset of this many elements, to the end. */
  private static void walk(Scenario s, String name, String dataset, int count, DType... types) {
    iterator(s, name, dataset, types.length == 0 ? new DType[] {DType.INT64} : types);
    s.run(name + "_make");
    int components = Math.max(1, types.length);
    String[] fetches = new String[components];
    for (int i = 0; i < components; i++) {
      fetches[i] = name + "_next:" + i;
    }
    for (int i = 0; i < count; i++) {
      s.fetch(fetches);
    }
    s.fails(Code.OUT_OF_RANGE, name + "_next").fails(Code.OUT_OF_RANGE, name + "_next");
  }

  private static void refused(Scenario s, String... datasets) {
    for (String d : datasets) {
      s.fails(Code.INVALID_ARGUMENT, d);
    }
  }

  private void sources() {
    Scenario s = scenario("TensorDataset, TensorSliceDataset and RangeDataset");
    GraphWriter g = s.graph();
    g.constant("a", floats(3, 2));
    g.constant("b", Tensor.vector("x", "y", "z"));
    Map<String, Object> shapes = Map.of("output_shapes", List.of(Shape.unknown(), Shape.unknown()));
    g.add("whole", "TensorDataset", shapes, "a", "b");
    g.add("rows", "TensorSliceDataset", shapes, "a", "b");
    number(g, "from", 7);
    number(g, "to", -2);
    number(g, "down", -3);
    number(g, "zero", 0);
    g.add("range", "RangeDataset", LONG, "from", "to", "down");
    g.add("still", "RangeDataset", LONG, "from", "to", "zero");
    g.add("size", "DatasetCardinality", Map.of(), "range");
    walk(s, "i", "whole", 1, DType.FLOAT, DType.STRING);
    walk(s, "j", "rows", 3, DType.FLOAT, DType.STRING);
    walk(s, "k", "range", 3);
    s.fetch("size");
    refused(s, "still");
  }

  private void parts() {
    Scenario s =
        scenario("RepeatDataset, TakeDataset, SkipDataset, ShardDataset and PrefetchDataset");
    GraphWriter g = s.graph();
    String range = range(g, "range", 5);
    walk(s, "a", of(g, "RepeatDataset", range, 2), 10);
    walk(s, "b", of(g, "TakeDataset", range, 3), 3);
    walk(s, "c", of(g, "SkipDataset", range, 3), 2);
    walk(s, "d", of(g, "ShardDataset", range, 2, 1), 2);
    walk(s, "e", of(g, "PrefetchDataset", range, 2), 5);
    String none = range(g, "none", 0);
    walk(s, "f", of(g, "RepeatDataset", none, -1), 0);
    walk(s, "g", of(g, "PrefetchDataset", none, -1), 0);
    refused(
        s, of(g, "ShardDataset", none, 0, 1), of(g, "PrefetchDataset", "TakeDataset1_range", -5));
    g.constant("name", Tensor.scalar(""));
    g.add("cached", "CacheDataset", LONG, range, "name");
    walk(s, "h", of(g, "RepeatDataset", "cached", 2), 10);
    // Who comes second reads what the first has written.
    g.constant("file", Tensor.scalar(TextCases.folder().resolve("cache").toString()));
    g.add("filed", "CacheDataset", LONG, range, "file");
    g.add("refiled", "CacheDataset", LONG, none, "file");
    walk(s, "j", "filed", 5);
    walk(s, "k", "refiled", 5);
    g.add("dummy", "DummyMemoryCache", Map.of());
    g.add("cached_too", "CacheDatasetV2", LONG, range, "name", "dummy");
    walk(s, "i", "cached_too", 5);
  }

  private void pairs() {
    Scenario s = scenario("ZipDataset and ConcatenateDataset");
    GraphWriter g = s.graph();
    String three = range(g, "three", 3);
    String two = range(g, "two", 2);
    g.add("pairs", "ZipDataset", elements(DType.INT64, DType.INT64), three, two);
    g.add("both", "ConcatenateDataset", LONG, three, two);
    walk(s, "a", "pairs", 2, DType.INT64, DType.INT64);
    walk(s, "b", "both", 5);
  }

  private void batches() {
    Scenario s = scenario("BatchDatasetV2 and ParallelBatchDataset");
    GraphWriter g = s.graph();
    String range = range(g, "range", 5);
    g.constant("yes", Tensor.scalar(true));
    g.constant("no", Tensor.scalar(false));
    number(g, "two", 2);
    number(g, "zero", 0);
    g.add("rest", "BatchDatasetV2", LONG, range, "two", "no");
    g.add("whole", "BatchDatasetV2", LONG, range, "two", "yes");
    g.add("parallel", "ParallelBatchDataset", LONG, range, "two", "two", "no");
    g.add("empty", "BatchDatasetV2", LONG, range, "zero", "no");
    walk(s, "b", "rest", 3);
    walk(s, "c", "whole", 2);
    walk(s, "d", "parallel", 3);
    refused(s, "empty");
    s.graph().add("uneven", "ConcatenateDataset", LONG, "rest", range);
    g.add("misfit", "BatchDatasetV2", LONG, "uneven", "two", "no");
    iterator(s, "e", "misfit", DType.INT64);
    number(g, "three", 3);
    s.run("e_make").fetch("e_next").fails(Code.INVALID_ARGUMENT, "e_next");
  }

  private void padding() {
    Scenario s = scenario("PaddedBatchDatasetV2");
    GraphWriter g = s.graph();
    number(g, "two", 2);
    g.constant("no", Tensor.scalar(false));
    g.constant("fill", Tensor.scalar(-1L));
    g.constant("any", Tensor.vector(-1L));
    g.constant("four", Tensor.vector(4L));
    g.constant("one", Tensor.vector(1L));
    String range = range(g, "range", 5);
    g.add("pairs", "BatchDatasetV2", LONG, range, "two", "no");
    Map<String, Object> shapes = Map.of("output_shapes", List.of(Shape.unknown()));
    g.add(
        "longest",
        "PaddedBatchDatasetV2",
        shapes,
        Map.of("N", 1),
        "pairs",
        "two",
        "any",
        "fill",
        "no");
    g.add(
        "all",
        "PaddedBatchDatasetV2",
        shapes,
        Map.of("N", 1),
        "pairs",
        "two",
        "four",
        "fill",
        "no");
    g.add(
        "short",
        "PaddedBatchDatasetV2",
        shapes,
        Map.of("N", 1),
        "pairs",
        "two",
        "one",
        "fill",
        "no");
    walk(s, "a", "longest", 2);
    walk(s, "b", "all", 2);
    iterator(s, "c", "short", DType.INT64);
    s.run("c_make").fails(Code.DATA_LOSS, "c_next");
  }

  private static Map<String, Object> calling(String attr, String function) {
    return with(LONG, attr, named(function), "Targuments", NOTHING);
  }

  private void functions() {
    Scenario s = scenario("MapDataset and other datasets that call functions");
    GraphWriter g = s.graph();
    g.function(times()).function(isSmall()).function(upTo());
    String range = range(g, "range", 5);
    g.constant("no", Tensor.scalar(false));
    g.constant("calls", Tensor.scalar(2));
    number(g, "two", 2);
    number(g, "one", 1);
    number(g, "zero", 0);
    g.add("map", "MapDataset", calling("f", "times"), range);
    g.add("side", "ParallelMapDataset", calling("f", "times"), range, "calls");
    g.add("side2", "ParallelMapDatasetV2", calling("f", "times"), range, "two");
    g.add("batched", "MapAndBatchDataset", calling("f", "times"), range, "two", "two", "no");
    g.add("filter", "FilterDataset", calling("predicate", "is_small"), range);
    g.add("while", "TakeWhileDataset", calling("predicate", "is_small"), range);
    g.add("flat", "FlatMapDataset", calling("f", "up_to"), range);
    g.add("mixed", "InterleaveDataset", calling("f", "up_to"), range, "two", "one");
    g.add("v2", "ParallelInterleaveDatasetV2", calling("f", "up_to"), range, "two", "one", "two");
    g.add("v3", "ParallelInterleaveDatasetV3", calling("f", "up_to"), range, "two", "one", "two");
    g.add(
        "v4",
        "ParallelInterleaveDatasetV4",
        calling("f", "up_to"),
        range,
        "two",
        "two",
        "two",
        "zero",
        "two");
    g.add(
        "legacy",
        "LegacyParallelInterleaveDatasetV2",
        calling("f", "up_to"),
        range,
        "two",
        "two",
        "two",
        "one");
    g.add("stuck", "InterleaveDataset", calling("f", "up_to"), range, "zero", "one");
    walk(s, "a", "map", 5);
    walk(s, "b", "side", 5);
    walk(s, "c", "side2", 5);
    walk(s, "d", "batched", 3);
    walk(s, "e", "filter", 2);
    walk(s, "f", "while", 2);
    walk(s, "g", "flat", 10);
    walk(s, "h", "mixed", 10);
    walk(s, "i", "v2", 10);
    walk(s, "j", "v3", 10);
    walk(s, "k", "v4", 10);
    walk(s, "l", "legacy", 10);
    refused(s, "stuck");
  }

  /** Of four elements one is no number; where it would be in a window, the window fails. */
  private void failures() {
    Scenario s = scenario("IgnoreErrorsDataset");
    GraphWriter g = s.graph();
    g.function(
        function(
            "twelve_by",
            List.of("x"),
            List.of("y"),
            body -> {
              number(body, "twelve", 12);
              return body.add("y", "FloorDiv", Map.of(), "twelve", "x");
            }));
    number(g, "from", -2);
    number(g, "to", 2);
    number(g, "one", 1);
    number(g, "two", 2);
    g.constant("no", Tensor.scalar(false));
    g.add("range", "RangeDataset", LONG, "from", "to", "one");
    g.add("parts", "MapDataset", calling("f", "twelve_by"), "range");
    g.add("good", "IgnoreErrorsDataset", LONG, "parts");
    walk(s, "a", "good", 3);
    iterator(s, "b", "parts", DType.INT64);
    s.run("b_make").fetch("b_next").fetch("b_next").fails(Code.INVALID_ARGUMENT, "b_next");
    s.fetch("b_next").fails(Code.OUT_OF_RANGE, "b_next");
    Map<String, Object> datasets = elements(DType.VARIANT);
    g.add("windows", "WindowDataset", datasets, "parts", "two", "one", "one", "no");
    iterator(s, "c", "windows", DType.VARIANT);
    s.run("c_make").run("c_next").fails(Code.INVALID_ARGUMENT, "c_next");
    s.fails(Code.INVALID_ARGUMENT, "c_next").run("c_next").fails(Code.OUT_OF_RANGE, "c_next");
  }

  /** The same seeds give the same order, again in the second round. */
  private void shuffling() {
    Scenario s = scenario("ShuffleDataset and its versions");
    GraphWriter g = s.graph();
    String range = range(g, "range", 9);
    number(g, "size", 4);
    number(g, "seed", 5);
    number(g, "seed2", 6);
    number(g, "two", 2);
    number(g, "zero", 0);
    g.add("dummy", "DummySeedGenerator", Map.of());
    g.add("v1", "ShuffleDataset", LONG, range, "size", "seed", "seed2");
    g.add(
        "same",
        "ShuffleDataset",
        with(LONG, "reshuffle_each_iteration", false),
        range,
        "size",
        "seed",
        "seed2");
    g.add("both", "ShuffleAndRepeatDataset", LONG, range, "size", "seed", "seed2", "two");
    g.add("v3", "ShuffleDatasetV3", LONG, range, "size", "seed", "seed2", "dummy");
    g.add(
        "both2", "ShuffleAndRepeatDatasetV2", LONG, range, "size", "seed", "seed2", "two", "dummy");
    g.add("wrong", "ShuffleDataset", LONG, range, "zero", "seed", "seed2");
    walk(s, "a", of(g, "RepeatDataset", "v1", 3), 27);
    walk(s, "b", of(g, "RepeatDataset", "same", 2), 18);
    walk(s, "c", "both", 18);
    walk(s, "d", "v3", 9);
    walk(s, "e", "both2", 18);
    refused(s, "wrong");
  }

  private void windows() {
    Scenario s = scenario("WindowDataset and UnbatchDataset");
    GraphWriter g = s.graph();
    String range = range(g, "range", 7);
    number(g, "three", 3);
    number(g, "two", 2);
    number(g, "one", 1);
    number(g, "zero", 0);
    g.constant("no", Tensor.scalar(false));
    g.constant("yes", Tensor.scalar(true));
    g.constant("rows", Tensor.of(Shape.of(2, 3), 1L, 2, 3, 4, 5, 6));
    g.add("rowsOf", "TensorDataset", Map.of("output_shapes", List.of(Shape.of(2, 3))), "rows");
    g.add("unbatch", "UnbatchDataset", LONG, "rowsOf");
    walk(s, "a", "unbatch", 2);
    Map<String, Object> datasets = elements(DType.VARIANT);
    g.add("windows", "WindowDataset", datasets, range, "three", "two", "one", "no");
    g.add("apart", "WindowDataset", datasets, range, "two", "three", "two", "yes");
    g.add("none", "WindowDataset", datasets, range, "zero", "three", "two", "yes");
    for (String w : List.of("windows", "apart")) {
      iterator(s, "of_" + w, w, DType.VARIANT);
      iterator(s, "in_" + w, "of_" + w + "_next", DType.INT64);
      s.run("of_" + w + "_make").run("in_" + w + "_make");
      s.fetch("in_" + w + "_next").fetch("in_" + w + "_next");
      s.run("in_" + w + "_make").fetch("in_" + w + "_next");
    }
    refused(s, "none");
  }

  private void folds() {
    Scenario s = scenario("ReduceDataset, ScanDataset and DatasetToSingleElement");
    GraphWriter g = s.graph();
    g.function(sum(List.of("y"))).function(sum(List.of("y", "y")));
    String range = range(g, "range", 5);
    number(g, "ten", 10);
    Map<String, Object> reduce =
        with(LONG, "f", named("sum1"), "Targuments", NOTHING, "Tstate", List.of(DType.INT64));
    Map<String, Object> scan =
        with(LONG, "f", named("sum2"), "Targuments", NOTHING, "Tstate", List.of(DType.INT64));
    g.add("total", "ReduceDataset", reduce, range, "ten");
    g.add("totals", "ScanDataset", scan, range, "ten");
    g.add("single", "DatasetToSingleElement", LONG, of(g, "TakeDataset", range, 1));
    g.add("many", "DatasetToSingleElement", LONG, range);
    g.add("none", "DatasetToSingleElement", LONG, range(g, "empty", 0));
    s.fetch("total", "single");
    walk(s, "a", "totals", 5);
    refused(s, "many", "none");
  }

  private void passing() {
    Scenario s = scenario("OptionsDataset and others that hand a dataset on");
    GraphWriter g = s.graph();
    String range = range(g, "range", 2);
    g.constant("names", Tensor.of(Shape.of(0), new String[0]));
    g.add("options", "OptionsDataset", with(LONG, "serialized_options", ""), range);
    g.add("model", "ModelDataset", LONG, "options");
    g.add("optimized", "OptimizeDataset", LONG, "model", "names");
    g.add("optimized2", "OptimizeDatasetV2", LONG, "optimized", "names", "names", "names");
    g.add("final", "FinalizeDataset", LONG, "optimized2");
    walk(s, "a", "model", 2);
    String parallel = of(g, "MaxIntraOpParallelismDataset", range, 1);
    walk(s, "b", of(g, "PrivateThreadPoolDataset", parallel, 1), 2);
    walk(s, "c", "final", 2);
  }

  private void iterators() {
    Scenario s = scenario("IteratorToStringHandle and IteratorFromStringHandleV2");
    GraphWriter g = s.graph();
    String range = range(g, "range", 3);
    g.add("old", "Iterator", with(LONG, "shared_name", "", "container", ""));
    g.add("old_make", "MakeIterator", Map.of(), range, "old");
    iterator(s, "new", range, DType.INT64);
    g.add("text", "IteratorToStringHandle", Map.of(), "new");
    g.add("v1", "IteratorFromStringHandle", LONG, "text");
    g.add("v2", "IteratorFromStringHandleV2", LONG, "text");
    g.add("wrong", "IteratorFromStringHandleV2", elements(DType.FLOAT), "text");
    g.add("next1", "IteratorGetNext", LONG, "v1");
    g.add("next2", "IteratorGetNextSync", LONG, "v2");
    g.add("next3", "IteratorGetNext", LONG, "old");
    g.add("optional", "IteratorGetNextAsOptional", LONG, "old");
    g.add("is", "OptionalHasValue", Map.of(), "optional");
    s.fails(Code.FAILED_PRECONDITION, "new_next").run("new_make").fetch("new_next").fetch("next1");
    s.fetch("next2").fails(Code.OUT_OF_RANGE, "next2").fails(Code.INVALID_ARGUMENT, "wrong");
    s.run("old_make").fetch("is").fetch("next3").fetch("is").fetch("is");
    g.constant("x", floats(2));
    g.add("floats", "TensorDataset", Map.of("output_shapes", List.of(Shape.of(2))), "x");
    g.add("misfit", "MakeIterator", Map.of(), "floats", "new");
    s.fails(Code.INVALID_ARGUMENT, "misfit");
  }

  private void oneShot() {
    Scenario s = scenario("OneShotIterator");
    GraphWriter g = s.graph();
    g.function(function("make", List.of(), List.of("range"), body -> range(body, "range", 2)));
    g.add("iterator", "OneShotIterator", with(LONG, "dataset_factory", named("make")));
    g.add("next", "IteratorGetNext", LONG, "iterator");
    s.fetch("next").fetch("next").fails(Code.OUT_OF_RANGE, "next");
  }

  private void files() {
    Scenario s = scenario("TextLineDataset, TFRecordDataset and FixedLengthRecordDatasetV2");
    GraphWriter g = s.graph();
    Path folder = TextCases.folder();
    Path text = folder.resolve("lines.txt");
    Path packed = folder.resolve("lines.gz");
    Path records = folder.resolve("records");
    byte[] lines = "first\r\nsecond\n\nlast".getBytes(java.nio.charset.StandardCharsets.UTF_8);
    try {
      Files.write(text, lines);
      try (OutputStream out = new GZIPOutputStream(Files.newOutputStream(packed))) {
        out.write(lines);
      }
      try (RecordWriter out = RecordWriter.create(records)) {
        out.write("one".getBytes(java.nio.charset.StandardCharsets.UTF_8));
        out.write(new byte[0]);
      }
    } catch (IOException e) {
      throw MillraceException.of(e);
    }
    g.constant("texts", Tensor.vector(text.toString(), text.toString()));
    g.constant("packed", Tensor.scalar(packed.toString()));
    g.constant("records", Tensor.vector(records.toString()));
    g.constant("nowhere", Tensor.vector("/nowhere/at/all"));
    g.constant("plain", Tensor.scalar(""));
    g.constant("gzip", Tensor.scalar("GZIP"));
    g.constant("odd", Tensor.scalar("LZW"));
    number(g, "buffer", 1000);
    number(g, "header", 6);
    number(g, "record", 7);
    number(g, "six", 6);
    number(g, "footer", 1);
    g.add("lines", "TextLineDataset", Map.of(), "texts", "plain", "buffer");
    g.add("unpacked", "TextLineDataset", Map.of(), "packed", "gzip", "buffer");
    g.add("strange", "TextLineDataset", Map.of(), "packed", "odd", "buffer");
    g.add("all", "TFRecordDataset", Map.of(), "records", "plain", "buffer");
    g.add("lost", "TFRecordDataset", Map.of(), "nowhere", "plain", "buffer");
    fixedLength(g, "blocks", "texts", "six", "plain");
    fixedLength(g, "blocks2", "packed", "six", "gzip");
    fixedLength(g, "uneven", "texts", "record", "plain");
    walk(s, "a", "lines", 8, DType.STRING);
    walk(s, "b", "unpacked", 4, DType.STRING);
    walk(s, "c", "all", 2, DType.STRING);
    walk(s, "d", "blocks", 4, DType.STRING);
    walk(s, "e", "blocks2", 2, DType.STRING);
    iterator(s, "f", "lost", DType.STRING);
    s.run("f_make").fails(Code.NOT_FOUND, "f_next");
    iterator(s, "g", "uneven", DType.STRING);
    s.run("g_make").fails(Code.INVALID_ARGUMENT, "g_next");
    refused(s, "strange");
  }

  private static void fixedLength(
      GraphWriter g, String name, String files, String length, String compression) {
    g.add(
        name,
        "FixedLengthRecordDatasetV2",
        Map.of(),
        files,
        "header",
        length,
        "footer",
        "buffer",
        compression);
  }
}
