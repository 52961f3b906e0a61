package dev.millrace.interop.conformance.cases;

import com.google.protobuf.ByteString;
import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.interop.GraphWriter;
import dev.millrace.interop.conformance.CaseTable;
import dev.millrace.interop.conformance.Kernels;
import dev.millrace.interop.conformance.Scenario;
import dev.millrace.interop.conformance.Values;
import dev.millrace.interop.conformance.Values.Domain;
import dev.millrace.proto.AttrValue;
import dev.millrace.proto.BytesList;
import dev.millrace.proto.Example;
import dev.millrace.proto.Feature;
import dev.millrace.proto.Features;
import dev.millrace.proto.FloatList;
import dev.millrace.proto.Int64List;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/** Strings, what is written for TensorBoard, checkpoints and files, records. */
public final class TextCases extends CaseTable {
  public TextCases() {
    strings();
    scalarSummaries();
    histograms();
    images();
    otherSummaries();
    files();
    checkpoints();
    records();
  }

  private static Tensor text(String... v) {
    return Tensor.vector(v);
  }

  private void strings() {
    op("StringJoin", text("a", "b"), text("c", "d"));
    op("StringJoin", Tensor.scalar("x"), text("c", "d"), Tensor.scalar("")).with("separator", "/");
    op("StringJoin", Tensor.scalar("alone"));
    op("StringJoin", text("a", "b"), text("c")).fails(Code.INVALID_ARGUMENT);
    op("StaticRegexFullMatch", text("s3://bucket/x", "/tmp/x", "")).with("pattern", "^s3://.*");
    op("RegexFullMatch", text("s3://bucket/x", "/tmp/x", ""), Tensor.scalar("^s3://.*"));
    op("StaticRegexFullMatch", Tensor.scalar("aab")).with("pattern", "a+");
    op("StaticRegexFullMatch", Tensor.scalar("a"))
        .with("pattern", "(")
        .fails(Code.INVALID_ARGUMENT);
    op("ShardedFilename", Tensor.scalar("/x/model"), scalar(3), scalar(12));
    op("ShardedFilespec", Tensor.scalar("/x/model"), scalar(12));
    op("DecodeRaw", text("abcdefgh", "ijklmnop")).with("out_type", DType.INT32);
    op("DecodeRaw", text("abcd")).with("out_type", DType.UINT8);
    op("DecodeRaw", text("abcdefgh")).with("out_type", DType.INT16).with("little_endian", false);
    op("DecodeRaw", text()).with("out_type", DType.FLOAT);
    op("DecodeRaw", text("abc")).with("out_type", DType.INT32).fails(Code.INVALID_ARGUMENT);
    op("DecodeRaw", text("abcd", "ab")).with("out_type", DType.UINT8).fails(Code.INVALID_ARGUMENT);
  }

  private void scalarSummaries() {
    for (DType dtype : Kernels.types("ScalarSummary", "T")) {
      op("ScalarSummary", Tensor.scalar("loss"), any(dtype)).summary();
    }
    op("ScalarSummary", text("a", "b"), floats(2)).summary();
    op("ScalarSummary", Tensor.scalar("nan"), Tensor.scalar(Float.NaN)).summary();
    op("ScalarSummary", text("a", "b"), floats(3)).fails(Code.INVALID_ARGUMENT);
  }

  private void histograms() {
    for (DType dtype : Kernels.types("HistogramSummary", "T")) {
      op("HistogramSummary", Tensor.scalar("h"), any(dtype, 50)).summary();
    }
    op(
            "HistogramSummary",
            Tensor.scalar("h"),
            Tensor.vector(0f, -0.0f, 1e-13f, -1e-13f, 1e30f, -1e30f))
        .summary();
    op("HistogramSummary", Tensor.scalar("h"), Tensor.scalar(3f)).summary();
    op("HistogramSummary", Tensor.scalar("h"), floats(0)).summary();
    op("HistogramSummary", Tensor.scalar("h"), Tensor.vector(1f, Float.NaN))
        .fails(Code.INVALID_ARGUMENT);
    op("HistogramSummary", Tensor.scalar("h"), Tensor.vector(1f, Float.POSITIVE_INFINITY))
        .fails(Code.INVALID_ARGUMENT);
  }

  private void images() {
    Tensor tag = Tensor.scalar("picture");
    for (int channels : new int[] {1, 3, 4}) {
      op("ImageSummary", tag, values.of(Domain.POSITIVE, DType.FLOAT, Shape.of(2, 4, 5, channels)))
          .summary();
      op("ImageSummary", tag, floats(2, 4, 5, channels)).with("max_images", 1).summary();
      op("ImageSummary", tag, values.between(DType.UINT8, 0, 256, 5, 3, 2, channels)).summary();
    }
    op("ImageSummary", tag, values.of(Domain.SPECIAL, DType.FLOAT, Shape.of(1, 6, 6, 3))).summary();
    op("ImageSummary", tag, Values.filled(DType.FLOAT, 0, 1, 2, 2, 1)).summary();
    op("ImageSummary", tag, floats(4, 5, 3)).fails(Code.INVALID_ARGUMENT);
    op("ImageSummary", tag, floats(1, 4, 5, 2)).fails(Code.INVALID_ARGUMENT);
  }

  private void otherSummaries() {
    Tensor first = summaryOf("a", 1);
    Tensor second = summaryOf("b", 2);
    op("MergeSummary", first, second).summary();
    op("MergeSummary", first).summary();
    op("MergeSummary", first, first).fails(Code.INVALID_ARGUMENT);
    op("MergeSummary", Tensor.scalar("\u0001")).fails(Code.INVALID_ARGUMENT);
    op(
            "AudioSummaryV2",
            Tensor.scalar("sound"),
            values.of(Domain.FRACTION, DType.FLOAT, Shape.of(2, 20, 2)),
            Tensor.scalar(8000f))
        .summary();
    op(
            "AudioSummary",
            Tensor.scalar("sound"),
            values.of(Domain.FRACTION, DType.FLOAT, Shape.of(1, 20)))
        .with("sample_rate", 8000f)
        .removedIn(15)
        .summary();
    op("TensorSummary", floats(2, 3)).summary();
    op("TensorSummaryV2", Tensor.scalar("t"), floats(2, 3), Tensor.scalar("")).summary();
    op("TensorSummaryV2", Tensor.scalar("t"), text("x", "y"), Tensor.scalar("")).summary();
  }

  private static Tensor summaryOf(String tag, float value) {
    byte[] bytes =
        dev.millrace.proto.Summary.newBuilder()
            .addValue(
                dev.millrace.proto.Summary.Value.newBuilder().setTag(tag).setSimpleValue(value))
            .build()
            .toByteArray();
    return Tensor.ofObjects(DType.STRING, Shape.scalar(), new Object[] {bytes});
  }

  private void files() {
    Scenario s = scenario("WriteFile and ReadFile");
    GraphWriter g = s.graph();
    g.constant("name", Tensor.scalar(folder().resolve("file").toString()));
    g.constant("contents", Tensor.scalar("something written"));
    g.constant("other", Tensor.scalar(folder().resolve("nowhere").toString()));
    g.add("write", "WriteFile", Map.of(), "name", "contents");
    g.add("read", "ReadFile", Map.of(), "name");
    g.add("missing", "ReadFile", Map.of(), "other");
    s.run("write").fetch("read").fails(Code.NOT_FOUND, "missing");
    Scenario print = scenario("PrintV2 to a file");
    Path printed = folder().resolve("printed");
    print.graph().constant("line", Tensor.scalar("a line"));
    print.graph().constant("name", Tensor.scalar(printed.toString()));
    print
        .graph()
        .add("print", "PrintV2", Map.of("output_stream", "file://" + printed, "end", "."), "line");
    print.graph().constant("nothing", Tensor.scalar(""));
    print.graph().add("clear", "WriteFile", Map.of(), "name", "nothing");
    print.graph().add("read", "ReadFile", Map.of(), "name");
    print.run("clear").run("print").run("print").fetch("read");
  }

  private void checkpoints() {
    Scenario s = scenario("SaveV2, MergeV2Checkpoints and RestoreV2");
    GraphWriter g = s.graph();
    Path folder = folder();
    g.constant("part", Tensor.scalar(folder.resolve("temp/part").toString()));
    g.constant("parts", Tensor.vector(folder.resolve("temp/part").toString()));
    g.constant("whole", Tensor.scalar(folder.resolve("model").toString()));
    g.constant("names", text("a", "b", "s"));
    g.constant("slices", text("", "", ""));
    g.constant("a", floats(3, 4));
    g.constant("b", any(DType.INT64));
    g.constant("s", text("x", "longer than the short form of a string"));
    g.add("save", "SaveV2", Map.of(), "part", "names", "slices", "a", "b", "s");
    g.add("merge", "MergeV2Checkpoints", Map.of(), "parts", "whole");
    List<DType> types = List.of(DType.FLOAT, DType.INT64, DType.STRING);
    g.add("restore", "RestoreV2", Map.of("dtypes", types), "whole", "names", "slices");
    g.constant("rows", text("3 4 1,2:0,4", "", ""));
    g.add("some", "RestoreV2", Map.of("dtypes", types), "whole", "names", "rows");
    g.constant("unknown", text("c"));
    g.constant("all", text(""));
    g.add(
        "missing", "RestoreV2", Map.of("dtypes", List.of(DType.FLOAT)), "whole", "unknown", "all");
    g.constant("justB", text("b"));
    g.add("mistyped", "RestoreV2", Map.of("dtypes", List.of(DType.FLOAT)), "whole", "justB", "all");
    s.run("save").run("merge").fetch("restore:0", "restore:1", "restore:2");
    s.fetch("some:0", "some:1").fails(Code.NOT_FOUND, "missing");
    s.fails(Code.INVALID_ARGUMENT, "mistyped");
  }

  private void records() {
    byte[] example =
        Example.newBuilder()
            .setFeatures(
                Features.newBuilder()
                    .putFeature(
                        "x",
                        Feature.newBuilder()
                            .setFloatList(FloatList.newBuilder().addValue(1.5f).addValue(2.5f))
                            .build())
                    .putFeature(
                        "n",
                        Feature.newBuilder()
                            .setInt64List(Int64List.newBuilder().addValue(7))
                            .build())
                    .putFeature(
                        "w",
                        Feature.newBuilder()
                            .setBytesList(
                                BytesList.newBuilder().addValue(ByteString.copyFromUtf8("word")))
                            .build()))
            .build()
            .toByteArray();
    byte[] empty = Example.getDefaultInstance().toByteArray();
    Tensor both = Tensor.ofObjects(DType.STRING, Shape.of(2), new Object[] {example, example});
    Tensor lacking = Tensor.ofObjects(DType.STRING, Shape.of(2), new Object[] {example, empty});
    Tensor one = Tensor.ofObjects(DType.STRING, Shape.scalar(), new Object[] {example});
    Tensor names = Tensor.of(Shape.of(0), new String[0]);
    Tensor noFloats = Tensor.of(Shape.of(0), new float[0]);
    Tensor noLongs = Tensor.of(Shape.of(0), new long[0]);
    AttrValue none =
        AttrValue.newBuilder().setList(AttrValue.ListValue.getDefaultInstance()).build();
    for (Tensor serialized : List.of(both, lacking)) {
      Code code = serialized == lacking ? Code.INVALID_ARGUMENT : Code.OK;
      op(
              "ParseExample",
              serialized,
              names,
              Tensor.scalar("x"),
              Tensor.scalar("n"),
              noFloats,
              noLongs)
          .with("Nsparse", 0)
          .with("Ndense", 2)
          .with("sparse_types", none)
          .with("dense_shapes", List.of(Shape.of(2), Shape.scalar()))
          .noGradient()
          .fails(code);
    }
    op("ParseExample", lacking, names, Tensor.scalar("w"), Tensor.scalar("n"), Tensor.vector(9L))
        .with("Nsparse", 1)
        .with("Ndense", 1)
        .with("sparse_types", List.of(DType.STRING))
        .with("dense_shapes", List.of(Shape.of(1)))
        .noGradient();
    op("ParseSingleExample", one, noFloats)
        .with("num_sparse", 1)
        .with("sparse_keys", List.of("w"))
        .with("sparse_types", List.of(DType.STRING))
        .with("dense_keys", List.of("x"))
        .with("dense_shapes", List.of(Shape.of(2)))
        .noGradient();
    // Lengths that differ, filled up with a default, and a type that nobody expects.
    for (Tensor filling : List.of(noFloats, Tensor.of(Shape.of(1), -1f))) {
      op("ParseExample", lacking, names, Tensor.scalar("x"), filling)
          .with("Nsparse", 0)
          .with("Ndense", 1)
          .with("sparse_types", none)
          .with("dense_shapes", List.of(Shape.of(Shape.UNKNOWN)))
          .noGradient()
          .fails(filling == noFloats ? Code.INVALID_ARGUMENT : Code.OK);
    }
    for (Tensor serialized : List.of(both, text("no example"), text(""), text())) {
      boolean garbage = serialized.elements() == 1 && serialized.bytesAt(0).length > 0;
      for (DType type : List.of(DType.FLOAT, DType.INT64, DType.STRING)) {
        boolean wrong = serialized == both && type != DType.FLOAT;
        op("ParseExample", serialized, names, Tensor.scalar("x"))
            .with("Nsparse", 1)
            .with("Ndense", 0)
            .with("sparse_types", List.of(type))
            .with("Tdense", none)
            .with("dense_shapes", none)
            .noGradient()
            .fails(garbage || wrong ? Code.INVALID_ARGUMENT : Code.OK);
      }
    }
    op("ParseSingleExample", Tensor.scalar(""), Tensor.of(Shape.of(1, 2), 3f, 4f))
        .with("num_sparse", 1)
        .with("sparse_keys", List.of("n"))
        .with("sparse_types", List.of(DType.INT64))
        .with("dense_keys", List.of("x"))
        .with("dense_shapes", List.of(Shape.of(1, 2)))
        .noGradient();
    op("ParseSingleExample", one, noLongs)
        .with("num_sparse", 0)
        .with("sparse_keys", none)
        .with("sparse_types", none)
        .with("dense_keys", List.of("x"))
        .with("dense_shapes", List.of(Shape.scalar()))
        .noGradient()
        .fails(Code.INVALID_ARGUMENT);
  }

  /** A folder that goes when the process does. */
  static Path folder() {
    try {
      Path folder = Files.createTempDirectory("millrace-conformance-");
      Runtime.getRuntime().addShutdownHook(new Thread(() -> delete(folder)));
      return folder;
    } catch (IOException e) {
      throw MillraceException.of(e);
    }
  }

  private static void delete(Path path) {
    try (var inside =
        Files.isDirectory(path) ? Files.list(path) : java.util.stream.Stream.<Path>of()) {
      inside.forEach(TextCases::delete);
      Files.deleteIfExists(path);
    } catch (IOException e) {
      // Left to the system's own cleaning.
    }
  }
}
