package dev.millrace.interop.conformance;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/** Every case runs on TensorFlow as it says, and TensorFlow agrees with itself. */
class CaseTableTest {
  @TestFactory
  Stream<DynamicTest> everyCaseIsWhatTensorFlowDoes() {
    OpConformance conformance = new OpConformance(new TensorFlowEngine());
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
    assertEquals(
        List.of(),
        findings,
        () -> String.join("\n", findings.stream().map(Finding::toString).toList()));
  }
}
