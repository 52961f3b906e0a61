package dev.millrace.cli;

import static java.util.stream.Collectors.joining;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.millrace.testkit.Slow;
import java.io.File;
import java.io.IOException;
import java.io.OutputStream;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.jar.Attributes;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import javax.tools.JavaCompiler;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The program of the page on Millrace as a library, as a user compiles and starts it: with
 * Millrace's jars and what they need, and with no JVM option.
 */
class LibraryTest {
  /** The modules that a program gets with {@code millrace-job}. */
  private static final List<String> MODULES =
      List.of(
          "base",
          "tensor",
          "collective",
          "net",
          "proto",
          "storage",
          "graph",
          "ops",
          "runtime",
          "wire",
          "train",
          "ring",
          "cluster",
          "job");

  /** The jars of others that come with it, and a log backend; docs/library.md lists them. */
  private static final List<String> OTHERS =
      List.of(
          "aircompressor-v3",
          "dnnl",
          "failureaccess",
          "grpc-api",
          "grpc-context",
          "grpc-core",
          "grpc-netty-shaded",
          "grpc-stub",
          "grpc-util",
          "guava",
          "jackson-core",
          "jackson-jr-objects",
          "perfmark-api",
          "protobuf-java",
          "slf4j-api",
          "slf4j-simple");

  private static final Pattern ACCURACY = Pattern.compile("accuracy (0\\.\\d+|1\\.0+)");
  private static final String PLAIN = "Loops run without the Vector API";

  @TempDir Path folder;

  /** What a process said, standard error included. */
  private record Said(String text) {
    void trained() {
      Matcher accuracy = ACCURACY.matcher(text);
      assertTrue(accuracy.find(), text);
      assertTrue(Double.parseDouble(accuracy.group(1)) > .85, text);
    }

    long linesWith(String part) {
      return text.lines().filter(line -> line.contains(part)).count();
    }
  }

  private static List<Path> classPath() {
    return Stream.of(System.getProperty("java.class.path").split(File.pathSeparator))
        .map(Path::of)
        .toList();
  }

  /** What a user's build puts on the class path or the module path. */
  private static List<Path> jars(String... without) {
    List<String> left = List.of(without);
    List<Path> found = new ArrayList<>();
    for (String module : MODULES) {
      found.add(
          entry(
              "millrace " + module,
              p ->
                  p.endsWith(Path.of(module, "target", "classes"))
                      || p.getFileName()
                          .toString()
                          .matches("millrace-" + module + "-\\d.*\\.jar")));
    }
    for (String other : OTHERS) {
      if (!left.contains(other)) {
        found.add(entry(other, p -> p.getFileName().toString().matches(other + "-\\d.*\\.jar")));
      }
    }
    return found;
  }

  private static Path entry(String what, java.util.function.Predicate<Path> is) {
    return classPath().stream()
        .filter(is)
        .findFirst()
        .orElseThrow(() -> new AssertionError("no " + what + " on " + classPath()));
  }

  private static String path(List<Path> entries) {
    return entries.stream().map(Path::toString).collect(joining(File.pathSeparator));
  }

  /** Compiles files of the samples into a new folder. */
  private Path compiled(String pathOption, List<Path> jars, Path... files) throws Exception {
    JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
    Path classes = Files.createTempDirectory(folder, "classes");
    List<String> arguments =
        new ArrayList<>(List.of("-d", classes.toString(), "-proc:none", pathOption, path(jars)));
    Stream.of(files).map(Path::toString).forEach(arguments::add);
    assertEquals(
        0,
        compiler.run(
            null, OutputStream.nullOutputStream(), System.err, arguments.toArray(String[]::new)));
    return classes;
  }

  private static Path sample(String file) throws Exception {
    return Path.of(LibraryTest.class.getResource("/library/" + file).toURI());
  }

  private static Said java(int code, String... arguments) throws Exception {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(Arrays.asList(arguments));
    Process p = new ProcessBuilder(command).redirectErrorStream(true).start();
    try {
      String said = new String(p.getInputStream().readAllBytes());
      assertTrue(p.waitFor(60, TimeUnit.SECONDS), "the program has not ended");
      assertEquals(code, p.exitValue(), said);
      return new Said(said);
    } finally {
      p.destroyForcibly();
    }
  }

  // README claim: run-options
  @Test
  void onTheClassPathItTrainsWithoutAnyOption() throws Exception {
    Path classes = compiled("-cp", jars(), sample("com/acme/Curve.java"));
    List<Path> all = new ArrayList<>(jars());
    all.add(classes);
    Said said = java(0, "-cp", path(all), "com.acme.Curve");
    said.trained();
    assertEquals(1, said.linesWith(PLAIN), said.text);
    assertEquals(1, said.linesWith("--add-modules jdk.incubator.vector"), said.text);
    java(0, "-cp", path(all), "com.acme.Curve", "--mode=async", "--ps=1", "--workers=2").trained();
  }

  /** As on arm64 and macOS, for which no native library is bundled. */
  @Slow
  @Test
  void withoutTheJarOfTheNativeLibraryItTrains() throws Exception {
    List<Path> all = new ArrayList<>(jars("dnnl"));
    all.add(compiled("-cp", all, sample("com/acme/Curve.java")));
    java(0, "-cp", path(all), "com.acme.Curve").trained();
  }

  /** What {@code java -jar} runs may have lines in its manifest that stand for the options. */
  @Slow
  @Test
  void theManifestOfItsJarStandsForTheOptions() throws Exception {
    Path classes = compiled("-cp", jars(), sample("com/acme/Curve.java"));
    Manifest manifest = new Manifest();
    Attributes main = manifest.getMainAttributes();
    main.put(Attributes.Name.MANIFEST_VERSION, "1.0");
    main.put(Attributes.Name.MAIN_CLASS, "com.acme.Curve");
    main.putValue("Enable-Native-Access", "ALL-UNNAMED");
    main.putValue("Add-Exports", "java.base/jdk.internal.module");
    main.put(
        Attributes.Name.CLASS_PATH,
        jars().stream().map(Path::toUri).map(URI::toString).collect(joining(" ")));
    Path jar = folder.resolve("curve.jar");
    try (JarOutputStream out = new JarOutputStream(Files.newOutputStream(jar), manifest);
        Stream<Path> files = Files.walk(classes)) {
      for (Path file : files.filter(Files::isRegularFile).toList()) {
        out.putNextEntry(new JarEntry(classes.relativize(file).toString()));
        Files.copy(file, out);
      }
    }
    Said said = java(0, "-jar", jar.toString());
    said.trained();
    assertEquals(0, said.linesWith(PLAIN), said.text);
    assertEquals(0, said.linesWith("WARNING"), said.text);
  }

  // README claim: run-options
  @Test
  void onTheModulePathItTrainsWithoutAnyOption() throws Exception {
    Said said = onTheModulePath(sample("module-info.java"));
    said.trained();
    assertEquals(0, said.linesWith("SIGTERM cannot be noticed"), said.text);
    assertEquals(1, said.linesWith(PLAIN), said.text);
  }

  @Slow
  @Test
  void aModuleThatRequiresTheVectorApiHasItWithoutAnyOption() throws Exception {
    Said said = onTheModulePath(sample("vector/module-info.java"));
    said.trained();
    assertEquals(0, said.linesWith(PLAIN), said.text);
  }

  private Said onTheModulePath(Path descriptor) throws Exception {
    assumeDescriptors();
    List<Path> all = new ArrayList<>(jars());
    all.add(compiled("-p", all, sample("com/acme/Curve.java"), descriptor));
    return java(0, "-p", path(all), "-m", "com.acme.curve/com.acme.Curve");
  }

  /** Maven compiles descriptors; a tool that compiles single files may not. */
  private static void assumeDescriptors() {
    Path job = jars().get(MODULES.indexOf("job"));
    assumeTrue(!Files.isDirectory(job) || Files.exists(job.resolve("module-info.class")));
  }

  @Test
  void doctorSaysWhichLoopsAreInUse() throws Exception {
    String everything = path(classPath());
    Said plain = java(0, "-cp", everything, Millrace.class.getName(), "doctor");
    assertEquals(1, plain.linesWith("note  loops         plain Java"), plain.text);
    Said vector =
        java(
            0,
            "--add-modules",
            "jdk.incubator.vector",
            "-cp",
            everything,
            Millrace.class.getName(),
            "doctor");
    assertEquals(1, vector.linesWith("ok    loops         Vector API"), vector.text);
  }

  @Test
  void theListOfJarsIsThatOfThePage() throws IOException {
    Path page = root().resolve("docs/library.md");
    String text = Files.readString(page);
    List<String> missing =
        OTHERS.stream()
            .filter(jar -> !jar.equals("slf4j-simple"))
            .filter(jar -> !text.contains("`" + jar + "`"))
            .toList();
    assertEquals(List.of(), missing, "not on " + page);
    assertFalse(text.contains("`grpc-protobuf`"));
  }

  private static Path root() {
    Path dir = Path.of("").toAbsolutePath();
    while (!Files.exists(dir.resolve("ARCHITECTURE.md"))) {
      dir = dir.getParent();
    }
    return dir;
  }
}
