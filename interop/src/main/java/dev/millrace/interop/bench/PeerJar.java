package dev.millrace.interop.bench;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.base.ProcessEnvironment;
import dev.millrace.base.Timers;
import dev.millrace.base.config.CommandSettings;
import dev.millrace.base.config.Config;
import dev.millrace.interop.ChildProcess;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * Another library of the JVM, with a program of one file in {@code interop/peers} that trains with
 * it. Its jars are those Maven has at hand; nothing is downloaded by a measurement.
 */
public enum PeerJar {
  DL4J("Dl4jTraining"),
  DJL("DjlTraining");

  private static final long RESOLVE_SECONDS = 120;

  private final String program;
  private String classPath;

  PeerJar(String program) {
    this.program = program;
  }

  /** A process that trains {@code model} with this many threads; UNAVAILABLE if it is not here. */
  public Contender training(String model, int threads) {
    Path folder = folder();
    List<String> command = new ArrayList<>();
    command.add(ProcessEnvironment.java().toString());
    command.addAll(List.of("--enable-native-access=ALL-UNNAMED", "-Xmx1g", "-cp", jars(folder)));
    command.add(folder.resolve(program + ".java").toString());
    command.addAll(List.of(model, Integer.toString(threads)));
    String n = Integer.toString(threads);
    return ContenderProcess.of(
        ChildProcess.start(name(), command, Map.of("OMP_NUM_THREADS", n, "MKL_NUM_THREADS", n)));
  }

  private Path folder() {
    return Path.of(
        Config.ofProcess().get(CommandSettings.HOME),
        "interop",
        "peers",
        name().toLowerCase(Locale.ROOT));
  }

  private synchronized String jars(Path folder) {
    if (classPath == null) {
      classPath = resolve(folder);
    }
    if (classPath.isEmpty()) {
      throw new MillraceException(
          Code.UNAVAILABLE,
          "%s (mvn -f %s dependency:resolve brings it)"
              .formatted(name(), Path.of("interop", "peers", folder.getFileName().toString())));
    }
    return classPath;
  }

  /** The class path, or nothing where Maven does not have it all. */
  private static String resolve(Path folder) {
    try {
      Path file = Files.createTempFile("millrace-peer-", ".cp");
      try {
        Process mvn =
            new ProcessBuilder(
                    "mvn",
                    "-o",
                    "-q",
                    "-B",
                    "-f",
                    folder.toString(),
                    "dependency:build-classpath",
                    "-Dmdep.outputFile=" + file)
                .redirectErrorStream(true)
                .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .start();
        if (!Timers.system().join(mvn, TimeUnit.SECONDS.toNanos(RESOLVE_SECONDS))) {
          mvn.destroyForcibly();
          return "";
        }
        return mvn.exitValue() == 0 ? Files.readString(file).strip() : "";
      } finally {
        Files.delete(file);
      }
    } catch (IOException e) {
      return "";
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new MillraceException(Code.CANCELLED, "Interrupted while looking for jars.");
    }
  }
}
