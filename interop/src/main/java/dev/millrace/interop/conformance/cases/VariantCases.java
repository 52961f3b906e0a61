package dev.millrace.interop.conformance.cases;

import dev.millrace.base.Code;
import dev.millrace.interop.GraphWriter;
import dev.millrace.interop.conformance.CaseTable;
import dev.millrace.interop.conformance.Coverage;
import dev.millrace.interop.conformance.Kernels;
import dev.millrace.interop.conformance.OpCase;
import dev.millrace.interop.conformance.OpCase.Knowledge;
import dev.millrace.interop.conformance.Scenario;
import dev.millrace.interop.conformance.Values;
import dev.millrace.interop.conformance.Values.Domain;
import dev.millrace.proto.NodeDef;
import dev.millrace.proto.OpDef;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;
import java.util.function.UnaryOperator;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * Further cases made of those written down, so that every op is tried in every type TensorFlow
 * computes it on, without elements, on scalars, and in all these types on numbers that are none or
 * at the end of what there is. Whether such a case fails is for TensorFlow to say.
 */
public final class VariantCases extends CaseTable {
  /** Cases of an op that edges are made of; the first ones are the plainest. */
  private static final int EDGED = 3;

  /** Inputs of more elements say no more. */
  private static final long LARGEST = 500;

  /**
   * Types TensorFlow has a kernel for and does not bear: it refuses or misreads them, or ends the
   * process.
   */
  private static final Set<String> UNSOUND =
      Set.of(
          "SplitV Tlen int8",
          "UnicodeDecodeWithOffsets Tsplits int32",
          // Kernels for tables are of pairs of types, and not all pairs.
          "HashTable key_dtype int32",
          "HashTableV2 key_dtype int32",
          "MutableHashTable value_dtype bool",
          "MutableHashTableV2 value_dtype bool",
          "MutableHashTableOfTensors value_dtype bool",
          "MutableHashTableOfTensorsV2 value_dtype bool",
          "MutableDenseHashTableV2 value_dtype bool",
          "AnonymousMutableHashTable value_dtype string",
          "AnonymousMutableHashTableOfTensors value_dtype string",
          "ArgMax Tidx int16",
          "Round T int32",
          "Round T int64",
          "Range Tidx half",
          "Range Tidx bfloat16",
          "Tile T uint16",
          "Where T half",
          // The threshold is read in the type of the values, whatever its own.
          "SparseAdd Treal half",
          "SparseAdd Treal bfloat16",
          "SparseAdd Treal uint8",
          "SparseAdd Treal uint16",
          "SparseAdd Treal uint32",
          "SparseAdd Treal uint64",
          "Restore dt uint32",
          "Restore dt uint64",
          "RestoreSlice dt uint32",
          "RestoreSlice dt uint64");

  /** Ops over whose scalars TensorFlow's process ends. */
  private static final Set<String> NO_SCALARS =
      Set.of(
          "Conv2DBackpropInput",
          "Conv2DBackpropFilter",
          "DepthwiseConv2dNativeBackpropInput",
          "DepthwiseConv2dNativeBackpropFilter",
          "AvgPoolGrad",
          "Conv3D",
          "Conv3DBackpropInputV2",
          "Conv3DBackpropFilterV2",
          "MaxPool3D",
          "MaxPool3DGrad",
          "AvgPool3D",
          "AvgPool3DGrad");

  /**
   * Ops that answer empty images with uninitialized memory, or in the shape of the images; or miss
   * features in a batch of no examples.
   */
  private static final Set<String> NO_EMPTY =
      Set.of(
          "Conv2D",
          "Conv3D",
          "DepthwiseConv2dNative",
          "DepthwiseConv2dNativeBackpropFilter",
          "MatrixSolveLs",
          "ParseSequenceExample",
          "ParseSequenceExampleV2");

  /**
   * Ops that keep their whole numbers: they say how much there is to make, or are all the same so
   * that chance does not show. Over a quotient that does not fit TensorFlow's process ends.
   */
  private static final Set<String> NO_EXTREMES =
      Set.of("Range", "RandomShuffle", "ScatterDiv", "ResourceScatterDiv");

  /** Ops that fail for a zero among whole numbers, which has cases of its own. */
  private static final Set<String> DIVISIONS =
      Set.of("Div", "FloorDiv", "TruncateDiv", "Mod", "FloorMod", "TruncateMod");

  /** Ops whose place for NaN is up to how TensorFlow sorts; they are given infinities alone. */
  private static final Set<String> NO_NAN = Set.of("TopKV2");

  /**
   * Cases and scenarios, as they are shown, in which TensorFlow's answer to NaN and infinities is
   * chance. Its own kernels and those it has from oneDNN, mostly for floats and bfloat16, do not
   * agree there, or whole vectors and the elements left over.
   */
  private static final Pattern CHANCE =
      Pattern.compile(
          String.join(
              "|",
              // The sum over neighbours is a product with a band of ones: beside it zeros make NaN
              // of infinities, unless there are so many channels that they are added up instead.
              "LRN(Grad)?\\(.*",
              // oneDNN makes zeros of a row with NaN, but for NaN itself; TensorFlow all NaN.
              "Softmax\\((float|bfloat16)\\[.*",
              // oneDNN makes zero of NaN; TensorFlow leaves it.
              "_FusedMatMul\\(float.*Relu.*",
              // oneDNN fills up pairs of bfloat16 with zeros, which make NaN of infinities.
              "_FusedMatMul\\(bfloat16.*",
              "Conv2DBackpropInput\\(.*bfloat16\\[.*",
              // oneDNN puts zeros between the rows, which make NaN of infinities.
              "Conv2DBackpropInput\\(.*float\\[.*strides=\\[1, 2, 2, 1\\].*",
              // Zeros around the image and between its rows do; oneDNN leaves them out.
              "DepthwiseConv2dNative\\w*\\(.*(half|bfloat16|double)\\[.*",
              // Zeros around the image do; oneDNN, on processors it has half for, leaves them out.
              "Conv2D\\(half.*padding=SAME.*",
              // Fractions out of range: the last elements go another way than whole vectors.
              "Cast\\((float|double|half|bfloat16).*DstT=(u?int8|u?int16|uint32).*",
              // Products of infinite parts are NaN in one order of the sums and not in another.
              ".* of complex numbers.*",
              "RFFT.*",
              // Beside its domain a Bessel function goes one way in whole vectors and another
              // after.
              "Bessel\\w+\\(.*",
              // What elimination makes of NaN depends on the order of its sums.
              "(Cholesky|Qr|Svd|Lu|LogMatrixDeterminant|SelfAdjointEigV2)\\(.*",
              "(Matrix(Inverse|Determinant|Solve|SolveLs|TriangularSolve)|Tridiagonal\\w+)\\(.*",
              // The largest and the least of three with NaN; zeros around a volume beside
              // infinities.
              "(RGBToHSV|HSVToRGB|Adjust\\w+|Conv3D\\w*|(Max|Avg)Pool3D\\w*)\\(.*",
              // Nothing is sorted among NaN.
              "(Lower|Upper)Bound\\(.*",
              // Powers and factorials overflow in the type; here they are in double.
              "(Polygamma|Betainc|Zeta|RandomGammaGrad|Igamma)\\(.*",
              // The sign of a zero among the squares decides that of an infinity.
              "\\w*ApplyAdagrad of float \\{update_slots=false\\}.*"));

  /**
   * Changes of variables in which TensorFlow itself is of two minds about NaN and infinities: Ftrl
   * makes zero of NaN in a whole variable but not in rows, and RMSProp makes NaN of an infinite
   * mean in a whole variable but not in rows. Here NaN stays NaN, and rows are changed as the whole
   * is.
   */
  public static final Pattern NAN_DIFFERS =
      Pattern.compile(
          "(Resource)?(Sparse)?ApplyFtrl(V2)?|(Resource)?SparseApply(Centered)?RMSProp");

  public VariantCases(List<CaseTable> written) {
    Coverage seen = new Coverage();
    Map<String, List<OpCase>> byOp = new LinkedHashMap<>();
    for (CaseTable table : written) {
      table.cases().forEach(seen::add);
      table.scenarios().forEach(seen::add);
      for (OpCase c : table.cases()) {
        if (c.error() == Code.OK) {
          byOp.computeIfAbsent(c.op(), op -> new ArrayList<>()).add(c);
        }
      }
    }
    byOp.forEach(
        (op, cases) -> {
          values.beginFor(op);
          List<OpCase> all = new ArrayList<>(cases);
          for (String attr : Coverage.typeAttributes(op)) {
            for (DType type : seen.missing(op, attr)) {
              if (isSound(op, attr, type)) {
                all.add(retyped(largest(cases), attr, type, seen));
              }
            }
          }
          // TensorFlow's process ends over a tensor without elements, or too many.
          if (!op.startsWith("Collective")) {
            List<OpCase> small = cases.stream().filter(c -> elements(c) <= LARGEST).toList();
            small.stream().limit(EDGED).forEach(this::edges);
            specials(all);
          }
        });
    for (CaseTable table : written) {
      for (Scenario s : table.scenarios()) {
        values.beginFor(s.toString());
        retyped(s, seen);
        if (s.values().stream().anyMatch(VariantCases::isNumbers) && bearsSpecial(s, DType.FLOAT)) {
          add(s.changed(", of NaN", t -> isNumbers(t) ? special(t) : t));
        }
      }
    }
  }

  /** Whether TensorFlow bears an op in a type. */
  static boolean isSound(String op, String attr, DType type) {
    return !UNSOUND.contains(op + " " + attr + " " + type);
  }

  /** Adds a scenario in the types that any of its ops has not been tried in. */
  private void retyped(Scenario s, Coverage seen) {
    for (DType from : Kernels.TESTED) {
      for (DType to : Kernels.TESTED) {
        boolean wanted = false;
        boolean possible = true;
        for (NodeDef node : s.graphDef().getNodeList()) {
          for (String attr : Coverage.typeAttributes(node.getOp())) {
            if (Coverage.type(node, attr) == from.number()) {
              possible &= Kernels.types(node.getOp(), attr).contains(to);
              possible &= isSound(node.getOp(), attr, to);
              wanted |= seen.missing(node.getOp(), attr).contains(to);
            }
          }
        }
        if (wanted && possible) {
          Scenario other = s.retyped(from, to);
          add(other);
          seen.add(other);
          if (from.isFloating() && bearsSpecial(other, to)) {
            String how = to.isFloating() ? ", of NaN" : ", of extremes";
            add(s.retyped(from, to, how, t -> t.shape().rank() > 0 ? special(t) : t));
          }
        }
      }
    }
  }

  private static boolean isNumbers(Tensor t) {
    return t.dtype().isFloating() && t.shape().rank() > 0;
  }

  /** Whether special values of a type are no chance. A loop may have no end with any others. */
  private static boolean bearsSpecial(Scenario s, DType type) {
    Predicate<String> bears =
        type.isFloating()
            ? op -> !NAN_DIFFERS.matcher(op).matches() && !CHANCE.matcher(s.toString()).matches()
            : op -> type.isIntegral() && !NO_EXTREMES.contains(op);
    return s.graphDef().getNodeList().stream()
        .map(NodeDef::getOp)
        .allMatch(op -> !op.endsWith("NextIteration") && bears.test(op));
  }

  private static OpCase largest(List<OpCase> cases) {
    OpCase best = cases.getFirst();
    for (OpCase c : cases) {
      boolean better = elements(c) > elements(best) || elements(best) > LARGEST;
      if (better && elements(c) <= LARGEST) {
        best = c;
      }
    }
    return best;
  }

  private static long elements(OpCase c) {
    return c.inputs().stream().mapToLong(Tensor::elements).sum();
  }

  /** The case with all that follows from a type attribute in another type. */
  private OpCase retyped(OpCase c, String attr, DType type, Coverage seen) {
    List<String> attrs = typeAttributes(c);
    List<Tensor> inputs = new ArrayList<>();
    for (int i = 0; i < c.inputs().size(); i++) {
      Tensor t = c.inputs().get(i);
      inputs.add(attr.equals(attrs.get(i)) ? Values.retyped(t, type) : t);
    }
    OpCase other = c.like(inputs);
    if (!attrs.contains(attr) || c.attributes().containsKey(attr)) {
      other.with(attr, type);
    }
    add(other);
    seen.add(other);
    return other;
  }

  /** The type attribute each input's type is told by; empty where it is given or one of a list. */
  private static List<String> typeAttributes(OpCase c) {
    NodeDef node = c.graph(Knowledge.SHAPES).getNodeList().getLast();
    List<String> attrs = new ArrayList<>();
    for (OpDef.ArgDef arg : GraphWriter.definition(c.op()).getInputArgList()) {
      long count = 1;
      if (!arg.getNumberAttr().isEmpty()) {
        count = node.getAttrOrThrow(arg.getNumberAttr()).getI();
      } else if (!arg.getTypeListAttr().isEmpty()) {
        count = node.getAttrOrThrow(arg.getTypeListAttr()).getList().getTypeCount();
      }
      for (long i = 0; i < count; i++) {
        attrs.add(arg.getTypeAttr());
      }
    }
    return attrs;
  }

  private void edges(OpCase c) {
    Shape first =
        c.inputs().stream()
            .map(Tensor::shape)
            .filter(s -> s.rank() > 0)
            .findFirst()
            .orElse(Shape.scalar());
    // All that has as many rows as the first input has none.
    if (first.rank() > 0 && !NO_EMPTY.contains(c.op())) {
      variant(c, t -> sameRows(t.shape(), first) ? any(t.dtype(), noRows(t.shape())) : t);
    }
    if (first.rank() > 0 && !NO_SCALARS.contains(c.op())) {
      variant(c, t -> t.dtype().isFloating() ? any(t.dtype()) : t);
    }
  }

  /** Adds cases with special values: of the first ones, and of the largest of all types. */
  private void specials(List<OpCase> cases) {
    List<OpCase> sure =
        cases.stream()
            .filter(c -> elements(c) <= LARGEST && !CHANCE.matcher(c.toString()).matches())
            .toList();
    Set<OpCase> tried = new LinkedHashSet<>(sure.subList(0, Math.min(EDGED, sure.size())));
    sure.stream()
        .collect(
            Collectors.groupingBy(VariantCases::types, LinkedHashMap::new, Collectors.toList()))
        .values()
        .forEach(ofTypes -> tried.add(largest(ofTypes)));
    tried.forEach(this::special);
  }

  /** The types of what is given to an op and asked of it. */
  private static List<Object> types(OpCase c) {
    List<Object> types = new ArrayList<>();
    c.inputs().forEach(t -> types.add(t.dtype()));
    c.attributes().values().stream().filter(DType.class::isInstance).forEach(types::add);
    return types;
  }

  /**
   * Adds the case with special values for all numbers to compute on. Whole numbers are such where
   * they might be fractions; else they are places and sizes.
   */
  private void special(OpCase c) {
    List<String> attrs = typeAttributes(c);
    List<Tensor> inputs = new ArrayList<>();
    for (int i = 0; i < c.inputs().size(); i++) {
      Tensor t = c.inputs().get(i);
      boolean isData =
          t.dtype().isFloating()
              || (t.dtype().isIntegral()
                  && !attrs.get(i).isEmpty()
                  && Kernels.types(c.op(), attrs.get(i)).contains(DType.FLOAT)
                  && !NO_EXTREMES.contains(c.op()));
      inputs.add(isData && !c.isFixed(i) ? special(t, c.op()) : t);
    }
    if (!inputs.equals(c.inputs())) {
      add(c.like(inputs).otherValues());
    }
  }

  /** Adds the case with every input that is not known beforehand changed, if that changes any. */
  private void variant(OpCase c, UnaryOperator<Tensor> change) {
    List<Tensor> inputs = new ArrayList<>();
    for (int i = 0; i < c.inputs().size(); i++) {
      Tensor t = c.inputs().get(i);
      inputs.add(c.isFixed(i) ? t : change.apply(t));
    }
    if (!inputs.equals(c.inputs())) {
      add(c.like(inputs));
    }
  }

  private Tensor special(Tensor t) {
    Tensor other = values.of(Domain.SPECIAL, t.dtype(), t.shape());
    if (t.dtype().isFloating() && other.elements() > 0) {
      other.setDouble(0, Double.NaN);
    }
    return other;
  }

  private Tensor special(Tensor t, String op) {
    Tensor other = special(t);
    for (long i = 0; i < other.elements(); i++) {
      boolean isNan = t.dtype().isFloating() && Double.isNaN(other.doubleAt(i));
      boolean isZero = t.dtype().isIntegral() && other.longAt(i) == 0;
      if ((isNan && NO_NAN.contains(op)) || (isZero && DIVISIONS.contains(op))) {
        other.setLong(i, 2);
      }
    }
    return other;
  }

  private static boolean sameRows(Shape a, Shape b) {
    return a.rank() > 0 && a.dim(0) == b.dim(0);
  }

  private static long[] noRows(Shape s) {
    return s.withDim(0, 0).dims();
  }
}
