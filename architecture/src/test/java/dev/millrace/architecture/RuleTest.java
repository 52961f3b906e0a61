package dev.millrace.architecture;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import dev.millrace.architecture.sample.one.Twin;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Each rule finds what it is there for, in a few classes that break them all. */
class RuleTest {
  private final JavaClasses samples =
      new ClassFileImporter().importPackages("dev.millrace.architecture.sample");

  @Test
  void packagesThatUseEachOtherAreACycle() {
    var cycles = List.copyOf(Packages.of(samples).cycles());
    assertEquals(1, cycles.size(), cycles::toString);
    assertTrue(
        cycles.getFirst().startsWith("architecture.sample.one+architecture.sample.two"),
        cycles.getFirst());
    assertFalse(cycles.getFirst().contains("three"), cycles.getFirst());
  }

  @Test
  void classesOfOneNameAreFound() {
    assertEquals(
        Set.of("Twin (architecture.sample.one, architecture.sample.two)"),
        Sizes.duplicateNames(samples));
  }

  @Test
  void callsAndMethodReferencesAreFound() {
    assertEquals(
        Set.of(
            "architecture.sample.one.Twin (System.nanoTime)",
            "architecture.sample.three.Caller (Thread.sleep)"),
        Calls.wallClock(samples));
    assertEquals(
        Set.of("architecture.sample.three.Caller (System.getProperty)"), Calls.settings(samples));
  }

  @Test
  void aLowerModuleMayNotUseAHigherOne() {
    Layers layers = Layers.of(List.of("base:", "tensor: base", "graph: tensor"));
    assertTrue(layers.allows("graph", "base"));
    assertTrue(layers.allows("graph", "graph"));
    assertFalse(layers.allows("base", "tensor"));
    assertFalse(layers.allows("graph", "cluster"));
    assertThrows(IllegalArgumentException.class, () -> Layers.of(List.of("tensor: base")));
    assertFalse(
        Packages.of(new ClassFileImporter().importClasses(Twin.class))
            .forbiddenUses(layers)
            .isEmpty());
  }
}
