package dev.millrace.interop.conformance.cases;

import dev.millrace.interop.GraphWriter;
import dev.millrace.interop.conformance.CaseTable;
import dev.millrace.interop.conformance.OpCase;
import dev.millrace.interop.conformance.Scenario;
import dev.millrace.interop.conformance.Values;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * Doubles through the ops whose cases elsewhere are of other types, so that every gradient is held
 * against finite differences, and gradients through variables and branches.
 */
public final class GradientCases extends CaseTable {
  public GradientCases() {
    plumbing();
    arrays();
    losses();
    images();
    resourceVariable();
    referenceVariable();
    branch();
    batchNormTwice();
  }

  private void plumbing() {
    op("Snapshot", doubles(2, 3));
    op("IdentityN", doubles(2), doubles(3));
    op("PlaceholderWithDefault", doubles(2, 3)).with("shape", Shape.of(-1, 3));
    op("EnsureShape", doubles(2, 3)).with("shape", Shape.of(-1, 3));
    op("Print", doubles(2), ints(3)).with("first_n", 0);
    op("CheckNumericsV2", doubles(3)).with("message", "here");
    op("_HostCast", doubles(2, 3)).with("DstT", DType.DOUBLE);
    op("AccumulateNV2", doubles(3, 4), doubles(3, 4)).with("shape", Shape.of(3, 4));
  }

  private void arrays() {
    op("Concat", scalar(1), doubles(2, 3), doubles(2, 2)).fixed(0);
    op("SplitV", doubles(6, 2), ints(1, 3, 2), scalar(0)).fixed(1, 2).with("num_split", 3);
    op("Gather", doubles(5, 3), ints(4, 0, 4));
    op("GatherV2", doubles(2, 5, 3), Tensor.of(Shape.of(2, 2), 4, 0, 1, 1), scalar(1))
        .fixed(2)
        .with("batch_dims", 1);
    op("MatrixBandPart", doubles(2, 4, 5), scalar(1), scalar(2)).fixed(1, 2);
    op("PadV2", doubles(2, 3), Tensor.of(Shape.of(2, 2), 1, 0, 2, 1), doubles()).fixed(1);
    op("ParallelDynamicStitch", ints(0, 2), ints(1), doubles(2, 3), doubles(1, 3)).with("N", 2);
    op("SparseToDense", ints(1, 3), ints(5), doubles(2), doubles()).fixed(1);
  }

  private void losses() {
    String dense = "SoftmaxCrossEntropyWithLogits";
    // TensorFlow's own gradients forget labels, broadcasting and the second output.
    op(dense, doubles(3, 4), values.distributions(DType.DOUBLE, 3, 4)).gradientByDifferences();
    op(dense, doubles(3, 4), values.distributions(DType.DOUBLE, 1, 4)).gradientByDifferences();
    op("SparseSoftmaxCrossEntropyWithLogits", doubles(3, 4), ints(3, 0, 1)).gradientByDifferences();
    op("ClipByValue", distinct(DType.DOUBLE, 4, 5), doubles(4, 5), Values.filled(DType.DOUBLE, 3))
        .gradientByDifferences();
    op(
            "ClipByValue",
            distinct(DType.DOUBLE, 4, 5),
            scalar(DType.DOUBLE, -0.5),
            scalar(DType.DOUBLE, 1))
        .gradientByDifferences();
    Tensor withZeros = Tensor.of(Shape.of(3, 2), 0.0, 2.0, 3.0, 4.0, 0.0, 0.0);
    op("Prod", withZeros, ints(1)).fixed(1).gradientByDifferences();
    op("Prod", withZeros, ints(0)).fixed(1).gradientByDifferences();
  }

  private void images() {
    for (String format : List.of("NHWC", "NCHW")) {
      op("BiasAddGrad", doubles(2, 3, 4, 3)).with("data_format", format);
    }
    for (String padding : List.of("SAME", "VALID")) {
      long out = padding.equals("SAME") ? 3 : 2;
      List<Integer> strides = List.of(1, 2, 2, 1);
      Tensor x = distinct(DType.DOUBLE, 2, 5, 5, 2);
      Tensor dy = doubles(2, out, out, 2);
      windowed(
          padding, strides, op("Conv2DBackpropInput", ints(2, 5, 5, 2), filter(2), dy).fixed(0));
      windowed(padding, strides, op("Conv2DBackpropFilter", x, ints(3, 3, 2, 2), dy).fixed(1));
      Tensor deep = doubles(2, out, out, 4);
      String depthwise = "DepthwiseConv2dNative";
      windowed(padding, strides, op(depthwise, x, filter(2)));
      windowed(
          padding,
          strides,
          op(depthwise + "BackpropInput", ints(2, 5, 5, 2), filter(2), deep).fixed(0));
      windowed(
          padding, strides, op(depthwise + "BackpropFilter", x, ints(3, 3, 2, 2), deep).fixed(1));
      List<Integer> size = List.of(1, 3, 3, 1);
      windowed(
          padding, strides, op("AvgPoolGrad", ints(2, 5, 5, 2), dy).fixed(0).with("ksize", size));
      Tensor y = largest(x, dy.shape(), padding.equals("SAME") ? 1 : 0);
      windowed(padding, strides, op("MaxPoolGrad", x, y, dy).with("ksize", size));
    }
    // Images of four channels through a filter of two, in two groups.
    windowed("SAME", List.of(1, 1, 1, 1), op("Conv2D", doubles(1, 5, 5, 4), filter(6)));
    windowed("VALID", List.of(1, 2, 1, 1), op("Conv2D", doubles(2, 4, 5, 4), filter(2)));
    secondPoolGradient();
  }

  private Tensor filter(int filters) {
    return doubles(3, 3, 2, filters);
  }

  /** Those of windows of three by three, two apart, that begin so far before the images. */
  private static Tensor largest(Tensor x, Shape out, int before) {
    Tensor y = Values.filled(DType.DOUBLE, Double.NEGATIVE_INFINITY, out.dims());
    long size = x.shape().dim(1);
    long channels = x.shape().dim(3);
    for (long i = 0; i < y.elements(); i++) {
      long place = i / channels;
      long top = place / out.dim(2) % out.dim(1) * 2 - before;
      long left = place % out.dim(2) * 2 - before;
      long image = place / out.dim(2) / out.dim(1);
      for (long r = Math.max(top, 0); r < Math.min(top + 3, size); r++) {
        for (long c = Math.max(left, 0); c < Math.min(left + 3, size); c++) {
          double v = x.doubleAt(((image * size + r) * size + c) * channels + i % channels);
          y.setDouble(i, Math.max(y.doubleAt(i), v));
        }
      }
    }
    return y;
  }

  private static void windowed(String padding, List<Integer> strides, OpCase c) {
    c.with("padding", padding).with("strides", strides);
  }

  /** The largest of each window must be told; it is where the images have it. */
  private void secondPoolGradient() {
    Tensor x = Tensor.of(Shape.of(1, 2, 4, 1), 1.0, 5.0, 2.0, 3.0, 4.0, 0.0, 8.0, 7.0);
    op("MaxPoolGradGrad", x, Tensor.of(Shape.of(1, 1, 2, 1), 5.0, 8.0), doubles(1, 2, 4, 1))
        .with("ksize", List.of(1, 2, 2, 1))
        .with("strides", List.of(1, 2, 2, 1))
        .with("padding", "VALID")
        .noGradientBy(0, 1);
  }

  private void resourceVariable() {
    Scenario s = scenario("ReadVariableOp and ResourceGather, differentiated");
    GraphWriter g = s.graph();
    Shape shape = Shape.of(4, 3);
    StateCases.resource(g, "v", DType.DOUBLE, shape);
    g.placeholder("value", DType.DOUBLE, shape);
    g.add("assign", "AssignVariableOp", Map.of(), "v", "value");
    g.add("read", "ReadVariableOp", Map.of("dtype", DType.DOUBLE), "v");
    g.add("ofAll", "Square", Map.of(), "read");
    g.constant("rows", ints(3, 1, 3));
    g.add("some", "ResourceGather", Map.of("dtype", DType.DOUBLE), "v", "rows");
    g.add("ofSome", "Exp", Map.of(), "some");
    Map<String, Tensor> feeds = Map.of("value:0", doubles(4, 3));
    s.differentiate("ofAll:0", "v:0", "assign", "value:0", feeds);
    s.differentiate("ofSome:0", "v:0", "assign", "value:0", feeds);
  }

  private void referenceVariable() {
    Scenario s = scenario("RefSwitch, RefMerge and RefIdentity, differentiated");
    GraphWriter g = s.graph();
    Shape shape = Shape.of(3);
    StateCases.variable(g, "v", DType.DOUBLE, shape);
    g.placeholder("value", DType.DOUBLE, shape);
    g.add("assign", "Assign", Map.of(), "v", "value");
    g.placeholder("p", DType.BOOL, Shape.scalar());
    g.add("same", "RefIdentity", Map.of(), "v");
    g.add("switch", "RefSwitch", Map.of(), "same", "p");
    g.add("merge", "RefMerge", Map.of(), "switch:0", "switch:1");
    g.add("y", "Square", Map.of(), "merge");
    for (boolean p : new boolean[] {true, false}) {
      Map<String, Tensor> feeds = Map.of("value:0", doubles(3), "p:0", Tensor.scalar(p));
      s.differentiate("y:0", "v:0", "assign", "value:0", feeds);
    }
  }

  private void branch() {
    Scenario s = scenario("Switch and Merge, differentiated");
    GraphWriter g = s.graph();
    g.placeholder("p", DType.BOOL, Shape.scalar());
    g.placeholder("x", DType.DOUBLE, Shape.of(3));
    g.add("switch", "Switch", Map.of(), "x", "p");
    g.add("no", "Exp", Map.of(), "switch:0");
    g.add("yes", "Square", Map.of(), "switch:1");
    g.add("merge", "Merge", Map.of(), "no", "yes");
    for (boolean p : new boolean[] {true, false}) {
      s.differentiate("merge:0", "x:0", Map.of("x:0", doubles(3), "p:0", Tensor.scalar(p)));
    }
  }

  /** The gradient of batch normalisation, differentiated by all it depends on. */
  private void batchNormTwice() {
    for (String version : List.of("", "V2", "V3")) {
      for (String format : List.of("NHWC", "NCHW")) {
        for (boolean training : List.of(true, false)) {
          batchNormTwice(version, format, training);
        }
      }
    }
  }

  private void batchNormTwice(String version, String format, boolean training) {
    String grad = "FusedBatchNormGrad" + version;
    Scenario s = scenario(grad + " of " + format + ", training " + training + ", differentiated");
    GraphWriter g = s.graph();
    Shape images = format.equals("NHWC") ? Shape.of(3, 2, 3, 2) : Shape.of(3, 2, 2, 3);
    Shape channels = Shape.of(2);
    Map<String, Object> attrs = Map.of("data_format", format, "is_training", training);
    g.placeholder("x", DType.FLOAT, images);
    g.placeholder("dy", DType.FLOAT, images);
    g.placeholder("scale", DType.FLOAT, channels);
    g.constant("offset", floats(2));
    g.constant("mean", training ? floats(0) : floats(2));
    g.constant("variance", training ? floats(0) : Tensor.vector(0.5f, 2f));
    g.add("norm", "FusedBatchNorm" + version, attrs, "x", "scale", "offset", "mean", "variance");
    List<String> inputs = new ArrayList<>(List.of("dy", "x", "scale"));
    inputs.addAll(training ? List.of("norm:3", "norm:4") : List.of("mean", "variance"));
    if (version.equals("V3")) {
      inputs.add("norm:5");
    }
    g.add("grad", grad, attrs, inputs.toArray(String[]::new));
    // Weights tell the elements of an output apart, and the outputs from another.
    List<String> ys = new ArrayList<>();
    for (int i = 0; i < 3; i++) {
      g.constant("weights" + i, i == 0 ? any(DType.FLOAT, images.dims()) : floats(2));
      g.add("y" + i, "Mul", Map.of(), "grad:" + i, "weights" + i);
      g.add("sum" + i, "Sum", Map.of(), "y" + i, g.constant("axes" + i, axes(i)));
      ys.add("sum" + i);
    }
    g.add("y", "AddN", Map.of(), ys.toArray(String[]::new));
    Map<String, Tensor> feeds =
        Map.of(
            "x:0",
            distinct(DType.FLOAT, images.dims()),
            "dy:0",
            any(DType.FLOAT, images.dims()),
            "scale:0",
            Tensor.vector(0.75f, 1.5f));
    for (String x : List.of("dy:0", "x:0", "scale:0")) {
      s.differentiate("y:0", x, feeds);
    }
  }

  private static Tensor axes(int output) {
    return output == 0 ? ints(0, 1, 2, 3) : ints(0);
  }
}
