package dev.millrace.interop.conformance;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.millrace.graph.op.Op;
import dev.millrace.interop.GraphWriter;
import dev.millrace.ops.StandardOps;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** Millrace computes what TensorFlow computes, and defines its ops as TensorFlow does. */
@org.junit.jupiter.api.Tag("conformance")
class MillraceConformanceTest {
  /** Differences that are known, by kind and op. Whoever mends one takes it out. */
  private static final Set<String> KNOWN =
      Set.of(
          "VALUE Pow",
          "INFERENCE Tile",
          "INFERENCE BroadcastTo",
          "INFERENCE SoftmaxCrossEntropyWithLogits");

  /** Ops without a case here: they need a partner, end the process, print, or are gone. */
  private static final Set<String> WITHOUT_CASES =
      Set.of(
          "_Send",
          "_HostSend",
          "_Recv",
          "_HostRecv",
          "_Arg",
          "_Retval",
          "_HostCast",
          "Abort",
          "PrintV2",
          "PlaceholderV2");

  @TestFactory
  Stream<DynamicTest> millraceAgreesWithTensorFlow() {
    OpConformance conformance = new OpConformance(new MillraceEngine());
    return CaseTable.all().stream()
        .map(
            table ->
                DynamicTest.dynamicTest(
                    table.getClass().getSimpleName(), () -> check(conformance, table)));
  }

  private static void check(OpConformance conformance, CaseTable table) {
    List<Finding> findings = new ArrayList<>();
    table.cases().forEach(c -> findings.addAll(conformance.check(c)));
    table.scenarios().forEach(s -> findings.addAll(conformance.check(s)));
    Set<String> unsupported = new TreeSet<>();
    List<String> unexpected = new ArrayList<>();
    for (Finding finding : findings) {
      String op = finding.subject().split("[^A-Za-z0-9]")[0];
      if (finding.kind() == Finding.Kind.UNSUPPORTED) {
        unsupported.add(op);
      } else if (!KNOWN.contains(finding.kind() + " " + op)) {
        unexpected.add(finding.toString());
      }
    }
    if (!unsupported.isEmpty()) {
      System.out.printf(
          "%s: not in Millrace, or not for all types: %s%n",
          table.getClass().getSimpleName(), unsupported);
    }
    assertEquals(
        List.of(),
        unexpected,
        () -> unexpected.size() + " differences:\n" + String.join("\n", unexpected));
  }

  @Test
  void everyOpIsDefinedAsTensorFlowDefinesIt() {
    List<String> differences = new ArrayList<>();
    for (Op op : StandardOps.ALL) {
      if (GraphWriter.isDefined(op.name())) {
        differences.addAll(Signature.differences(op));
      }
    }
    assertEquals(List.of(), differences, () -> String.join("\n", differences));
  }

  @Test
  void everyOpThatTensorFlowHasTooHasACase() {
    Set<String> covered = new HashSet<>(WITHOUT_CASES);
    for (CaseTable table : CaseTable.all()) {
      table.cases().forEach(c -> covered.add(c.op()));
      table
          .scenarios()
          .forEach(s -> s.graphDef().getNodeList().forEach(node -> covered.add(node.getOp())));
    }
    List<String> missing =
        StandardOps.ALL.stream()
            .map(Op::name)
            .filter(name -> GraphWriter.isDefined(name) && !covered.contains(name))
            .toList();
    assertEquals(List.of(), missing);
  }
}
