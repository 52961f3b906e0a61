package dev.millrace.base.context;

import dev.millrace.base.Gauges;
import dev.millrace.base.Platform;
import dev.millrace.base.Timers;
import dev.millrace.base.config.Config;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;

/**
 * What the parts of a program share: settings, the machine with its clock and threads, gauges, and
 * what modules add as a {@link Part}, such as the pool of tensor memory and the compute threads.
 * Two servers with two contexts in one JVM share none of it. A program that names no context uses
 * {@link #ofProcess}.
 *
 * <p>A session or server takes its context when it is made: the one it is given, or that of the
 * calling thread, {@link #current}. It runs its steps, and all its threads, in that context. So the
 * loops of a kernel find their pool and threads by {@code current()} instead of by a parameter of
 * every loop.
 *
 * <p>Threading: any thread.
 */
public final class Context implements AutoCloseable {
  private static final ScopedValue<Context> CURRENT = ScopedValue.newInstance();
  private static final Context PROCESS =
      new Context("process", Config.ofProcess(), Platform.system());

  /**
   * Something that every context has one of, made at first use. Constants of the classes that need
   * it. A part that is {@link AutoCloseable} is closed with its context.
   *
   * @param <T> its type
   */
  public static final class Part<T> {
    private static final AtomicInteger COUNT = new AtomicInteger();

    private final int index = COUNT.getAndIncrement();
    private final Function<Context, T> maker;

    private Part(Function<Context, T> maker) {
      this.maker = maker;
    }

    /** A part that {@code maker} makes, under the lock of the context: it must not wait. */
    public static <T> Part<T> of(Function<Context, T> maker) {
      return new Part<>(maker);
    }
  }

  private final String name;
  private final Config config;
  private final Platform platform;
  private final Gauges gauges = new Gauges();

  /** The parts made so far, by {@link Part#index}. Replaced, never changed, under this lock. */
  private volatile Object[] parts = new Object[0];

  /** The parts in the order in which they were made. Guarded by this. */
  private final List<Object> made = new ArrayList<>();

  private boolean closed;

  private Context(String name, Config config, Platform platform) {
    this.name = name;
    this.config = config;
    this.platform = new ContextPlatform(this, platform);
  }

  /** A context with these settings, on this machine. The name is for messages and debuggers. */
  public static Context of(String name, Config config) {
    return of(name, config, Platform.ofMachine("millrace-timers-" + name));
  }

  /** A context with these settings, on a platform such as a simulated one. */
  public static Context of(String name, Config config, Platform platform) {
    return new Context(name, config, platform);
  }

  /** The context of programs that name none: this process and its settings. */
  public static Context ofProcess() {
    return PROCESS;
  }

  /** The context that the calling thread runs in: {@link #ofProcess} unless it is in another. */
  public static Context current() {
    return CURRENT.orElse(PROCESS);
  }

  /** Its settings. */
  public Config config() {
    return config;
  }

  /** The machine it runs on. Threads that it makes run in this context. */
  public Platform platform() {
    return platform;
  }

  /** The clock of its platform. */
  public Timers timers() {
    return platform.timers();
  }

  /** The figures that its parts show. */
  public Gauges gauges() {
    return gauges;
  }

  /** Makes daemon threads that run in this context, named {@code prefix} and a number. */
  public ThreadFactory threads(String prefix) {
    AtomicInteger next = new AtomicInteger();
    return body -> platform.newThread(prefix + next.getAndIncrement(), body);
  }

  /** Runs {@code body} on the calling thread in this context. */
  public void run(Runnable body) {
    if (current() == this) {
      body.run();
    } else {
      ScopedValue.where(CURRENT, this).run(body);
    }
  }

  /** The result of {@code body}, run on the calling thread in this context. */
  public <R, X extends Throwable> R call(ScopedValue.CallableOp<R, X> body) throws X {
    return current() == this ? body.call() : ScopedValue.where(CURRENT, this).call(body);
  }

  /** This context's own {@code part}. */
  @SuppressWarnings("unchecked") // Stored by the part's own maker.
  public <T> T get(Part<T> part) {
    Object[] known = parts;
    Object found = part.index < known.length ? known[part.index] : null;
    return found != null ? (T) found : make(part);
  }

  private synchronized <T> T make(Part<T> part) {
    if (part.index < parts.length && parts[part.index] != null) {
      return get(part);
    }
    if (closed) {
      throw new IllegalStateException(
          "The context '" + name + "' is closed. Close it after the sessions and servers in it.");
    }
    T found = part.maker.apply(this);
    Object[] more = Arrays.copyOf(parts, Math.max(parts.length, part.index + 1));
    more[part.index] = found;
    parts = more;
    made.add(found);
    return found;
  }

  /**
   * Closes its parts, the last one first. Sessions and servers in it must have been closed; tensors
   * that are still open stay valid. The context of the process cannot be closed.
   */
  @Override
  public void close() {
    if (this == PROCESS) {
      throw new IllegalStateException("The context of the process ends with it.");
    }
    List<Object> open;
    synchronized (this) {
      closed = true;
      open = List.copyOf(made.reversed());
      made.clear();
    }
    for (Object part : open) {
      if (part instanceof AutoCloseable c) {
        close(c);
      }
    }
  }

  private static void close(AutoCloseable part) {
    try {
      part.close();
    } catch (RuntimeException e) {
      throw e;
    } catch (Exception e) {
      throw new IllegalStateException("a part must not fail to close", e);
    }
  }

  @Override
  public String toString() {
    return name;
  }
}
