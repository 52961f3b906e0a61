package dev.millrace.cli;

import java.io.File;
import java.io.IOException;
import java.io.Reader;
import java.io.UncheckedIOException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

/** {@code ./millrace} in a process of its own, with the classes under test. */
public final class RunningMillrace implements AutoCloseable {
  private static final long PATIENCE_SECONDS = 250;

  private final Process process;
  private final Printed out;
  private final Printed err;

  private RunningMillrace(Process process) {
    this.process = process;
    out = new Printed(process.inputReader(StandardCharsets.UTF_8));
    err = new Printed(process.errorReader(StandardCharsets.UTF_8));
  }

  public static RunningMillrace start(String... args) throws IOException {
    return start(Map.of(), args);
  }

  /**
   * With these variables. Unless they say otherwise the processes are not compiled for speed: they
   * live for seconds.
   */
  public static RunningMillrace start(Map<String, String> environment, String... args)
      throws IOException {
    List<String> command = new ArrayList<>();
    if (ignoresInterrupts()) {
      command.addAll(List.of("env", "--default-signal=INT"));
    }
    command.add(sourceTree().resolve("millrace").toString());
    command.addAll(List.of(args));
    ProcessBuilder b = new ProcessBuilder(command);
    b.environment().put("MILLRACE_JAVA_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC");
    b.environment().putAll(environment);
    b.environment().put("MILLRACE_CLASS_PATH", classPath());
    b.environment().put("JAVA_HOME", System.getProperty("java.home"));
    Process p = b.start();
    p.getOutputStream().close();
    return new RunningMillrace(p);
  }

  /** Whether Ctrl-C is without effect here, as in what a script starts in the background. */
  private static boolean ignoresInterrupts() throws IOException {
    Path status = Path.of("/proc/self/status");
    if (!Files.exists(status)) {
      return false;
    }
    return Files.readAllLines(status).stream()
        .filter(line -> line.startsWith("SigIgn:"))
        .anyMatch(line -> (Long.parseUnsignedLong(line.substring(7).strip(), 16) & 2) != 0);
  }

  /** The class path of the tests, also where a launcher of tests has one of its own. */
  public static String classPath() {
    if (RunningMillrace.class.getClassLoader() instanceof URLClassLoader loader) {
      return Arrays.stream(loader.getURLs())
          .map(URL::getPath)
          .collect(Collectors.joining(File.pathSeparator));
    }
    return System.getProperty("java.class.path");
  }

  /** The folder with the script: this one or one above it. */
  public static Path sourceTree() {
    Path dir = Path.of("").toAbsolutePath();
    while (!Files.exists(dir.resolve("millrace"))) {
      dir = dir.getParent();
    }
    return dir;
  }

  /** Waits until it has printed {@code text}; fails if it ends before. */
  public void awaitOutput(String text) throws InterruptedException {
    out.await(text);
  }

  /** Likewise on standard error. */
  void awaitError(String text) throws InterruptedException {
    err.await(text);
  }

  /** What one of its streams has brought. */
  private static final class Printed {
    /** Guarded by itself, and notified of more. */
    private final StringBuilder text = new StringBuilder();

    private final CompletableFuture<String> all;

    Printed(Reader in) {
      all = CompletableFuture.supplyAsync(() -> follow(in), Thread::startVirtualThread);
    }

    private String follow(Reader in) {
      try (in) {
        char[] some = new char[1024];
        for (int n = in.read(some); n >= 0; n = in.read(some)) {
          synchronized (text) {
            text.append(some, 0, n);
            text.notifyAll();
          }
        }
        return text.toString();
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }

    void await(String wanted) throws InterruptedException {
      long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(PATIENCE_SECONDS);
      synchronized (text) {
        while (text.indexOf(wanted) < 0) {
          long left = TimeUnit.NANOSECONDS.toMillis(deadline - System.nanoTime());
          if (left <= 0 || all.isDone()) {
            throw new AssertionError("no '" + wanted + "' in: " + text);
          }
          text.wait(Math.min(left, 500));
        }
      }
    }

    String all() {
      return all.orTimeout(PATIENCE_SECONDS, TimeUnit.SECONDS).join();
    }
  }

  public Process process() {
    return process;
  }

  public int awaitExit() throws InterruptedException {
    if (!process.waitFor(PATIENCE_SECONDS, TimeUnit.SECONDS)) {
      throw new AssertionError("not ended after " + PATIENCE_SECONDS + " s");
    }
    return process.exitValue();
  }

  public String out() {
    return out.all();
  }

  public String err() {
    return err.all();
  }

  @Override
  public void close() {
    process.destroy();
  }
}
