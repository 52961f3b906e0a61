package dev.millrace.interop;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.base.ProcessEnvironment;
import dev.millrace.base.Timers;
import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.PrintStream;
import java.io.Writer;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.stream.Collectors;

/**
 * A Java program in a process of its own that can be talked to. Lines it prints with {@link #reply}
 * are its answers; everything else it prints goes to a file. It is told things line by line on its
 * standard input and should end when that does, so that it cannot outlive this process.
 *
 * <p>Threading: any thread may kill it; one at a time may talk to it.
 */
public final class ChildProcess implements AutoCloseable {
  /** Begins an answer on standard output. */
  private static final String MARK = "@ ";

  private static final Duration END = Duration.ofSeconds(10);

  private final String name;
  private final Path log;
  private final Process process;

  /** Answers not yet taken; empty once, at the end of the output. */
  private final LinkedBlockingQueue<Optional<String>> replies = new LinkedBlockingQueue<>();

  private ChildProcess(String name, Path log, Process process) {
    this.name = name;
    this.log = log;
    this.process = process;
  }

  /** Starts {@code main} with the class path of this process. */
  public static ChildProcess start(String name, Class<?> main, List<String> arguments) {
    return start(name, List.of(), main, arguments);
  }

  /** The same in a virtual machine with these options. */
  public static ChildProcess start(
      String name, List<String> options, Class<?> main, List<String> arguments) {
    return start(name, java(options, main, arguments), Map.of());
  }

  /** The command that runs {@code main} with the class path of this process. */
  public static List<String> java(Class<?> main, List<String> arguments) {
    return java(List.of(), main, arguments);
  }

  private static List<String> java(List<String> options, Class<?> main, List<String> arguments) {
    List<String> command = new ArrayList<>();
    command.add(ProcessEnvironment.java().toString());
    command.addAll(
        List.of(
            "--add-modules",
            "jdk.incubator.vector",
            "--enable-native-access=ALL-UNNAMED",
            "--sun-misc-unsafe-memory-access=allow",
            // The heap as build/run has it.
            "-XX:+UseSerialGC",
            "-Xms32m",
            "-Xmn16m",
            "-Xmx1g"));
    command.addAll(options);
    command.addAll(List.of("-cp", classPath(), main.getName()));
    command.addAll(arguments);
    return command;
  }

  /** Starts any program, with these variables of the environment beside those of this process. */
  public static ChildProcess start(
      String name, List<String> command, Map<String, String> environment) {
    try {
      Path log = Files.createTempFile("millrace-" + name.replace('/', '-') + "-", ".log");
      ProcessBuilder builder =
          new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.appendTo(log.toFile()));
      builder.environment().putAll(environment);
      Process process = builder.start();
      ChildProcess child = new ChildProcess(name, log, process);
      Thread.ofVirtual().name("output of " + name).start(child::readOutput);
      return child;
    } catch (IOException e) {
      throw new MillraceException(Code.UNAVAILABLE, name + " cannot be started: " + e, e);
    }
  }

  /** That of this process, also where a launcher has loaded the classes itself. */
  private static String classPath() {
    return ChildProcess.class.getClassLoader() instanceof URLClassLoader loader
        ? Arrays.stream(loader.getURLs())
            .map(URL::getPath)
            .collect(Collectors.joining(File.pathSeparator))
        : ProcessEnvironment.classPath();
  }

  /** For the child: answers its parent with one line. */
  public static void reply(PrintStream out, String line) {
    out.println(MARK + line);
    out.flush();
  }

  /** Sends the child a line. */
  public void send(String line) {
    try {
      Writer in = process.outputWriter(StandardCharsets.UTF_8);
      in.write(line + "\n");
      in.flush();
    } catch (IOException e) {
      throw new MillraceException(
          Code.UNAVAILABLE, "%s does not listen to '%s': %s".formatted(name, line, ended()), e);
    }
  }

  /** The next answer. Fails with the end of the child's output if it ends or takes too long. */
  public String receive(Duration deadline) {
    Optional<String> reply;
    try {
      reply = Timers.system().poll(replies, deadline.toNanos());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new MillraceException(Code.CANCELLED, "Interrupted while waiting for " + name, e);
    }
    if (reply == null) {
      throw new MillraceException(
          Code.DEADLINE_EXCEEDED,
          "%s (pid %d) has not answered for %d s. Its output ends: %s"
              .formatted(name, pid(), deadline.toSeconds(), tail()));
    }
    return reply.orElseThrow(() -> new MillraceException(Code.UNAVAILABLE, ended()));
  }

  public long pid() {
    return process.pid();
  }

  public boolean isAlive() {
    return process.isAlive();
  }

  /** The code it exits with, once it does. */
  public int awaitExit(Duration deadline) {
    try {
      if (process.waitFor(deadline)) {
        return process.exitValue();
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    throw new MillraceException(
        Code.DEADLINE_EXCEEDED,
        "%s (pid %d) has not ended for %d s. Its output ends: %s"
            .formatted(name, pid(), deadline.toSeconds(), tail()));
  }

  /** Where its output goes. Deleted by {@link #close}. */
  public Path log() {
    return log;
  }

  /** Ends it at once, as the system would, and waits until it is gone. */
  public void kill() {
    process.destroyForcibly();
    try {
      if (!process.waitFor(END)) {
        throw new MillraceException(
            Code.DEADLINE_EXCEEDED, "%s (pid %d) does not die.".formatted(name, pid()));
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  @Override
  public void close() {
    kill();
    try {
      Files.deleteIfExists(log);
    } catch (IOException e) {
      throw MillraceException.of(e);
    }
  }

  private void readOutput() {
    try (BufferedReader out = process.inputReader(StandardCharsets.UTF_8)) {
      for (String line = out.readLine(); line != null; line = out.readLine()) {
        if (line.startsWith(MARK)) {
          replies.add(Optional.of(line.substring(MARK.length())));
        } else {
          Files.writeString(log, line + "\n", StandardOpenOption.APPEND);
        }
      }
    } catch (IOException e) {
      // The pipe breaks when the process is killed: the same as its end.
    } finally {
      replies.add(Optional.empty());
    }
  }

  private String ended() {
    return "%s (pid %d) has ended. Its output ends: %s".formatted(name, pid(), tail());
  }

  private String tail() {
    try {
      List<String> lines = Files.readAllLines(log);
      return String.join("\n", lines.subList(Math.max(0, lines.size() - 20), lines.size()));
    } catch (IOException e) {
      return "(" + e + ")";
    }
  }
}
