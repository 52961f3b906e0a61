package dev.millrace.cluster.link;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import dev.millrace.base.Cancellation;
import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.base.Platform;
import dev.millrace.base.Timers;
import dev.millrace.base.config.ClusterSettings;
import dev.millrace.base.config.Config;
import dev.millrace.base.context.Context;
import dev.millrace.cluster.peer.RunGraph;
import dev.millrace.cluster.peer.StepParts;
import dev.millrace.cluster.peer.StepReport;
import dev.millrace.graph.Rendezvous;
import dev.millrace.net.Admission;
import dev.millrace.net.PeerIdentity;
import dev.millrace.tensor.BufferPool;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.io.IOException;
import java.io.InputStream;
import java.lang.foreign.MemorySegment;
import java.lang.management.ManagementFactory;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Two ends of a link in one process, within a host and by TCP as between hosts. */
class LinkTest {
  private static final Rendezvous.Key KEY =
      Rendezvous.Key.of("/job:a/replica:0/task:0/device:CPU:0", 5, "/job:b/device:CPU:0", "edge");

  /** What arrives, and a step that gives its feeds back, fails, or waits to be cancelled. */
  private static final class Recorder implements LinkService, StepParts {
    final BlockingQueue<List<Object>> delivered = new ArrayBlockingQueue<>(100);
    final CompletableFuture<MillraceException> lost = new CompletableFuture<>();
    final CompletableFuture<Link> linked = new CompletableFuture<>();
    final CountDownLatch waiting = new CountDownLatch(1);
    final CountDownLatch resumed = new CountDownLatch(1);
    final AtomicInteger changes = new AtomicInteger();
    final BlockingQueue<String> sessions = new ArrayBlockingQueue<>(100);
    final BlockingQueue<Long> cleaned = new ArrayBlockingQueue<>(10);

    @Override
    public StepParts parts() {
      return this;
    }

    @Override
    public void used(Link link, String session) {
      sessions.add(session);
    }

    @Override
    public List<Tensor> run(RunGraph call, Cancellation cancellation) {
      return switch (call.graphHandle()) {
        case "fail" -> throw MillraceException.invalid("no such luck");
        case "wait" -> {
          CompletableFuture<Void> end = new CompletableFuture<>();
          cancellation.onCancel(() -> end.complete(null));
          waiting.countDown();
          end.join();
          throw cancellation.cause();
        }
        case "change" -> {
          waiting.countDown();
          await(resumed);
          cancellation.checkLease();
          changes.incrementAndGet();
          yield List.of();
        }
        default -> call.feeds().values().stream().map(Refs::retain).toList();
      };
    }

    private static void await(CountDownLatch latch) {
      try {
        assertTrue(latch.await(20, TimeUnit.SECONDS));
      } catch (InterruptedException e) {
        throw new IllegalStateException(e);
      }
    }

    @Override
    public boolean forgetStep(long stepId) {
      return stepId != 13;
    }

    @Override
    public void cleanupStep(long stepId) {
      cleaned.add(stepId);
    }

    @Override
    public void deliver(long stepId, Rendezvous.Key key, Tensor value) {
      delivered.add(value == null ? List.of(stepId, key) : List.of(stepId, key, value));
    }

    @Override
    public List<Tensor> step(Link link, ClientStep call, Cancellation cancellation) {
      return call.feeds().stream().map(Refs::retain).toList();
    }

    /** Answers with the request, or never, or not at all. */
    @Override
    public CompletableFuture<byte[]> call(
        Link link, String method, byte[] request, Cancellation cancellation) {
      if (method.equals("fail")) {
        throw MillraceException.invalid("no such luck");
      }
      CompletableFuture<byte[]> answer = new CompletableFuture<>();
      if (method.equals("wait")) {
        cancellation.onCancel(() -> answer.completeExceptionally(cancellation.cause()));
        waiting.countDown();
      } else {
        answer.complete(request);
      }
      return answer;
    }

    @Override
    public int messageBytes() {
      return 1 << 20;
    }

    @Override
    public byte[] greeted(byte[] greeting, PeerIdentity proved) {
      if (greeting.length == 0) {
        throw MillraceException.failedPrecondition("an empty greeting");
      }
      return greeting;
    }

    @Override
    public void linked(Link link) {
      linked.complete(link);
    }

    @Override
    public void lost(Link link, MillraceException cause) {
      lost.complete(cause);
    }
  }

  /** Threads that can be stopped, as all of a process are by a signal. */
  private static final class Stoppable implements Executor {
    private final Executor threads;
    private final List<Runnable> held = new ArrayList<>();
    private boolean stopped;
    private boolean exhausted;

    Stoppable(Executor threads) {
      this.threads = threads;
    }

    @Override
    public synchronized void execute(Runnable r) {
      if (exhausted) {
        throw new OutOfMemoryError("unable to create native thread");
      }
      if (stopped) {
        held.add(r);
      } else {
        threads.execute(r);
      }
    }

    synchronized void exhaust(boolean now) {
      exhausted = now;
    }

    synchronized void stop() {
      stopped = true;
    }

    synchronized void resume() {
      stopped = false;
      held.forEach(threads::execute);
      held.clear();
    }
  }

  private final ExecutorService threads = Executors.newCachedThreadPool();
  private final Stoppable theirThreads = new Stoppable(threads);
  private final Recorder here = new Recorder();
  private final Recorder there = new Recorder();
  private Links ours;
  private Links theirs;

  private Link connect(boolean withinHost) throws IOException {
    Config settings = Config.defaults().with(ClusterSettings.LINK_WITHIN_HOST, withinHost);
    Context.of("link", settings).run(this::open);
    Link link = ours.connect("/job:b/replica:0/task:0", "localhost:2", invited());
    assertEquals(withinHost, link.isShared());
    return link;
  }

  private void open() {
    ours =
        new Links(
            "ours",
            new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
            Admission.OPEN,
            here,
            threads,
            Platform.system());
    theirs =
        new Links(
            "theirs",
            new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
            Admission.OPEN,
            there,
            theirThreads,
            Platform.system());
    ours.start();
    theirs.start();
  }

  /** What theirs answer to a greeting of ours. */
  private Greeting invited() {
    TaskIdentity me = new TaskIdentity("/job:a/replica:0/task:0", 1, "localhost:1");
    TaskIdentity other = new TaskIdentity("/job:b/replica:0/task:0", 2, "localhost:2");
    long[] ticket = theirs.invite(me, ours.folder());
    Greeting greeting =
        new Greeting(
            Greeting.VERSION,
            other,
            new byte[0],
            new byte[0],
            theirs.folder(),
            theirs.port(),
            ticket[0],
            ticket[1]);
    return greeting;
  }

  @AfterEach
  void close() throws InterruptedException {
    ours.close();
    theirs.close();
    threads.shutdownNow();
    assertTrue(threads.awaitTermination(10, TimeUnit.SECONDS));
  }

  private static Tensor floats(int n) {
    float[] v = new float[n];
    for (int i = 0; i < n; i++) {
      v[i] = i % 1000;
    }
    return Tensor.vector(v);
  }

  private static RunGraph call(String graph, long stepId, Map<String, Tensor> feeds) {
    return new RunGraph("session", true, graph, stepId, feeds, List.of("k"), new StepReport(false));
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void tensorsOfAllKindsArriveAsTheyWere(boolean withinHost) throws Exception {
    Link link = connect(withinHost);
    long before = BufferPool.current().usedBytes();
    List<Tensor> sent = new ArrayList<>();
    for (int n : new int[] {0, 1, 5000, 9000, 100_000, 3_000_000}) {
      sent.add(floats(n));
    }
    sent.add(Tensor.of(Shape.of(2, 1), "a", "bc"));
    sent.add(Tensor.scalar(true));
    for (int round = 0; round < 3; round++) {
      for (Tensor t : sent) {
        // As a variable is sent, and as any other value.
        Tensor value = round == 1 ? link.stage(t) : Refs.retain(t);
        link.push(7, KEY, value);
      }
      link.push(7, KEY, null);
      for (Tensor t : sent) {
        List<Object> got = there.delivered.poll(20, TimeUnit.SECONDS);
        assertNotNull(got, "nothing came");
        assertEquals(7L, got.get(0));
        assertEquals(KEY, got.get(1));
        Tensor value = (Tensor) got.get(2);
        assertEquals(t.shape(), value.shape());
        assertEquals(t.dtype(), value.dtype());
        if (t.dtype().isPlain()) {
          assertEquals(-1, t.data().mismatch(value.data()));
        } else {
          assertArrayEquals(t.toStrings(), value.toStrings());
        }
        Refs.release(value);
      }
      assertEquals(List.of(7L, KEY), there.delivered.poll(20, TimeUnit.SECONDS));
    }
    sent.forEach(Tensor::close);
    assertTrue(BufferPool.current().usedBytes() <= before, "tensors were not released");
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void callsAreAnsweredFailedAndCancelled(boolean withinHost) throws Exception {
    Link link = connect(withinHost);
    for (int i = 0; i < 100; i++) {
      List<Tensor> r =
          link.runGraph(call("echo", 12, Map.of("k", floats(i * 200))), new Cancellation())
              .get(20, TimeUnit.SECONDS);
      assertEquals(i * 200L, r.getFirst().elements());
      r.forEach(Refs::release);
    }
    ExecutionException failed =
        assertThrows(
            ExecutionException.class,
            () ->
                link.runGraph(call("fail", 13, Map.of()), new Cancellation())
                    .get(20, TimeUnit.SECONDS));
    assertEquals(Code.INVALID_ARGUMENT, MillraceException.of(failed).code());
    assertEquals("no such luck", MillraceException.of(failed).getMessage());
    link.cleanupStep(12);
    link.cleanupStep(13);
    // A step that ended well forgot itself; the one that failed is cleaned up.
    assertEquals(13L, there.cleaned.poll(20, TimeUnit.SECONDS));
    Cancellation cancellation = new Cancellation();
    CompletableFuture<List<Tensor>> waiting =
        link.runGraph(call("wait", 14, Map.of()), cancellation);
    assertTrue(there.waiting.await(20, TimeUnit.SECONDS));
    cancellation.cancel(new MillraceException(Code.CANCELLED, "enough"));
    ExecutionException cancelled =
        assertThrows(ExecutionException.class, () -> waiting.get(20, TimeUnit.SECONDS));
    assertTrue(MillraceException.of(cancelled).isDerived());
  }

  /** Its master may have ended before it could say so. */
  @Test
  void aStepThatFailedIsCleanedUpWithTheLink() throws Exception {
    Link link = connect(false);
    assertThrows(
        ExecutionException.class,
        () ->
            link.runGraph(call("fail", 13, Map.of()), new Cancellation())
                .get(20, TimeUnit.SECONDS));
    link.close();
    assertEquals(13L, there.cleaned.poll(20, TimeUnit.SECONDS));
  }

  @Test
  void theServiceIsToldOfASessionOnceAndOfEachChange() throws Exception {
    Link link = connect(false);
    for (String session : List.of("a", "a", "a", "b", "b", "a")) {
      RunGraph call =
          new RunGraph(session, true, "echo", 12, Map.of(), List.of(), new StepReport(false));
      link.runGraph(call, new Cancellation()).get(20, TimeUnit.SECONDS);
    }
    assertEquals(List.of("a", "b", "a"), List.copyOf(there.sessions));
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void bothEndsPushAtOnceWithoutBlockingEachOther(boolean withinHost) throws Exception {
    Link link = connect(withinHost);
    Link back = there.linked.get(20, TimeUnit.SECONDS);
    Tensor big = floats(2_000_000);
    for (int i = 0; i < 20; i++) {
      link.push(i, KEY, Refs.retain(big));
      back.push(i, KEY, Refs.retain(big));
    }
    for (Recorder r : List.of(here, there)) {
      for (int i = 0; i < 20; i++) {
        List<Object> got = r.delivered.poll(30, TimeUnit.SECONDS);
        assertNotNull(got, "nothing came");
        assertEquals((long) i, got.get(0));
        Refs.release(((Tensor) got.get(2)));
      }
    }
    big.close();
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void aLinkThatIsClosedFailsItsCallsAndTellsTheOtherEnd(boolean withinHost) throws Exception {
    Link link = connect(withinHost);
    CompletableFuture<List<Tensor>> waiting =
        link.runGraph(call("wait", 14, Map.of()), new Cancellation());
    assertTrue(there.waiting.await(20, TimeUnit.SECONDS));
    theirs.close();
    MillraceException cause = here.lost.get(20, TimeUnit.SECONDS);
    assertTrue(cause.getMessage().contains("/job:b/replica:0/task:0"), cause::getMessage);
    assertEquals(
        Code.UNAVAILABLE,
        MillraceException.of(
                assertThrows(ExecutionException.class, () -> waiting.get(20, TimeUnit.SECONDS)))
            .code());
    try (Tensor late = floats(10)) {
      link.push(1, KEY, Refs.retain(late));
      assertEquals(1, Refs.buffer(late).references());
    }
    assertNull(there.delivered.poll());
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void whatWasGivenUpWhileAProcessWasStoppedIsNotChangedAfterwards(boolean withinHost)
      throws Exception {
    Link link = connect(withinHost);
    Link back = there.linked.get(20, TimeUnit.SECONDS);
    theirThreads.stop();
    CompletableFuture<List<Tensor>> call =
        link.runGraph(call("change", 15, Map.of()), new Cancellation());
    assertTrue(there.waiting.await(20, TimeUnit.SECONDS));
    link.lose(new MillraceException(Code.UNAVAILABLE, "silent for too long"));
    assertThrows(ExecutionException.class, () -> call.get(20, TimeUnit.SECONDS));
    // As if it had been stopped for longer than the lease lasts.
    back.expireLease();
    there.resumed.countDown();
    theirThreads.resume();
    there.lost.get(20, TimeUnit.SECONDS);
    assertEquals(15L, there.cleaned.poll(20, TimeUnit.SECONDS));
    assertEquals(0, there.changes.get());
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void whatIsStillWaitedForAfterAProcessWasStoppedIsChanged(boolean withinHost) throws Exception {
    Link link = connect(withinHost);
    Link back = there.linked.get(20, TimeUnit.SECONDS);
    CompletableFuture<List<Tensor>> call =
        link.runGraph(call("change", 15, Map.of()), new Cancellation());
    assertTrue(there.waiting.await(20, TimeUnit.SECONDS));
    back.expireLease();
    there.resumed.countDown();
    call.get(20, TimeUnit.SECONDS);
    assertEquals(1, there.changes.get());
  }

  @ParameterizedTest
  @ValueSource(booleans = {false})
  void whoeverHasNoTicketIsSentAway(boolean withinHost) throws Exception {
    connect(withinHost);
    there.linked.get(20, TimeUnit.SECONDS);
    for (byte[] hello : List.of(new byte[100], "GET / HTTP/1.1\r\n\r\n........".getBytes())) {
      try (Socket s = new Socket(InetAddress.getLoopbackAddress(), theirs.port())) {
        s.setSoTimeout(20_000);
        s.getOutputStream().write(hello);
        InputStream in = s.getInputStream();
        assertEquals(-1, in.read());
      } catch (java.net.SocketException e) {
        // Cut off: as good an answer.
      }
    }
    assertEquals(1, theirs.all().size());
  }

  @Test
  @Timeout(value = 60, unit = TimeUnit.SECONDS)
  void aProcessThatDoesNotAcceptIsNotWaitedForForLong() throws Exception {
    connect(true);
    Path stopped = Path.of(ours.folder()).resolveSibling("link-0-stopped");
    Files.createDirectory(stopped);
    UnixDomainSocketAddress socket = UnixDomainSocketAddress.of(stopped.resolve("socket"));
    try (ServerSocketChannel listener = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
      listener.bind(socket, 1);
      // As many as are taken without being accepted.
      try (SocketChannel _ = SocketChannel.open(socket);
          SocketChannel _ = SocketChannel.open(socket)) {
        TaskIdentity other = new TaskIdentity("/job:b/replica:0/task:1", 3, "localhost:3");
        Greeting greeting =
            new Greeting(
                Greeting.VERSION, other, new byte[0], new byte[0], stopped.toString(), 0, 1, 2);
        assertThrows(IOException.class, () -> ours.connect(other.task(), "localhost:3", greeting));
      }
    } finally {
      Files.deleteIfExists(stopped.resolve("socket"));
      Files.delete(stopped);
    }
  }

  /** Calls something until it does not throw; for at most 20 s. */
  private static <T> T eventually(Callable<T> attempt) throws Exception {
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(20);
    while (true) {
      try {
        return attempt.call();
      } catch (IOException | AssertionError e) {
        if (System.nanoTime() > deadline) {
          throw e;
        }
        Thread.onSpinWait();
      }
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void aProcessOutOfThreadsAcceptsLinksAgainWhenItHasSome(boolean withinHost) throws Exception {
    connect(withinHost);
    theirThreads.exhaust(true);
    for (int i = 0; i < 3; i++) {
      try {
        Link lost = ours.connect("/job:b/replica:0/task:0", "localhost:2", invited());
        eventually(
            () -> {
              assertNotNull(lost.loss());
              return null;
            });
      } catch (IOException e) {
        // Or the connection was refused.
      }
    }
    theirThreads.exhaust(false);
    Link link = eventually(() -> ours.connect("/job:b/replica:0/task:0", "localhost:2", invited()));
    List<Tensor> r =
        link.runGraph(call("echo", 12, Map.of("k", floats(5))), new Cancellation())
            .get(20, TimeUnit.SECONDS);
    assertEquals(5, r.getFirst().elements());
    r.forEach(Refs::release);
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void aProcessOutOfThreadsStillGivesSignsOfLife(boolean withinHost) throws Exception {
    Link link = connect(withinHost);
    there.linked.get(20, TimeUnit.SECONDS);
    theirThreads.exhaust(true);
    // By then frames already in flight have arrived.
    long later = System.nanoTime() + TimeUnit.SECONDS.toNanos(1);
    eventually(
        () -> {
          long now = System.nanoTime();
          assertTrue(now - link.silenceNanos() > later, "nothing has come");
          return null;
        });
    assertNull(link.loss());
  }

  @Test
  void whatIsDoneAgainAndAgainSurvivesAnything() throws Exception {
    connect(false);
    CountDownLatch runs = new CountDownLatch(4);
    ours.every(
        Duration.ofMillis(1),
        () -> {
          runs.countDown();
          throw new OutOfMemoryError("not really");
        });
    assertTrue(runs.await(20, TimeUnit.SECONDS));
  }

  @Test
  void aCrowdThatShowsNoTicketsKeepsNobodyOut() throws Exception {
    connect(false);
    int before = Thread.activeCount();
    List<SocketChannel> crowd = new ArrayList<>();
    try {
      for (int i = 0; i < 600; i++) {
        crowd.add(
            SocketChannel.open(
                new InetSocketAddress(InetAddress.getLoopbackAddress(), theirs.port())));
      }
      assertNull(ours.connect("/job:b/replica:0/task:0", "localhost:2", invited()).loss());
      assertTrue(Thread.activeCount() < before + 100, "each has a thread");
      // The oldest connection was closed.
      crowd.getFirst().socket().setSoTimeout(20_000);
      assertEquals(-1, crowd.getFirst().socket().getInputStream().read());
    } finally {
      for (SocketChannel c : crowd) {
        c.close();
      }
    }
  }

  @Test
  void aTextThatIsSaidToBeLongTakesNoMemoryBeforeItComes() throws Exception {
    connect(false);
    try (ServerSocketChannel listener =
            ServerSocketChannel.open()
                .bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
        SocketChannel liar = SocketChannel.open(listener.getLocalAddress());
        SocketChannel end = listener.accept()) {
      LinkOutput out = new LinkOutput(liar);
      out.putInt(1 << 30);
      out.putLong(0);
      out.flush();
      liar.shutdownOutput();
      ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
      LinkInput in = new LinkInput(end, Timers.system());
      long before = threads.getCurrentThreadAllocatedBytes();
      assertThrows(IOException.class, in::getBytes);
      long taken = threads.getCurrentThreadAllocatedBytes() - before;
      assertTrue(taken < 1 << 20, taken + " bytes");
    }
  }

  @Test
  void whatCouldNotBeWrittenForLackOfAThreadIsWrittenLater() throws Exception {
    connect(false);
    try (ServerSocketChannel listener =
            ServerSocketChannel.open()
                .bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
        SocketChannel sender = SocketChannel.open(listener.getLocalAddress());
        SocketChannel end = listener.accept()) {
      Stoppable few = new Stoppable(threads);
      SendQueue outbox =
          new SendQueue(new LinkOutput(sender), few::execute, e -> {}, Platform.system());
      few.exhaust(true);
      assertThrows(OutOfMemoryError.class, () -> outbox.sendLater(o -> o.putByte(42)));
      few.exhaust(false);
      outbox.startWriter();
      end.socket().setSoTimeout(20_000);
      assertEquals(42, end.socket().getInputStream().read());
    }
  }

  @Test
  void whatIsMadeInTheLinksOwnMemoryIsNotCopied() throws Exception {
    Link link = connect(true);
    assertNull(link.room(DType.FLOAT, Shape.of(10)));
    assertNull(link.room(DType.STRING, Shape.of(1_000_000)));
    Tensor unsent = link.room(DType.FLOAT, Shape.of(100_000));
    long address = unsent.data().address();
    Refs.release(unsent);
    for (int i = 0; i < 3; i++) {
      // What was not sent, and what the other side is done with, is used again.
      Tensor made = link.room(DType.FLOAT, Shape.of(100_000));
      assertEquals(address, made.data().address());
      made.data().fill((byte) i);
      link.push(i, KEY, made);
      link.flush();
      Tensor arrived = (Tensor) there.delivered.poll(10, TimeUnit.SECONDS).get(2);
      assertEquals(-1, arrived.data().mismatch(bytes(400_000, i)));
      Refs.release(arrived);
    }
  }

  private static MemorySegment bytes(int n, int value) {
    byte[] b = new byte[n];
    Arrays.fill(b, (byte) value);
    return MemorySegment.ofArray(b);
  }

  @Test
  void thereIsNoSuchMemoryBetweenHosts() throws Exception {
    assertNull(connect(false).room(DType.FLOAT, Shape.of(100_000)));
  }

  @Test
  void aCallByMethodIsAnsweredOrFailsWithTheOthersCause() throws Exception {
    Link link = connect(false);
    byte[] bytes = new byte[300_000];
    bytes[299_999] = 7;
    assertArrayEquals(
        bytes, link.call("echo", bytes, null, new Cancellation()).get(20, TimeUnit.SECONDS));
    CompletableFuture<byte[]> failed = link.call("fail", bytes, null, new Cancellation());
    MillraceException e = failure(failed);
    assertEquals(Code.INVALID_ARGUMENT, e.code());
    assertEquals("no such luck", e.getMessage());
    MillraceException tooLong =
        failure(link.call("echo", new byte[(1 << 20) + 1], null, new Cancellation()));
    assertEquals(Code.RESOURCE_EXHAUSTED, tooLong.code());
    assertEquals(1, link.call("echo", new byte[1], null, new Cancellation()).get().length);
  }

  @Test
  void aCallByMethodEndsAtItsLimitWhenCancelledAndWithTheLink() throws Exception {
    Link link = connect(false);
    byte[] none = new byte[0];
    MillraceException late =
        failure(link.call("wait", none, Duration.ofMillis(20), new Cancellation()));
    assertEquals(Code.DEADLINE_EXCEEDED, late.code());
    assertTrue(late.getMessage().contains("wait on /job:b"), late.getMessage());
    Cancellation cancellation = new Cancellation();
    CompletableFuture<byte[]> cancelled = link.call("wait", none, null, cancellation);
    cancellation.cancel(new MillraceException(Code.CANCELLED, "given up"));
    assertEquals(Code.ABORTED, failure(cancelled).code());
    CompletableFuture<byte[]> lost = link.call("wait", none, null, new Cancellation());
    theirs.close();
    assertEquals(Code.UNAVAILABLE, failure(lost).code());
  }

  @Test
  void aGreetingIsAnsweredWhereLinksAreAccepted() throws Exception {
    connect(false);
    String at = "127.0.0.1:" + theirs.port();
    assertArrayEquals(
        new byte[] {1, 2}, ours.greet("", at, new byte[] {1, 2}, Duration.ofSeconds(10)));
    MillraceException e =
        assertThrows(
            MillraceException.class, () -> ours.greet("", at, new byte[0], Duration.ofSeconds(10)));
    assertEquals(Code.FAILED_PRECONDITION, e.code());
  }

  private static MillraceException failure(CompletableFuture<?> call) {
    return MillraceException.of(
        assertThrows(ExecutionException.class, () -> call.get(20, TimeUnit.SECONDS)));
  }
}
