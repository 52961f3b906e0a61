package dev.millrace.ops;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;

import dev.millrace.graph.Op;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

/** The families that are loaded on demand are registered with the names of all their ops. */
class OnDemandTest {
  @Test
  void everyOpOfEveryFamilyIsFoundByItsName() {
    OnDemand.FAMILIES.stream()
        .flatMap(family -> family.ops().get().stream())
        .forEach(op -> assertNotNull(StandardOps.registry().find(op.name()), op.name()));
  }

  @Test
  void everyNameIsThatOfAnOp() {
    Set<String> names = new TreeSet<>();
    OnDemand.FAMILIES.forEach(family -> names.addAll(family.names()));
    Set<String> ops = new TreeSet<>();
    OnDemand.FAMILIES.forEach(f -> f.ops().get().stream().map(Op::name).forEach(ops::add));
    assertEquals(ops, names);
  }
}
