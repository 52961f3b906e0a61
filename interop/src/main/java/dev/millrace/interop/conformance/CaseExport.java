package dev.millrace.interop.conformance;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.interop.GraphWriter;
import dev.millrace.interop.conformance.OpCase.Knowledge;
import dev.millrace.interop.conformance.cases.AllCases;
import dev.millrace.proto.OpDef;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.StringJoiner;

/**
 * Writes cases with what TensorFlow makes of them as text, for the tests of {@code ops}, which run
 * without TensorFlow: {@code CaseExport OP...} prints the first few cases of each op.
 */
public final class CaseExport {
  /** Cases of one op that succeed, and that fail. */
  private static final int GOOD = 3;

  private static final int BAD = 2;

  /** Cases with more elements in one tensor are left out. */
  private static final long LARGEST = 80;

  private final Engine tensorFlow = new TensorFlowEngine();
  private final PrintStream out;
  private final Map<String, Integer> written = new HashMap<>();

  private CaseExport(PrintStream out) {
    this.out = out;
  }

  public static void main(String[] ops) {
    CaseExport export = new CaseExport(new PrintStream(System.out, true, StandardCharsets.UTF_8));
    Set<String> wanted = Set.of(ops);
    for (CaseTable table : AllCases.tables()) {
      table.cases().stream().filter(c -> wanted.contains(c.op())).forEach(export::write);
    }
  }

  private void write(OpCase c) {
    String key = c.op() + (c.error() == Code.OK);
    int most = c.error() == Code.OK ? GOOD : BAD;
    if (c.isOpen()
        || c.isRandom()
        || written.getOrDefault(key, 0) >= most
        || !c.inputs().stream().allMatch(CaseExport::canBeSpelled)) {
      return;
    }
    List<String> lines = new ArrayList<>();
    lines.add("case " + c.op() + arguments(c));
    c.attributes().forEach((name, value) -> lines.add("attr " + name + " " + attr(value)));
    c.inputs().forEach(t -> lines.add(tensor("in", t)));
    if (c.error() != Code.OK) {
      lines.add("error");
    } else if (!addResults(c, lines)) {
      return;
    }
    written.merge(key, 1, Integer::sum);
    lines.forEach(out::println);
  }

  private boolean addResults(OpCase c, List<String> lines) {
    GraphWriter graph = c.writer(Knowledge.SHAPES);
    List<Tensor> outputs;
    try (Engine.Loaded loaded = tensorFlow.load(graph.build())) {
      List<String> names = new ArrayList<>();
      for (int i = 0; i < graph.outputs(OpCase.NODE); i++) {
        names.add(OpCase.NODE + ":" + i);
      }
      outputs = loaded.run(c.feeds(Knowledge.SHAPES), names, List.of());
    }
    for (int i = 0; i < outputs.size(); i++) {
      if (!canBeSpelled(outputs.get(i)) || !c.isChecked(i)) {
        return false;
      }
      lines.add(tensor("out", outputs.get(i)));
    }
    GradientGraph gradients = GradientGraph.of(c, outputs);
    if (gradients != null && c.isTensorFlowsGradientSound()) {
      addGradients(c, gradients, outputs, lines);
    }
    return true;
  }

  private void addGradients(
      OpCase c, GradientGraph gradients, List<Tensor> outputs, List<String> lines) {
    Map<String, Tensor> found;
    try {
      found = gradients.symbolic(tensorFlow);
    } catch (MillraceException hasNone) {
      return;
    }
    for (int i = 0; i < outputs.size(); i++) {
      Tensor weights = gradients.feeds().get("weights" + i + ":0");
      if (weights != null) {
        lines.add(tensor("dy", weights));
      }
    }
    for (int i = 0; i < c.inputs().size(); i++) {
      Tensor x = c.inputs().get(i);
      if (x.dtype() == DType.FLOAT || x.dtype() == DType.DOUBLE) {
        Tensor dx = found.get(OpCase.input(i) + ":0");
        boolean fits = dx != null && dx.shape().equals(x.shape());
        lines.add(fits ? tensor("dx", dx) : "nodx");
      }
    }
  }

  private static boolean canBeSpelled(Tensor t) {
    return t.elements() <= LARGEST
        && (t.dtype() == DType.STRING
            || t.dtype().isFloating()
            || t.dtype().isIntegral()
            || t.dtype() == DType.BOOL);
  }

  /** How many inputs each argument is made of; -1 for one that is no list. */
  private static String arguments(OpCase c) {
    StringJoiner joiner = new StringJoiner(",");
    List<OpDef.ArgDef> args = GraphWriter.definition(c.op()).getInputArgList();
    int lists = 0;
    for (OpDef.ArgDef arg : args) {
      lists += isList(arg) ? 1 : 0;
    }
    int inLists = c.inputs().size() - (args.size() - lists);
    for (OpDef.ArgDef arg : args) {
      joiner.add(String.valueOf(isList(arg) ? inLists / lists : -1));
    }
    return args.isEmpty() ? "" : " " + joiner;
  }

  private static boolean isList(OpDef.ArgDef arg) {
    return !arg.getNumberAttr().isEmpty() || !arg.getTypeListAttr().isEmpty();
  }

  private static String attr(Object value) {
    return switch (value) {
      case Boolean b -> "bool " + (b ? "True" : "False");
      case Float f -> "float " + f;
      case Number n -> "int " + n;
      case DType t -> "type " + t.label();
      case Shape s -> "shape " + joined(s.dims());
      case Collection<?> l when l.stream().allMatch(v -> v instanceof Float) ->
          "list(float) " + String.join(",", l.stream().map(String::valueOf).toList());
      case Collection<?> l ->
          "list(int) " + String.join(",", l.stream().map(String::valueOf).toList());
      default -> "string " + value;
    };
  }

  private static String joined(long[] v) {
    StringJoiner joiner = new StringJoiner(",");
    for (long d : v) {
      joiner.add(String.valueOf(d));
    }
    return joiner.toString();
  }

  private static String tensor(String kind, Tensor t) {
    StringBuilder s = new StringBuilder(kind);
    s.append(' ').append(t.dtype().label()).append(" [").append(joined(t.shape().dims()));
    s.append(']');
    for (long i = 0; i < t.elements(); i++) {
      s.append(' ').append(element(t, i));
    }
    return s.toString();
  }

  private static String element(Tensor t, long i) {
    if (t.dtype() == DType.STRING) {
      return t.bytesAt(i).length == 0 ? "-" : HexFormat.of().formatHex(t.bytesAt(i));
    }
    if (!t.dtype().isFloating()) {
      return t.dtype() == DType.UINT64
          ? Long.toUnsignedString(t.longAt(i))
          : Long.toString(t.longAt(i));
    }
    double v = t.doubleAt(i);
    if (Double.isInfinite(v)) {
      return v > 0 ? "inf" : "-inf";
    }
    return Double.isNaN(v)
        ? "nan"
        : t.dtype() == DType.DOUBLE ? Double.toString(v) : Float.toString((float) v);
  }
}
