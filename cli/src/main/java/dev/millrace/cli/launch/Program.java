package dev.millrace.cli.launch;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.base.ProcessEnvironment;
import java.io.File;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/** The command a user gives for the tasks of a job. */
public final class Program {
  /**
   * A cache of classes linked ahead of time is of our own class path; with another one, the JVM
   * would also do without the cache of the JDK's classes.
   */
  private static final String CACHE = "-XX:AOTCache=";

  private Program() {}

  /**
   * Words that begin with a flag are arguments of {@code java}; any others are a program and its
   * arguments.
   */
  static List<String> of(List<String> words) {
    return words.getFirst().startsWith("-")
        ? java(withoutCache(ownOptions()), words)
        : executable(words);
  }

  /** The {@code java} of this process, with its options, and {@code words} as more arguments. */
  public static List<String> java(List<String> words) {
    return java(ownOptions(), words);
  }

  private static List<String> ownOptions() {
    return ManagementFactory.getRuntimeMXBean().getInputArguments();
  }

  static List<String> withoutCache(List<String> options) {
    return options.stream().filter(o -> !o.startsWith(CACHE)).toList();
  }

  private static List<String> java(List<String> options, List<String> words) {
    boolean collector = words.stream().anyMatch(Program::choosesCollector);
    List<String> command = new ArrayList<>();
    command.add(ProcessEnvironment.java().toString());
    options.stream()
        .filter(o -> !(collector && (choosesCollector(o) || o.startsWith("-Xmn"))))
        .forEach(command::add);
    command.addAll(words);
    return command;
  }

  private static boolean choosesCollector(String option) {
    return option.matches("-XX:\\+Use\\w+GC");
  }

  /** The words, if the first names a program that can be started here. */
  static List<String> executable(List<String> words) {
    String name = words.getFirst();
    Stream<Path> candidates =
        name.contains("/")
            ? Stream.of(ProcessEnvironment.workingFolder().resolve(name))
            : Stream.of(
                    ProcessEnvironment.variables()
                        .getOrDefault("PATH", "")
                        .split(File.pathSeparator))
                .map(folder -> Path.of(folder, name));
    List<Path> files = candidates.filter(Files::isRegularFile).toList();
    if (files.isEmpty()) {
      throw new MillraceException(
          Code.NOT_FOUND, "Cannot start '" + name + "': there is no such file or program.");
    }
    if (files.stream().noneMatch(Files::isExecutable)) {
      throw new MillraceException(
          Code.PERMISSION_DENIED, "Cannot start '" + name + "': it is not executable.");
    }
    return words;
  }
}
