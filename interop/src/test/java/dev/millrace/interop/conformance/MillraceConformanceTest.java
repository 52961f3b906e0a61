package dev.millrace.interop.conformance;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.graph.Gradient;
import dev.millrace.graph.Op;
import dev.millrace.interop.GraphWriter;
import dev.millrace.interop.conformance.GradientConformance.Measure;
import dev.millrace.interop.conformance.cases.AllCases;
import dev.millrace.interop.conformance.cases.VariantCases;
import dev.millrace.ops.StandardOps;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/**
 * Millrace computes what TensorFlow computes, and defines its ops as TensorFlow does. Every op has
 * a case, and every gradient is checked.
 */
class MillraceConformanceTest {
  /** Defined as TensorFlow 2.21 does, with an attribute more than the 2.18 of these tests has. */
  private static final Set<String> NEWER = Set.of("TensorListGetItem");

  /**
   * Ops without a case: two belong to the session itself, one ends the process, as TensorFlow's
   * CollectiveReduceV3 does in a session, and CollectiveReduceScatterV2 is for GPUs there.
   */
  private static final Set<String> WITHOUT_CASES =
      Set.of("_Arg", "_Retval", "Abort", "CollectiveReduceV3", "CollectiveReduceScatterV2");

  /** Ops with several types whose cases all fail before the type matters, or TensorFlow does. */
  private static final Set<String> OF_ONE_TYPE =
      Set.of(
          "UnicodeDecodeWithOffsets",
          "PlaceholderV2",
          "CollectiveAllToAllV2",
          "CollectiveBcastRecv",
          "CollectiveBcastRecvV2");

  /**
   * Ops without a case at an edge: they have no inputs, or read names, files and keys alone. Over a
   * collective of nothing TensorFlow's process ends.
   */
  private static final Set<String> WITHOUT_EDGES =
      Set.of(
          "NoOp",
          "StatelessRandomGetAlg",
          "CollectiveReduce",
          "CollectiveGather",
          "CollectiveBcastSend",
          "TextLineReaderV2",
          "WholeFileReaderV2",
          "IdentityReaderV2",
          "FixedLengthRecordReaderV2",
          "MutexV2",
          "MutexLock",
          "ConsumeMutexLock",
          "ReaderReadUpToV2",
          "ReaderNumRecordsProducedV2",
          "ReaderNumWorkUnitsCompletedV2",
          "ReaderResetV2",
          "PriorityQueue",
          "PriorityQueueV2");

  /** Calls of functions: graphs are rid of them when they are imported. */
  private static final Set<String> FUNCTIONS =
      Set.of(
          "If",
          "StatelessIf",
          "While",
          "StatelessWhile",
          "PartitionedCall",
          "RemoteCall",
          "StatefulPartitionedCall",
          "SymbolicGradient");

  /** The one gradient whose purpose is to fail. */
  private static final String REFUSES_GRADIENT = "PreventGradient";

  @TestFactory
  Stream<DynamicTest> millraceAgreesWithTensorFlow() {
    OpConformance conformance = new OpConformance(new MillraceEngine());
    Stream<DynamicTest> tables =
        AllCases.tables().stream()
            .map(
                table ->
                    DynamicTest.dynamicTest(
                        table.getClass().getSimpleName(), () -> check(conformance, table)));
    return Stream.concat(
        tables,
        Stream.of(
            DynamicTest.dynamicTest(
                "everyGradientIsThatOfTheValues",
                () -> everyGradientIsChecked(conformance.gradients()))));
  }

  private static void check(OpConformance conformance, CaseTable table) {
    List<Finding> findings = new ArrayList<>();
    table.cases().forEach(c -> findings.addAll(conformance.check(c)));
    table.scenarios().forEach(s -> findings.addAll(conformance.check(s)));
    assertTrue(
        findings.isEmpty(),
        () ->
            findings.size()
                + " differences:\n"
                + String.join("\n", findings.stream().map(Finding::toString).toList()));
  }

  /**
   * Their cases give no finite differences: Cholesky takes symmetric matrices only, NextAfter has
   * steps, GuaranteeConst and ResizeBilinearGrad have no case of that kind yet, and RandomGamma's
   * is that of its distribution, not of the numbers drawn.
   */
  private static final Set<String> GRADIENT_NOT_MEASURED =
      Set.of("Cholesky", "GuaranteeConst", "NextAfter", "RandomGamma", "ResizeBilinearGrad");

  private static void everyGradientIsChecked(GradientConformance gradients) {
    Set<String> differentiable = new TreeSet<>();
    for (Op op : StandardOps.ALL) {
      boolean hasGradient = op.gradient() != null && !(op.gradient() instanceof Gradient.Undefined);
      if (hasGradient && GraphWriter.isDefined(op.name())) {
        differentiable.add(op.name());
      }
    }
    differentiable.remove(REFUSES_GRADIENT);
    Set<String> byTensorFlow = new TreeSet<>(gradients.checked(Measure.TENSORFLOW));
    byTensorFlow.retainAll(differentiable);
    System.out.printf(
        "%d gradients, held against finite differences, %d against TensorFlow's own%n",
        differentiable.size(), byTensorFlow.size());
    differentiable.removeAll(gradients.checked(Measure.DIFFERENCES));
    differentiable.removeAll(GRADIENT_NOT_MEASURED);
    assertEquals(Set.of(), differentiable, "gradients never held against finite differences");
  }

  @Test
  void everyOpIsDefinedAsTensorFlowDefinesIt() {
    List<String> differences = new ArrayList<>();
    for (Op op : StandardOps.ALL) {
      if (GraphWriter.isDefined(op.name()) && !NEWER.contains(op.name())) {
        differences.addAll(OpSignature.differences(op));
      }
    }
    assertEquals(List.of(), differences, () -> String.join("\n", differences));
  }

  /** The ops that training programs of TensorFlow 1 and 2 are made of are all there. */
  @Test
  void everyOpOfTrainingProgramsIsThere() throws IOException {
    List<String> wanted;
    try (InputStream in = getClass().getResourceAsStream("ops_of_training.txt")) {
      wanted = new String(in.readAllBytes(), StandardCharsets.UTF_8).lines().toList();
    }
    Map<String, Op> ours = new HashMap<>();
    StandardOps.ALL.forEach(op -> ours.put(op.name(), op));
    List<String> missing = new ArrayList<>();
    List<String> differences = new ArrayList<>();
    for (String name : wanted) {
      if (ours.containsKey(name) && GraphWriter.isDefined(name)) {
        differences.addAll(OpSignature.differences(ours.get(name)));
      } else if (!ours.containsKey(name)) {
        missing.add(name);
      }
    }
    missing.removeAll(FUNCTIONS);
    System.out.printf(
        "%d of %d ops of training programs, not: %s%n",
        wanted.size() - missing.size(), wanted.size(), missing);
    assertEquals(List.of(), missing);
    assertEquals(List.of(), differences, () -> String.join("\n", differences));
  }

  @Test
  void everyOpOfSeveralTypesIsTriedInSeveral() {
    Coverage coverage = coverage();
    List<String> oneOnly = new ArrayList<>();
    for (String op : ops()) {
      for (String attr : Coverage.typeAttributes(op)) {
        if (!OF_ONE_TYPE.contains(op) && coverage.isOfOneType(op, attr)) {
          oneOnly.add(op + " " + attr);
        }
      }
    }
    assertEquals(List.of(), oneOnly);
  }

  /** Plain cases are not enough: what is empty, a scalar, no number or must fail is tried too. */
  @Test
  void everyOpIsTriedAtAnEdge() {
    Coverage coverage = coverage();
    List<String> plainOnly = new ArrayList<>(ops());
    plainOnly.removeIf(op -> !coverage.edges(op).isEmpty() || WITHOUT_EDGES.contains(op));
    plainOnly.removeIf(op -> VariantCases.NAN_DIFFERS.matcher(op).matches());
    assertEquals(List.of(), plainOnly);
  }

  /** The ops that TensorFlow has too and that have cases. */
  private static List<String> ops() {
    return StandardOps.ALL.stream()
        .map(Op::name)
        .filter(name -> GraphWriter.isDefined(name) && !WITHOUT_CASES.contains(name))
        .toList();
  }

  private static Coverage coverage() {
    Coverage coverage = new Coverage();
    for (CaseTable table : AllCases.tables()) {
      table.cases().forEach(coverage::add);
      table.scenarios().forEach(coverage::add);
    }
    return coverage;
  }

  @Test
  void everyOpThatTensorFlowHasTooHasACase() {
    Set<String> covered = new HashSet<>(WITHOUT_CASES);
    int cases = 0;
    for (CaseTable table : AllCases.tables()) {
      cases += table.cases().size() + table.scenarios().size();
      table.cases().forEach(c -> covered.add(c.op()));
      table
          .scenarios()
          .forEach(s -> s.graphDef().getNodeList().forEach(node -> covered.add(node.getOp())));
    }
    List<String> ops =
        StandardOps.ALL.stream().map(Op::name).filter(GraphWriter::isDefined).toList();
    System.out.printf("%d ops, %d cases%n", ops.size(), cases);
    assertEquals(List.of(), ops.stream().filter(name -> !covered.contains(name)).toList());
  }
}
