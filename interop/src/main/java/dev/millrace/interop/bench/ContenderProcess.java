package dev.millrace.interop.bench;

import dev.millrace.interop.ChildProcess;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * A contender in a process of its own, as it must be where a runtime takes its settings once per
 * process: TensorFlow fixes the number of threads within an op by its first session.
 */
public final class ContenderProcess implements Contender {
  /**
   * Makes a contender from the arguments its process was given. Needs a constructor without any.
   */
  public interface Maker {
    Contender make(List<String> arguments);
  }

  private static final Duration START = Duration.ofSeconds(90);

  /** What a run may take beyond its duration: one step more, on a busy machine. */
  private static final Duration LATE = Duration.ofSeconds(60);

  private final ChildProcess process;
  private String name;
  private Duration running;

  private ContenderProcess(ChildProcess process) {
    this.process = process;
  }

  /** Starts a process for a contender, which must be {@link #awaitReady awaited}. */
  public static ContenderProcess launch(Class<? extends Maker> maker, List<String> arguments) {
    return launch(List.of(), maker, arguments);
  }

  private static ContenderProcess launch(
      List<String> options, Class<? extends Maker> maker, List<String> arguments) {
    List<String> all = new ArrayList<>(List.of(maker.getName()));
    all.addAll(arguments);
    return new ContenderProcess(
        ChildProcess.start(maker.getSimpleName(), options, Main.class, all));
  }

  /** A contender that is another program, which talks as {@link Main} does; ready when returned. */
  static ContenderProcess of(ChildProcess program) {
    return new ContenderProcess(program).awaitReady();
  }

  /** Starts a process for a contender that is ready when this returns. */
  public static ContenderProcess start(Class<? extends Maker> maker, List<String> arguments) {
    return launch(maker, arguments).awaitReady();
  }

  /** The same in a virtual machine with these options. */
  public static ContenderProcess start(
      List<String> options, Class<? extends Maker> maker, List<String> arguments) {
    return launch(options, maker, arguments).awaitReady();
  }

  /** Waits until the contender has been made. */
  public ContenderProcess awaitReady() {
    try {
      name = process.receive(START);
      return this;
    } catch (RuntimeException | Error e) {
      close();
      throw e;
    }
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public Sample run(Duration duration) {
    begin(duration);
    return end();
  }

  /** Lets the contender run, without waiting for {@link #end}. */
  void begin(Duration duration) {
    running = duration;
    process.send(Long.toString(duration.toMillis()));
  }

  Sample end() {
    return Sample.ofLine(process.receive(running.plus(LATE)));
  }

  @Override
  public void close() {
    process.close();
  }

  /** The program of the process. */
  static final class Main {
    private Main() {}

    static void main(String[] args) throws ReflectiveOperationException, IOException {
      Maker maker =
          Class.forName(args[0]).asSubclass(Maker.class).getDeclaredConstructor().newInstance();
      Contender contender = maker.make(List.of(args).subList(1, args.length));
      ChildProcess.reply(System.out, contender.name());
      BufferedReader in =
          new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
      for (String line = in.readLine(); line != null; line = in.readLine()) {
        Duration duration = Duration.ofMillis(Long.parseLong(line));
        ChildProcess.reply(System.out, contender.run(duration).toLine());
      }
      Runtime.getRuntime().halt(0);
    }
  }
}
