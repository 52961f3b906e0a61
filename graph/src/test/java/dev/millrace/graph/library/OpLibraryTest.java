package dev.millrace.graph.library;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.Op;
import dev.millrace.graph.OpRegistry;
import dev.millrace.graph.shape.Shapes;
import java.io.IOException;
import java.net.URLClassLoader;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Ops come from jars by themselves, and a jar that does not fit is named. */
class OpLibraryTest {
  private static final OpRegistry OWN =
      OpRegistry.of(
          List.of(
              Op.define("Own").shape(Shapes.none()).kernel(c -> {}).noGradient("a test").build()));

  @TempDir private Path folder;

  private static String failure(URLClassLoader loader) {
    var e = assertThrows(MillraceException.class, () -> OpLibraries.addTo(OWN, loader));
    assertEquals(Code.FAILED_PRECONDITION, e.code(), e.getMessage());
    return e.getMessage();
  }

  private static void assertSays(String message, String... parts) {
    for (String part : parts) {
      assertTrue(message.contains(part), message);
    }
  }

  @Test
  void opsOfAllJarsAreInTheRegistry() throws IOException {
    Path a = LibraryJar.ofOp(folder, "First", "Doubled");
    Path b = LibraryJar.ofOp(folder, "Second", "Tripled");
    try (URLClassLoader loader = LibraryJar.loader(a, b)) {
      OpRegistry all = OpLibraries.addTo(OWN, loader);
      assertEquals(List.of("Doubled", "Own", "Tripled"), all.all().stream().map(Op::name).toList());
    }
  }

  @Test
  void withoutLibrariesTheRegistryIsTheSame() {
    assertSame(OWN, OpLibraries.addTo(OWN, OpLibraryTest.class.getClassLoader()));
  }

  @Test
  void familiesOfLibrariesLoadOnDemand() throws IOException {
    Path jar =
        LibraryJar.of(
            folder,
            "Lazy",
            """
            import dev.millrace.graph.*;
            import dev.millrace.graph.library.*;
            import dev.millrace.graph.shape.*;
            import java.util.*;
            public class Lazy implements OpLibrary {
              @Override public List<OpFamily> families() {
                return List.of(OpFamily.of("Late", () -> { throw new IllegalStateException("now"); }));
              }
            }
            """);
    try (URLClassLoader loader = LibraryJar.loader(jar)) {
      OpRegistry all = OpLibraries.addTo(OWN, loader);
      assertTrue(all.has("Late"));
      assertThrows(IllegalStateException.class, () -> all.find("Late"));
    }
  }

  @Test
  void opOfTwoJarsNamesBoth() throws IOException {
    Path a = LibraryJar.ofOp(folder, "First", "Doubled");
    Path b = LibraryJar.ofOp(folder, "Second", "Doubled");
    try (URLClassLoader loader = LibraryJar.loader(a, b)) {
      assertSays(failure(loader), "'Doubled'", "First (" + a + ")", "Second (" + b + ")");
    }
  }

  @Test
  void opThatMillraceHasNamesTheJar() throws IOException {
    Path a = LibraryJar.ofOp(folder, "First", "Own");
    try (URLClassLoader loader = LibraryJar.loader(a)) {
      assertSays(failure(loader), "'Own'", "First (" + a + ")", "Millrace's own");
    }
  }

  @Test
  void libraryThatThrowsNamesTheJarAndTheCause() throws IOException {
    Path jar =
        LibraryJar.of(
            folder,
            "Broken",
            """
            import dev.millrace.graph.*;
            import dev.millrace.graph.library.*;
            import dev.millrace.graph.shape.*;
            public class Broken implements OpLibrary {
              public Broken() { throw new IllegalStateException("no licence"); }
            }
            """);
    try (URLClassLoader loader = LibraryJar.loader(jar)) {
      assertSays(failure(loader), "Broken (" + jar + ")", "no licence");
    }
  }

  @Test
  void jarWithoutTheClassItNamesIsNamed() throws IOException {
    Path jar = LibraryJar.of(folder, "Absent", null);
    try (URLClassLoader loader = LibraryJar.loader(jar)) {
      assertSays(failure(loader), "Absent", jar.toString());
    }
  }
}
