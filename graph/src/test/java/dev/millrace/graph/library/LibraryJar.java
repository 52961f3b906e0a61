package dev.millrace.graph.library;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.OutputStream;
import java.io.StringWriter;
import java.net.URI;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import java.util.stream.Stream;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.ToolProvider;

/** Compiles libraries of ops into jars, as other projects publish them. */
final class LibraryJar {
  private LibraryJar() {}

  /** A library with one op that does nothing, in a jar of the class's name. */
  static Path ofOp(Path folder, String type, String op) throws IOException {
    return of(
        folder,
        type,
        """
        import dev.millrace.graph.*;
        import dev.millrace.graph.library.*;
        import dev.millrace.graph.shape.*;
        import java.util.*;
        public class %s implements OpLibrary {
          @Override public Collection<Op> ops() {
            return List.of(
                Op.define("%s").shape(Shapes.none()).kernel(c -> {}).noGradient("a test").build());
          }
        }
        """
            .formatted(type, op));
  }

  /** A library of this source; without a source the jar names a class it does not have. */
  static Path of(Path folder, String type, String source) throws IOException {
    Path classes = Files.createDirectories(folder.resolve(type));
    if (source != null) {
      compile(classes, type, source);
    }
    Path jar = folder.resolve(type + ".jar");
    try (OutputStream file = Files.newOutputStream(jar);
        JarOutputStream out = new JarOutputStream(file);
        Stream<Path> compiled = Files.list(classes)) {
      for (Path c : compiled.toList()) {
        out.putNextEntry(new JarEntry(c.getFileName().toString()));
        Files.copy(c, out);
      }
      out.putNextEntry(new JarEntry("META-INF/services/" + OpLibrary.class.getName()));
      out.write(type.getBytes(StandardCharsets.UTF_8));
    }
    return jar;
  }

  private static void compile(Path classes, String type, String source) {
    JavaFileObject file =
        new SimpleJavaFileObject(
            URI.create("string:///" + type + ".java"), JavaFileObject.Kind.SOURCE) {
          @Override
          public CharSequence getCharContent(boolean ignoreEncodingErrors) {
            return source;
          }
        };
    JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
    StringWriter said = new StringWriter();
    List<String> options =
        List.of("-d", classes.toString(), "-cp", System.getProperty("java.class.path"));
    assertTrue(
        compiler.getTask(said, null, null, options, null, List.of(file)).call(), said::toString);
  }

  /** Sees these jars beside the classes of the tests. */
  static URLClassLoader loader(Path... jars) throws IOException {
    List<URL> urls = new ArrayList<>();
    for (Path jar : jars) {
      urls.add(jar.toUri().toURL());
    }
    return new URLClassLoader(urls.toArray(URL[]::new), LibraryJar.class.getClassLoader());
  }
}
