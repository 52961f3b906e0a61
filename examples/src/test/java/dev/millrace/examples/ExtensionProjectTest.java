package dev.millrace.examples;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.OutputStream;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The project in the folder {@code extension}, which no module of this one knows. */
class ExtensionProjectTest {
  private static final Path SOURCES = Path.of("extension/src/main");

  @TempDir Path folder;

  private void compile() throws Exception {
    List<String> arguments =
        new ArrayList<>(
            List.of(
                "-proc:none",
                "-d",
                folder.toString(),
                "-cp",
                System.getProperty("java.class.path")));
    try (Stream<Path> files = Files.walk(SOURCES.resolve("java"))) {
      files.map(Path::toString).filter(f -> f.endsWith(".java")).forEach(arguments::add);
    }
    assertEquals(
        0,
        ToolProvider.getSystemJavaCompiler()
            .run(
                null,
                OutputStream.nullOutputStream(),
                System.err,
                arguments.toArray(String[]::new)));
  }

  @Test
  void itsOpOptimizerInitializerStoreAndDeviceAreUsed() throws Exception {
    compile();
    URL[] jars = {folder.toUri().toURL(), SOURCES.resolve("resources").toUri().toURL()};
    try (URLClassLoader loader = new URLClassLoader(jars, getClass().getClassLoader())) {
      Class<?> example = loader.loadClass("com.acme.extension.Example");
      // Each weight w loses a hundredth of 3 w^2.
      assertEquals(
          "weights [0.97, 1.88, 2.73], squared on ARRAY [0.9409, 3.5344, 7.4529],"
              + " 1 squares there, 4 commits",
          example.getMethod("run", ClassLoader.class).invoke(null, loader));
    }
  }
}
