package dev.millrace.interop;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.base.Timers;
import dev.millrace.base.config.Config;
import dev.millrace.base.config.TestSettings;
import java.io.IOException;
import java.io.InputStream;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/**
 * A Python with TensorFlow, to run scripts that are resources of this package. It is the one named
 * by {@code -Dmillrace.python}, or a virtual environment in the user's cache folder, made by pip at
 * the first use, which takes minutes.
 *
 * <p>Threading: all methods may be called from any thread.
 */
public final class PythonTensorFlow {
  private static final List<String> PACKAGES =
      List.of("tensorflow-cpu>=2.16", "tensorboard", "pyarrow");
  private static final Duration INSTALL = Duration.ofMinutes(10);
  private static final Duration IMPORT = Duration.ofMinutes(2);

  private final String python;
  private final String version;

  private PythonTensorFlow(String python) {
    this.python = python;
    this.version =
        execute(List.of(python, "-c", "import tensorflow; print(tensorflow.__version__)"), IMPORT)
            .strip();
  }

  private static final class Found {
    static final PythonTensorFlow PYTHON;
    static final MillraceException WHY_NOT;

    static {
      PythonTensorFlow python = null;
      MillraceException whyNot = null;
      try {
        python = new PythonTensorFlow(locate());
      } catch (IOException | RuntimeException e) {
        whyNot =
            new MillraceException(
                Code.FAILED_PRECONDITION,
                "There is no Python with TensorFlow: "
                    + e.getMessage()
                    + " Name one by -Dmillrace.python=/path/to/python, with "
                    + String.join(" and ", PACKAGES)
                    + " installed.",
                e);
      }
      PYTHON = python;
      WHY_NOT = whyNot;
    }
  }

  /** The Python to use. Throws FAILED_PRECONDITION, always the same one, where there is none. */
  public static PythonTensorFlow find() {
    if (Found.PYTHON == null) {
      throw Found.WHY_NOT;
    }
    return Found.PYTHON;
  }

  /** The version of its TensorFlow, such as {@code 2.21.0}. */
  public String version() {
    return version;
  }

  /**
   * Runs a script and returns what it prints to standard output. Fails with the end of its standard
   * error if it fails, and when it takes longer than {@code deadline}.
   *
   * @param script the file name of a resource of this package
   */
  public String run(String script, List<String> arguments, Duration deadline) {
    return execute(command(script, arguments), deadline);
  }

  /** The command that runs a script that is a resource of this package. */
  public List<String> command(String script, List<String> arguments) {
    List<String> command = new ArrayList<>(List.of(python, resource(script).toString()));
    command.addAll(arguments);
    return command;
  }

  /** Starts Python beside this process; what it prints goes to {@code log}. */
  public Process start(List<String> arguments, Path log) {
    List<String> command = new ArrayList<>(List.of(python));
    command.addAll(arguments);
    ProcessBuilder builder =
        new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(log.toFile());
    builder.environment().putAll(Map.of("CUDA_VISIBLE_DEVICES", "-1", "PYTHONUNBUFFERED", "1"));
    try {
      Process process = builder.start();
      process.getOutputStream().close();
      return process;
    } catch (IOException e) {
      throw new MillraceException(Code.UNAVAILABLE, e.getMessage(), e);
    }
  }

  /** Starts a script that is a resource of this package beside this process. */
  public Process startScript(String script, List<String> arguments, Path log) {
    List<String> all = new ArrayList<>(List.of(resource(script).toString()));
    all.addAll(arguments);
    return start(all, log);
  }

  /** The resource of this name as a file, for programs that are started another way. */
  public static Path resource(String name) {
    try (InputStream in = PythonTensorFlow.class.getResourceAsStream(name)) {
      if (in == null) {
        throw MillraceException.invalid("No script '%s' beside %s.", name, PythonTensorFlow.class);
      }
      Path folder = Files.createTempDirectory("millrace-python-");
      Path file = folder.resolve(name);
      Files.copy(in, file);
      // Deleted in the reverse order.
      folder.toFile().deleteOnExit();
      file.toFile().deleteOnExit();
      return file;
    } catch (IOException e) {
      throw MillraceException.of(e);
    }
  }

  private static String locate() throws IOException {
    Optional<String> named = Config.ofProcess().find(TestSettings.PYTHON);
    if (named.isPresent()) {
      return named.get();
    }
    Path cache = Files.createDirectories(Caches.folder());
    Path environment = cache.resolve("python-tensorflow");
    String python = environment.resolve("bin/python").toString();
    Path ready = environment.resolve("ready");
    try (FileChannel channel =
            FileChannel.open(
                cache.resolve("python-tensorflow.lock"),
                StandardOpenOption.CREATE,
                StandardOpenOption.WRITE);
        FileLock lock = channel.lock()) {
      assert lock.isValid();
      if (!Files.exists(ready)) {
        System.out.println("Installing TensorFlow for Python into " + environment + " ...");
        execute(List.of("python3", "-m", "venv", "--clear", environment.toString()), IMPORT);
        List<String> pip = new ArrayList<>(List.of(python, "-m", "pip", "install", "--quiet"));
        // An index that cannot be reached is not worth five attempts per package.
        pip.addAll(List.of("--retries", "1", "--disable-pip-version-check"));
        pip.addAll(PACKAGES);
        execute(pip, INSTALL);
        Files.createFile(ready);
      }
    }
    return python;
  }

  private static String execute(List<String> command, Duration deadline) {
    try {
      Path out = Files.createTempFile("millrace-python-", ".out");
      Path err = Files.createTempFile("millrace-python-", ".err");
      try {
        ProcessBuilder builder =
            new ProcessBuilder(command).redirectOutput(out.toFile()).redirectError(err.toFile());
        builder.environment().putAll(Map.of("CUDA_VISIBLE_DEVICES", "-1"));
        Process process = builder.start();
        process.getOutputStream().close();
        if (!ended(process, deadline)) {
          throw new MillraceException(
              Code.DEADLINE_EXCEEDED,
              "'%s' took longer than %d s. %s"
                  .formatted(shown(command), deadline.toSeconds(), tail(err)));
        }
        if (process.exitValue() != 0) {
          throw new MillraceException(
              Code.UNKNOWN,
              "'%s' ended with %d. %s".formatted(shown(command), process.exitValue(), tail(err)));
        }
        return Files.readString(out);
      } finally {
        Files.delete(out);
        Files.delete(err);
      }
    } catch (IOException e) {
      throw new MillraceException(Code.UNAVAILABLE, e.getMessage(), e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new MillraceException(Code.CANCELLED, "Interrupted in " + shown(command), e);
    }
  }

  /** Waits for the process; it does not outlive the wait, however that ends. */
  private static boolean ended(Process process, Duration deadline) throws InterruptedException {
    try {
      return Timers.system().join(process, TimeUnit.MILLISECONDS.toNanos(deadline.toMillis()));
    } finally {
      process.destroyForcibly();
    }
  }

  private static String shown(List<String> command) {
    return String.join(" ", command.subList(0, Math.min(6, command.size())));
  }

  private static String tail(Path file) throws IOException {
    String text = Files.readString(file).strip();
    return text.substring(Math.max(0, text.length() - 2000));
  }
}
