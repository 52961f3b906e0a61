package dev.millrace.base.leak;

import dev.millrace.base.config.ComputeSettings;
import dev.millrace.base.config.Config;
import java.lang.ref.PhantomReference;
import java.lang.ref.ReferenceQueue;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * What tests ask for leaks. A leak is a resource that the garbage collector finds unreachable while
 * it is held: nobody can release it any more. That is exact, whichever thread took the resource and
 * however many tests run at once, and says nothing of resources that somebody can still release.
 *
 * <p>The garbage collector and the class loader are the process's, so this state is too.
 *
 * <p>Threading: any thread.
 */
public final class LeakCheck {
  /** Whether this process checks. */
  public static final boolean ON = Config.ofProcess().get(ComputeSettings.TENSOR_CHECK);

  /** The watches, which must themselves stay reachable until their resource is not. */
  private static final Set<Watch> WATCHES = ConcurrentHashMap.newKeySet();

  private static final ReferenceQueue<Object> DROPPED = new ReferenceQueue<>();
  private static final Queue<AssertionError> FINDINGS = new ConcurrentLinkedQueue<>();
  private static final AtomicLong TAKEN = new AtomicLong();

  private static volatile String running = "";
  private static volatile boolean recordsPlaces = true;

  private LeakCheck() {}

  /** Watches {@code resource}, which is held from now on. Null unless this process checks. */
  public static @Nullable Watch watch(Object resource) {
    if (!ON) {
      return null;
    }
    Watch w = new Watch(resource, DROPPED);
    WATCHES.add(w);
    w.taken();
    return w;
  }

  /** Has findings about what is taken from now on name {@code tests} as what ran then. */
  public static void running(String tests) {
    running = tests;
  }

  /** Whether the places where resources are taken are recorded, which takes memory of the heap. */
  public static void recordPlaces(boolean records) {
    recordsPlaces = records;
  }

  /** Reports a misuse that somebody else has found, to be seen with the leaks. */
  public static void report(AssertionError finding) {
    FINDINGS.add(finding);
  }

  /** How often resources were taken so far. */
  public static long taken() {
    return TAKEN.get();
  }

  /** A record of this place; what it is thrown for is not known yet. */
  static TakenHere place() {
    TAKEN.incrementAndGet();
    return new TakenHere(running, Thread.currentThread().getName(), recordsPlaces);
  }

  /**
   * What was found since the last call, after the garbage collector has run.
   *
   * @param patience how long to wait for the garbage collector
   */
  public static List<AssertionError> collect(Duration patience) throws InterruptedException {
    PhantomReference<Object> mark = new PhantomReference<>(new Object(), DROPPED);
    System.gc();
    // References of one collection are queued in any order; what comes after the mark is found by
    // the next call at the latest.
    Object seen;
    do {
      seen = DROPPED.remove(patience.toMillis());
      found(seen);
    } while (seen != null && seen != mark);
    for (Object r = DROPPED.poll(); r != null; r = DROPPED.poll()) {
      found(r);
    }
    List<AssertionError> all = new ArrayList<>();
    for (AssertionError e = FINDINGS.poll(); e != null; e = FINDINGS.poll()) {
      all.add(e);
    }
    return all;
  }

  private static void found(Object reference) {
    if (reference instanceof Watch w) {
      WATCHES.remove(w);
      AssertionError leak = w.leak();
      if (leak != null) {
        FINDINGS.add(leak);
      }
    }
  }
}
