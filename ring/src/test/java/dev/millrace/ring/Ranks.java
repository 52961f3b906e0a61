package dev.millrace.ring;

import dev.millrace.collective.Ring;
import dev.millrace.collective.Settings;
import dev.millrace.collective.member.RankConfig;
import dev.millrace.collective.member.Timeouts;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;

/** Ranks that are threads of the test but join and talk as processes do. */
final class Ranks {
  /** Patient enough for a busy machine. */
  private static final Timeouts TERMS =
      new Timeouts(Duration.ofSeconds(30), Duration.ofSeconds(20), Duration.ofSeconds(5));

  /** What one rank does. */
  interface Body<T> {
    T run(Ring ring) throws Exception;
  }

  private Ranks() {}

  /** How rank {@code r} joins {@code job}. */
  static Settings settings(int r, int size, String job) {
    RankConfig place = new RankConfig(r, size, null, null, null, "127.0.0.1", job, r == 0);
    return Settings.of(place).withTerms(TERMS);
  }

  /** Runs the body as each of {@code size} ranks; the results in order of rank. */
  static <T> List<T> run(int size, Body<T> body) {
    String job = "test-" + UUID.randomUUID();
    List<FutureTask<T>> tasks = new ArrayList<>();
    for (int r = 0; r < size; r++) {
      Settings settings = settings(r, size, job);
      FutureTask<T> task =
          new FutureTask<>(
              () -> {
                try (Ring ring = Ring.init(settings)) {
                  return body.run(ring);
                }
              });
      Thread.ofPlatform().name("rank-" + r).daemon().start(task);
      tasks.add(task);
    }
    List<T> results = new ArrayList<>();
    for (FutureTask<T> t : tasks) {
      try {
        results.add(t.get(60, TimeUnit.SECONDS));
      } catch (ExecutionException e) {
        throw new CompletionException(e.getCause());
      } catch (Exception e) {
        throw new CompletionException(e);
      }
    }
    return results;
  }
}
