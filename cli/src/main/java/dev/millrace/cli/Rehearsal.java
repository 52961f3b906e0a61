package dev.millrace.cli;

import dev.millrace.base.MillraceException;
import dev.millrace.base.Timers;
import dev.millrace.cluster.HeldPorts;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeoutException;
import java.util.function.ToIntFunction;
import java.util.stream.Stream;

/**
 * Runs, in one JVM, what the launcher, a parameter server and a worker of a short job run. A JVM
 * with {@code -XX:AOTCacheOutput} records which classes that takes and which methods are hot; with
 * the file it leaves, later ones start faster ({@code build/run} says how). Loading the file is the
 * JVM's affair: nothing depends on it.
 */
final class Rehearsal {
  /** Enough for the methods of a step to be compiled, and so to be in the record. */
  private static final int STEPS = 500;

  private static final Duration LIMIT = Duration.ofMinutes(3);

  private Rehearsal() {}

  static void main() throws IOException {
    Path folder = Files.createTempDirectory("millrace-rehearsal-");
    // Waits inside have limits of their own, which add up to more.
    Timers.system().later(LIMIT.toNanos(), () -> Runtime.getRuntime().halt(1));
    try {
      Millrace.collectLogs();
      rehearse(folder, STEPS);
    } finally {
      remove(folder);
    }
    System.exit(0);
  }

  /** Runs a launcher, then a job of this many steps, with their files in {@code folder}. */
  static void rehearse(Path folder, int steps) {
    launcher(folder.resolve("logs"));
    job(folder.resolve("job"), steps);
  }

  /** Reads the flags of a job and makes a step of it; then supervises a task that ends at once. */
  private static void launcher(Path logs) {
    Path alone = logs.resolveSibling("alone");
    run(List.of("train", "mnist", "--mode", "local", "--steps", "1", "--log-dir", "" + alone));
    run(List.of("run", "--mode", "local", "--logs", logs.toString(), "--", "sh", "-c", "exit 0"));
  }

  /** A parameter server and a worker that train and save, over sockets. */
  private static void job(Path folder, int steps) {
    try (HeldPorts ports = HeldPorts.take(2)) {
      List<String> both =
          List.of(
              "--steps=" + steps,
              "--log-dir=" + folder,
              "--task_index=0",
              "--ps_hosts=" + ports.addresses().get(0),
              "--worker_hosts=" + ports.addresses().get(1));
      CompletableFuture<Void> ps = start(with(both, "--job_name=ps"));
      CompletableFuture<Void> worker = start(with(both, "--job_name=worker"));
      await(worker);
      await(ps);
    }
  }

  private static List<String> with(List<String> words, String more) {
    List<String> all = new ArrayList<>(words);
    all.add(more);
    return all;
  }

  private static CompletableFuture<Void> start(List<String> words) {
    CompletableFuture<Void> end = new CompletableFuture<>();
    Thread.ofPlatform()
        .name(words.getLast())
        .daemon()
        .start(
            () -> {
              try {
                task(words);
                end.complete(null);
              } catch (RuntimeException e) {
                end.completeExceptionally(e);
              }
            });
    return end;
  }

  private static void await(CompletableFuture<Void> end) {
    try {
      Timers.system().get(end, LIMIT.toNanos());
    } catch (ExecutionException e) {
      throw MillraceException.of(e.getCause());
    } catch (TimeoutException e) {
      throw MillraceException.of(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw MillraceException.of(e);
    }
  }

  private static void run(List<String> words) {
    check(words, out -> Millrace.run(out, out, words.toArray(String[]::new)));
  }

  private static void task(List<String> words) {
    check(words, out -> MnistTask.run(out, out, words.toArray(String[]::new)));
  }

  private static void check(List<String> words, ToIntFunction<PrintWriter> body) {
    StringWriter said = new StringWriter();
    if (body.applyAsInt(new PrintWriter(said)) != 0) {
      throw MillraceException.invalid("The rehearsal of %s failed: %s", words, said);
    }
  }

  private static void remove(Path folder) throws IOException {
    try (Stream<Path> all = Files.walk(folder)) {
      for (Path file : all.sorted(Comparator.reverseOrder()).toList()) {
        Files.delete(file);
      }
    }
  }
}
