package dev.millrace.graph;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.shape.Shapes;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class OpRegistryTest {
  private final AtomicInteger loads = new AtomicInteger();
  private final Op rare = op("Rare");
  private final OpFamily family =
      OpFamily.of(
          "Rare Rarer",
          () -> {
            loads.incrementAndGet();
            return List.of(rare, op("Rarer"));
          });
  private final OpRegistry registry =
      OpRegistry.of(List.of(op("Common"))).withFamilies(List.of(family));

  private static Op op(String name) {
    return Op.define(name).shape(Shapes.none()).kernel(c -> {}).noGradient("a test").build();
  }

  @Test
  void aFamilyIsLoadedWhenOneOfItsOpsIsAskedFor() {
    assertEquals("Common", registry.get("Common", "n").name());
    assertNull(registry.find("Missing"));
    assertEquals(0, loads.get());
    assertSame(rare, registry.get("Rare", "n"));
    assertEquals(1, loads.get());
    assertEquals(
        List.of("Common", "Rare", "Rarer"), registry.all().stream().map(Op::name).toList());
  }

  @Test
  void opsOfFamiliesAreSuggestedWithoutBeingLoaded() {
    String said =
        assertThrows(MillraceException.class, () -> registry.get("Rarest", "n")).getMessage();
    assertTrue(said.contains("Rare"), said);
    assertEquals(0, loads.get());
  }

  @Test
  void familiesStayWhenOpsAreAdded() {
    assertSame(rare, registry.with(List.of(op("More"))).find("Rare"));
    assertThrows(IllegalArgumentException.class, () -> registry.withFamilies(List.of(family)));
  }
}
