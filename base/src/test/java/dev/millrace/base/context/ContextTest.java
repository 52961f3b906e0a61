package dev.millrace.base.context;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.millrace.base.config.Config;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** Each context has its own of everything, and the threads it makes run in it. */
class ContextTest {
  /** Notes in a list of the test when it is made and closed. */
  private record Noted(String name, List<String> notes) implements AutoCloseable {
    Noted {
      notes.add("made " + name);
    }

    @Override
    public void close() {
      notes.add("closed " + name);
    }
  }

  private final Context own = Context.of("own", Config.defaults());

  @Test
  void aThreadIsInTheContextOfTheProcessUnlessItIsPutInAnother() {
    assertSame(Context.ofProcess(), Context.current());
    own.run(
        () -> {
          assertSame(own, Context.current());
          Context.ofProcess().run(() -> assertSame(Context.ofProcess(), Context.current()));
          assertSame(own, Context.current());
        });
    assertSame(own, own.<Context, RuntimeException>call(Context::current));
    assertSame(Context.ofProcess(), Context.current());
  }

  @Test
  void theThreadsOfAContextRunInIt() throws Exception {
    CompletableFuture<Context> platform = new CompletableFuture<>();
    own.platform().newThread("t", () -> platform.complete(Context.current())).start();
    assertSame(own, platform.get(60, TimeUnit.SECONDS));
    CompletableFuture<Context> virtual = new CompletableFuture<>();
    own.platform().newVirtualThread("v", () -> virtual.complete(Context.current())).start();
    assertSame(own, virtual.get(60, TimeUnit.SECONDS));
    CompletableFuture<String> pooled = new CompletableFuture<>();
    own.threads("pool-")
        .newThread(() -> pooled.complete(Thread.currentThread().getName() + Context.current()))
        .start();
    assertEquals("pool-0own", pooled.get(60, TimeUnit.SECONDS));
  }

  @Test
  void everyContextHasItsOwnPartsAndGauges() {
    Context.Part<Object> part = Context.Part.of(_ -> new Object());
    Object first = own.get(part);
    assertSame(first, own.get(part));
    Context other = Context.of("other", Config.defaults());
    assertNotSame(first, other.get(part));
    own.gauges().show("a", () -> 1);
    assertEquals(1, own.gauges().now().size());
    assertEquals(0, other.gauges().now().size());
    assertNotSame(own.timers(), other.timers());
  }

  @Test
  void threadsThatAskAtOnceGetTheSamePart() throws Exception {
    for (int round = 0; round < 200; round++) {
      Context.Part<Object> part = Context.Part.of(_ -> new Object());
      CountDownLatch begin = new CountDownLatch(1);
      List<CompletableFuture<Object>> got = new ArrayList<>();
      for (int i = 0; i < 2; i++) {
        CompletableFuture<Object> one = new CompletableFuture<>();
        got.add(one);
        Thread.ofPlatform()
            .start(
                () -> {
                  try {
                    begin.await();
                    one.complete(own.get(part));
                  } catch (InterruptedException e) {
                    one.completeExceptionally(e);
                  }
                });
      }
      begin.countDown();
      assertSame(got.get(0).get(60, TimeUnit.SECONDS), got.get(1).get(60, TimeUnit.SECONDS));
    }
  }

  @Test
  void itsPartsAreClosedTheLastOneFirst() {
    List<String> notes = new ArrayList<>();
    Context.Part<Noted> lower = Context.Part.of(_ -> new Noted("lower", notes));
    Context.Part<Noted> upper =
        Context.Part.of(c -> new Noted("upper on " + c.get(lower).name(), notes));
    own.get(upper);
    own.close();
    own.close();
    assertEquals(
        List.of("made lower", "made upper on lower", "closed upper on lower", "closed lower"),
        notes);
    Context.Part<Object> late = Context.Part.of(_ -> new Object());
    assertThrows(IllegalStateException.class, () -> own.get(late));
    assertThrows(IllegalStateException.class, Context.ofProcess()::close);
  }
}
