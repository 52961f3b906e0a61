package dev.millrace.cluster.link;

import dev.millrace.base.Cancellation;
import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.base.Platform;
import dev.millrace.base.Timers;
import dev.millrace.cluster.peer.PushChannel;
import dev.millrace.cluster.peer.RunGraph;
import dev.millrace.cluster.peer.StepParameters;
import dev.millrace.cluster.peer.StepParts;
import dev.millrace.cluster.peer.StepPeer;
import dev.millrace.cluster.peer.StepReport;
import dev.millrace.cluster.spec.ServerLimits;
import dev.millrace.graph.Rendezvous;
import dev.millrace.net.Connection;
import dev.millrace.proto.DeviceStepStats;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;

/**
 * A connection between two Millrace processes, the same at both ends: calls, their answers, and
 * tensors that are pushed. Frames go out through an {@link SendQueue}.
 *
 * <p>Frames come in on one thread. It never writes, so that two processes that send each other much
 * cannot block each other; and when a frame asks it to run something, it first lets another thread
 * go on reading.
 *
 * <p>A call runs under a lease. A side that has heard nothing for the limit of silence ({@code
 * -Dmillrace.link.silence.millis}) gives the link up: its calls fail, and their callers may retry
 * them. The other side may have been stopped and not know this, so it must not run those calls
 * later. Every heartbeat carries the time it was sent and echoes the time of the latest heartbeat
 * from the other side. The echo of one of our heartbeats renews the lease until {@code SILENCE}
 * after that heartbeat was sent: until then the other side has not given us up. A call changes
 * state only while the lease holds. Once it has expired, the call asks for a heartbeat and waits
 * ({@link #checkLease}); a side that has given up sends none.
 *
 * <p>Threading: any thread.
 */
public final class Link implements PushChannel, StepPeer {
  private static final int BEAT = 1;
  private static final int RUN = 2;
  private static final int STEP = 3;
  private static final int CANCEL = 4;
  private static final int DONE = 5;
  private static final int TENSOR = 6;
  private static final int CLEANUP = 7;
  private static final int BYE = 8;
  private static final int HEARTBEAT_REQUEST = 9;
  private static final int CALL = 10;
  private static final int ANSWER = 11;

  /** Flags of calls. */
  private static final int OWN_SESSION = 1;

  private static final int TRACED = 2;
  private static final int DEFAULT = 4;

  /** In place of a step's id: a call that is no part of a step. */
  private static final long NO_PART = 0;

  private static final int KEPT_KEYS = 10_000;
  private static final long LEAVE_NANOS = 200_000_000L;
  private static final long UNUSED_NANOS = 5_000_000_000L;
  private static final long LEASE_WAIT_NANOS = 60_000_000_000L;
  private static final long HEARTBEAT_REQUEST_NANOS = 500_000_000L;

  /** A call of ours that has not been answered. */
  private record Call(long stepId, StepReport report, CompletableFuture<List<Tensor>> answer) {}

  private final TaskIdentity peer;
  private final Connection channel;
  private final LinkInput in;
  private final LinkOutput out;
  private final SharedFiles shared;
  private final LinkService service;
  private final StepParts parts;
  private final Executor threads;
  private final Timers timers;

  private final SendQueue outbox;

  private final AtomicLong callIds = new AtomicLong();
  private final Map<Long, Call> calls = new ConcurrentHashMap<>();

  /** Calls of ours by method that have not been answered. */
  private final Map<Long, CompletableFuture<byte[]>> asked = new ConcurrentHashMap<>();

  private final Map<Long, Cancellation> serving = new ConcurrentHashMap<>();

  /** The session whose step came last over this link. */
  private volatile String usedSession;

  /** Steps that failed here and that the other side has not cleaned up yet. */
  private final Set<Long> failed = ConcurrentHashMap.newKeySet();

  /** Steps the other side has run and not forgotten. */
  private final Set<Long> remembered = ConcurrentHashMap.newKeySet();

  /** Keys that have come before. Touched by the reader only. */
  private final Map<String, Rendezvous.Key> keys = new LinkedHashMap<>();

  private final long silenceLimitNanos;

  /** When the latest heartbeat received was sent, by the other side's clock; 0 if none. */
  private volatile long peerSentNanos;

  /** Until when the other side has certainly not given this link up: the end of the lease. */
  private volatile long leaseEndNanos;

  private final ReentrantLock leaseLock = new ReentrantLock();
  private final Condition leaseRenewed = leaseLock.newCondition();
  private long lastBeatNanos;
  private final AtomicBoolean beatQueued = new AtomicBoolean();
  private final AtomicBoolean isLost = new AtomicBoolean();
  private volatile MillraceException loss;

  Link(
      TaskIdentity peer,
      Connection channel,
      LinkInput in,
      LinkOutput out,
      SharedFiles shared,
      LinkService service,
      Executor threads,
      Platform platform,
      Duration silence) {
    this.silenceLimitNanos = silence.toNanos();
    this.timers = platform.timers();
    this.lastBeatNanos = timers.now();
    this.peer = peer;
    this.channel = channel;
    this.in = in;
    this.out = out;
    this.shared = shared;
    this.service = service;
    this.parts = service.parts();
    this.threads = threads;
    this.outbox = new SendQueue(out, this::execute, this::loseWriting, platform);
    // The handshake has reached the other side, or no call would come from it.
    this.leaseEndNanos = in.openedNanos() + silenceLimitNanos;
    if (shared != null) {
      in.share(shared);
      out.share(shared);
    }
  }

  /** Who is at the other end. */
  public TaskIdentity peer() {
    return peer;
  }

  /** How many bytes have left over it so far. */
  public long sentBytes() {
    return out.sentBytes();
  }

  /** How many bytes have come over it so far. */
  public long receivedBytes() {
    return in.receivedBytes();
  }

  /** Who has been proved to be at the other end, and from where. */
  public Connection connection() {
    return channel;
  }

  /** Whether large tensors go through shared memory. */
  public boolean isShared() {
    return shared != null;
  }

  /** Why the link is gone, or null while it is there. */
  public MillraceException loss() {
    return loss;
  }

  void start() {
    try {
      threads.execute(this::read);
    } catch (Throwable t) {
      lose(MillraceException.of(t));
      throw t;
    }
  }

  // ---- calling ----

  /** Calls the other side to run a part of a step. */
  @Override
  public CompletableFuture<List<Tensor>> runGraph(RunGraph r, Cancellation cancellation) {
    return call(
        r.stepId(),
        r.report(),
        cancellation,
        List.copyOf(r.feeds().values()),
        (o, id, feeds) -> {
          o.putByte(RUN);
          o.putLong(id);
          o.putString(r.sessionHandle());
          o.putByte((r.ownSession() ? OWN_SESSION : 0) | (r.report().isTraced() ? TRACED : 0));
          o.putString(r.graphHandle());
          o.putLong(r.stepId());
          o.putInt(feeds.size());
          int i = 0;
          for (String key : r.feeds().keySet()) {
            o.putString(key);
            o.putTensor(feeds.get(i++));
          }
          putStrings(o, r.fetchKeys());
        });
  }

  /** Has the other side run a step of a session it is the master of. */
  public CompletableFuture<List<Tensor>> step(ClientStep s, Cancellation cancellation) {
    return call(
        NO_PART,
        s.parameters().report(),
        cancellation,
        s.feeds(),
        (o, id, feeds) -> {
          o.putByte(STEP);
          o.putLong(id);
          o.putString(s.sessionHandle());
          putStrings(o, s.feedNames());
          for (Tensor feed : feeds) {
            o.putTensor(feed);
          }
          putStrings(o, s.fetches());
          putStrings(o, s.targets());
          StepParameters how = s.parameters();
          o.putLong(how.timeout() == null ? 0 : how.timeout().toMillis());
          o.putByte((how.defaultTimeout() ? DEFAULT : 0) | (how.report().isTraced() ? TRACED : 0));
          o.putLong(how.collectiveKey());
        });
  }

  private interface CallBody {
    void write(LinkOutput out, long callId, List<Tensor> tensors) throws IOException;
  }

  /** Sends a call whose tensors are kept until it is written. */
  private CompletableFuture<List<Tensor>> call(
      long stepId,
      StepReport report,
      Cancellation cancellation,
      List<Tensor> borrowed,
      CallBody body) {
    long id = callIds.incrementAndGet();
    CompletableFuture<List<Tensor>> answer = new CompletableFuture<>();
    calls.put(id, new Call(stepId, report, answer));
    List<Tensor> tensors = new ArrayList<>(borrowed.size());
    for (Tensor t : borrowed) {
      tensors.add(leaving(Refs.retain(t)));
    }
    outbox.sendNow(
        new SendQueue.Frame() {
          @Override
          public void write(LinkOutput o) throws IOException {
            body.write(o, id, tensors);
          }

          @Override
          public void release() {
            tensors.forEach(Refs::release);
          }
        });
    if (loss != null) {
      failCalls();
    }
    if (!answer.isDone()) {
      Cancellation.Registration onCancel = cancellation.onCancel(() -> cancelCall(id));
      answer.whenComplete((r, e) -> onCancel.close());
    }
    return answer;
  }

  private void cancelCall(long id) {
    outbox.sendLater(
        o -> {
          o.putByte(CANCEL);
          o.putLong(id);
        });
  }

  /**
   * Calls a method of the other side by its name. Fails with DEADLINE_EXCEEDED after {@code
   * timeout}; null for no limit.
   */
  public CompletableFuture<byte[]> call(
      String method, byte[] request, Duration timeout, Cancellation cancellation) {
    long id = callIds.incrementAndGet();
    CompletableFuture<byte[]> answer = new CompletableFuture<>();
    asked.put(id, answer);
    outbox.sendNow(
        o -> {
          o.putByte(CALL);
          o.putLong(id);
          o.putString(method);
          o.putBytes(request);
        });
    if (loss != null) {
      failCalls();
    }
    if (timeout != null && !answer.isDone()) {
      Timers.Timer deadline = timers.later(timeout.toNanos(), () -> overdue(id, method, timeout));
      answer.whenComplete((r, e) -> deadline.cancel());
    }
    if (!answer.isDone()) {
      Cancellation.Registration onCancel = cancellation.onCancel(() -> cancelCall(id));
      answer.whenComplete((r, e) -> onCancel.close());
    }
    return answer;
  }

  private void overdue(long id, String method, Duration timeout) {
    CompletableFuture<byte[]> answer = asked.remove(id);
    if (answer != null) {
      cancelCall(id);
      answer.completeExceptionally(
          new MillraceException(
              Code.DEADLINE_EXCEEDED,
              String.format(
                  Locale.ROOT,
                  "%s on %s had no answer within %.1f s.",
                  method,
                  peer,
                  timeout.toMillis() / 1e3)));
    }
  }

  /** Lets the other side forget a step it ran, if it has not done so by itself. */
  @Override
  public void cleanupStep(long stepId) {
    if (remembered.remove(stepId)) {
      outbox.sendLater(
          o -> {
            o.putByte(CLEANUP);
            o.putLong(stepId);
          });
    }
  }

  /**
   * The same value, if it is large in shared memory where there is room. To copy it while it is
   * written would hold up what else is to go out, signs of life too.
   */
  private Tensor leaving(Tensor value) {
    if (shared == null || value == null || shared.isStaged(value)) {
      return value;
    }
    Tensor copy = shared.stage(value);
    if (copy == null) {
      return value;
    }
    Refs.release(value);
    return copy;
  }

  @Override
  public void push(long stepId, Rendezvous.Key key, Tensor produced) {
    Tensor value = leaving(produced);
    outbox.sendLater(
        new SendQueue.Frame() {
          @Override
          public void write(LinkOutput o) throws IOException {
            o.putByte(TENSOR);
            o.putLong(stepId);
            o.putString(key.full());
            o.putTensor(value);
          }

          @Override
          public void release() {
            if (value != null) {
              Refs.release(value);
            }
          }
        });
  }

  @Override
  public Tensor stage(Tensor value) {
    Tensor copy = shared == null ? null : shared.stage(value);
    return copy != null ? copy : Refs.copy(value);
  }

  @Override
  public Tensor room(DType dtype, Shape shape) {
    return shared == null ? null : shared.room(dtype, shape);
  }

  /** Has everything sent so far written, by this thread unless another is at it. */
  @Override
  public void flush() {
    outbox.flush();
  }

  private static void putStrings(LinkOutput o, List<String> strings) throws IOException {
    o.putInt(strings.size());
    for (String s : strings) {
      o.putString(s);
    }
  }

  // ---- reading ----

  private void read() {
    try {
      while (loss == null) {
        Runnable work = readFrame();
        if (work != null) {
          execute(this::read);
          work.run();
          return;
        }
      }
    } catch (IOException e) {
      lose(gone(e));
    } catch (RuntimeException | Error e) {
      lose(MillraceException.internal("What came from %s could not be read: %s", peer, e));
    }
  }

  private void execute(Runnable r) {
    try {
      threads.execute(r);
    } catch (RejectedExecutionException e) {
      lose(new MillraceException(Code.UNAVAILABLE, "This process is shutting down."));
    }
  }

  /** Reads a frame and does what it says; returns what may take a while, or null. */
  private Runnable readFrame() throws IOException {
    int kind = in.getByte();
    switch (kind) {
      case BEAT -> readBeat();
      case HEARTBEAT_REQUEST -> {
        readBeat();
        sendBeat(BEAT);
      }
      case RUN -> {
        return readRun();
      }
      case STEP -> {
        return readStep();
      }
      case CALL -> {
        return readCall();
      }
      case ANSWER -> readAnswer();
      case CANCEL -> {
        Cancellation c = serving.get(in.getLong());
        if (c != null) {
          c.cancel(
              new MillraceException(Code.ABORTED, "The step was cancelled by " + peer + ".")
                  .asDerived());
        }
      }
      case DONE -> readDone();
      case TENSOR -> {
        long stepId = in.getLong();
        Rendezvous.Key key = key(in.getString());
        parts.deliver(stepId, key, in.getTensor());
      }
      case CLEANUP -> {
        long stepId = in.getLong();
        failed.remove(stepId);
        parts.cleanupStep(stepId);
      }
      case BYE -> lose(new MillraceException(Code.UNAVAILABLE, peer + " is shutting down."));
      default -> throw new IOException("a frame of the unknown kind " + kind);
    }
    return null;
  }

  private Rendezvous.Key key(String full) throws IOException {
    Rendezvous.Key k = keys.get(full);
    if (k == null) {
      if (keys.size() >= KEPT_KEYS) {
        keys.clear();
      }
      try {
        k = Rendezvous.Key.parse(full);
      } catch (MillraceException e) {
        throw new IOException(e.getMessage(), e);
      }
      keys.put(full, k);
    }
    return k;
  }

  private Runnable readRun() throws IOException {
    long id = in.getLong();
    String session = in.getString();
    int flags = in.getByte();
    String graph = in.getString();
    long stepId = in.getLong();
    Map<String, Tensor> feeds = new LinkedHashMap<>();
    int count = in.getCount();
    for (int i = 0; i < count; i++) {
      feeds.put(in.getString(), in.getTensor());
    }
    List<String> fetches = strings();
    Cancellation cancellation = new Cancellation(this::checkLease);
    serving.put(id, cancellation);
    StepReport report = new StepReport((flags & TRACED) != 0);
    RunGraph call =
        new RunGraph(session, (flags & OWN_SESSION) != 0, graph, stepId, feeds, fetches, report);
    return () ->
        serve(
            id,
            stepId,
            report,
            feeds.values(),
            () -> {
              noteUse(session);
              return parts.run(call, cancellation);
            });
  }

  /** Tells the service which session uses this link, unless it was the last that did. */
  private void noteUse(String session) {
    if (!session.equals(usedSession)) {
      service.used(this, session);
      usedSession = session;
    }
  }

  private Runnable readStep() throws IOException {
    long id = in.getLong();
    String session = in.getString();
    List<String> names = strings();
    List<Tensor> feeds = new ArrayList<>();
    for (int i = 0; i < names.size(); i++) {
      feeds.add(in.getTensor());
    }
    List<String> fetches = strings();
    List<String> targets = strings();
    long millis = in.getLong();
    int flags = in.getByte();
    long collectiveKey = in.getLong();
    StepReport report = new StepReport((flags & TRACED) != 0);
    ClientStep call =
        new ClientStep(
            session,
            names,
            feeds,
            fetches,
            targets,
            new StepParameters(
                millis == 0 ? null : Duration.ofMillis(millis),
                (flags & DEFAULT) != 0,
                collectiveKey,
                0,
                report));
    Cancellation cancellation = new Cancellation(this::checkLease);
    serving.put(id, cancellation);
    return () -> serve(id, NO_PART, report, feeds, () -> service.step(this, call, cancellation));
  }

  private Runnable readCall() throws IOException {
    long id = in.getLong();
    String method = in.getString();
    int most = service.messageBytes();
    byte[] request = in.getBytes(most);
    Cancellation cancellation = new Cancellation(this::checkLease);
    serving.put(id, cancellation);
    return () -> {
      CompletableFuture<byte[]> answer;
      try {
        if (request == null) {
          throw tooLong(method, most);
        }
        cancellation.checkLease();
        answer = service.call(this, method, request, cancellation);
      } catch (Throwable t) {
        answer = CompletableFuture.failedFuture(t);
      }
      boolean atOnce = answer.isDone();
      answer.whenComplete(
          (response, e) -> {
            serving.remove(id);
            Answer frame = new Answer(id, e == null ? null : MillraceException.of(e), response);
            if (atOnce) {
              outbox.sendNow(frame);
            } else {
              outbox.sendLater(frame);
            }
          });
    };
  }

  private static MillraceException tooLong(String method, int most) {
    return new MillraceException(
        Code.RESOURCE_EXHAUSTED,
        "The request to "
            + method
            + " is longer than "
            + most
            + " bytes."
            + ServerLimits.raisedBy("message.bytes"));
  }

  /** The answer to a call by method. */
  private record Answer(long id, MillraceException failure, byte[] response)
      implements SendQueue.Frame {
    @Override
    public void write(LinkOutput o) throws IOException {
      o.putByte(ANSWER);
      o.putLong(id);
      putFailure(o, failure);
      if (failure == null) {
        o.putBytes(response);
      }
    }
  }

  private static void putFailure(LinkOutput o, MillraceException failure) throws IOException {
    o.putByte(failure == null ? 0 : failure.code().number());
    if (failure != null) {
      o.putByte(failure.isDerived() ? 1 : 0);
      o.putString(String.valueOf(failure.getMessage()));
    }
  }

  /** The other side's failure, or null if it had none. */
  private MillraceException getFailure() throws IOException {
    int code = in.getByte();
    if (code == 0) {
      return null;
    }
    boolean derived = in.getByte() != 0;
    MillraceException failure = new MillraceException(Code.of(code), in.getString());
    return derived ? failure.asDerived() : failure;
  }

  private void readAnswer() throws IOException {
    long id = in.getLong();
    MillraceException failure = getFailure();
    byte[] response = failure == null ? in.getBytes() : null;
    CompletableFuture<byte[]> answer = asked.remove(id);
    if (answer == null) {
      return;
    }
    // What follows an answer may wait for the next frame.
    execute(
        () -> {
          if (failure != null) {
            answer.completeExceptionally(failure);
          } else {
            answer.complete(response);
          }
        });
  }

  private List<String> strings() throws IOException {
    List<String> strings = new ArrayList<>();
    int count = in.getCount();
    for (int i = 0; i < count; i++) {
      strings.add(in.getString());
    }
    return strings;
  }

  /** Runs what was asked for and answers; {@code stepId} is the step that it is a part of. */
  private void serve(
      long id,
      long stepId,
      StepReport report,
      Iterable<Tensor> feeds,
      Supplier<List<Tensor>> body) {
    List<Tensor> results = List.of();
    MillraceException failure = null;
    boolean left = true;
    try {
      results = body.get();
      left = stepId != NO_PART && !parts.forgetStep(stepId);
    } catch (Throwable t) {
      failure = MillraceException.of(t);
      if (stepId != NO_PART) {
        failed.add(stepId);
      }
    } finally {
      serving.remove(id);
      feeds.forEach(Refs::release);
    }
    List<Tensor> answer = new ArrayList<>(results.size());
    for (Tensor t : results) {
      answer.add(leaving(t));
    }
    outbox.sendNow(new Done(id, failure, left, report, answer));
    if (loss != null && stepId != NO_PART) {
      // Nobody is left to ask for it.
      parts.cleanupStep(stepId);
    }
  }

  /** The answer to a call. */
  private record Done(
      long id, MillraceException failure, boolean left, StepReport report, List<Tensor> results)
      implements SendQueue.Frame {
    @Override
    public void write(LinkOutput o) throws IOException {
      o.putByte(DONE);
      o.putLong(id);
      o.putByte(left ? 1 : 0);
      putFailure(o, failure);
      if (failure != null) {
        putStrings(o, report.awaitedNodes());
        putStrings(o, report.awaitedTensors());
      }
      List<DeviceStepStats> times = report.times();
      o.putInt(times.size());
      for (DeviceStepStats ofDevice : times) {
        o.putBytes(ofDevice.toByteArray());
      }
      o.putInt(results.size());
      for (Tensor t : results) {
        o.putTensor(t);
      }
    }

    @Override
    public void release() {
      results.forEach(Refs::release);
    }
  }

  private void readDone() throws IOException {
    long id = in.getLong();
    boolean left = in.getByte() != 0;
    MillraceException failure = getFailure();
    Call call = calls.get(id);
    StepReport report = call == null ? new StepReport(true) : call.report;
    if (failure != null) {
      report.addAwaited(strings(), strings());
    }
    for (int i = in.getCount(); i > 0; i--) {
      report.addTimes(DeviceStepStats.parseFrom(in.getBytes()));
    }
    List<Tensor> results = new ArrayList<>();
    int count = in.getCount();
    for (int i = 0; i < count; i++) {
      results.add(in.getTensor());
    }
    call = calls.remove(id);
    if (call == null) {
      results.forEach(Refs::release);
      return;
    }
    if (left) {
      remembered.add(call.stepId);
    }
    if (failure != null) {
      call.answer.completeExceptionally(failure);
    } else {
      call.answer.complete(results);
    }
  }

  // ---- life and loss ----

  /** How long nothing has come from the other side. */
  long silenceNanos() {
    return timers.now() - in.lastHeardNanos();
  }

  void excuseSilence() {
    in.excuse();
  }

  /** Sends a heartbeat if the last one is that old. Called by one thread. */
  void beat(long everyNanos) {
    long now = timers.now();
    if (now - lastBeatNanos >= everyNanos) {
      lastBeatNanos = now;
      if (beatQueued.compareAndSet(false, true)) {
        sendBeat(BEAT);
      } else {
        outbox.flushOnVirtualThread();
      }
    }
  }

  private void sendBeat(int kind) {
    outbox.sendOnVirtualThread(
        o -> {
          beatQueued.set(false);
          o.putByte(kind);
          o.putLong(timers.now());
          o.putLong(peerSentNanos);
        });
  }

  private void readBeat() throws IOException {
    peerSentNanos = in.getLong();
    long echo = in.getLong();
    long until = echo + silenceLimitNanos;
    if (echo != 0 && until - leaseEndNanos > 0) {
      leaseLock.lock();
      try {
        leaseEndNanos = until;
        leaseRenewed.signalAll();
      } finally {
        leaseLock.unlock();
      }
    }
  }

  /** Ends the lease: the next change waits until the other side renews it. */
  void expireLease() {
    leaseEndNanos = timers.now() - 1;
  }

  /**
   * Returns while the lease holds; waits for its renewal once it has expired, and throws if the
   * link is lost.
   */
  private void checkLease() {
    if (timers.now() - leaseEndNanos >= 0) {
      awaitLease();
    }
    MillraceException lost = loss;
    if (lost != null) {
      throw lost;
    }
  }

  private void awaitLease() {
    long start = timers.now();
    long now = start;
    try {
      for (; loss == null && now - leaseEndNanos >= 0; now = timers.now()) {
        if (now - start > LEASE_WAIT_NANOS) {
          throw new MillraceException(
              Code.UNAVAILABLE,
              peer
                  + " has not renewed its lease on this step for "
                  + LEASE_WAIT_NANOS / 1_000_000_000
                  + " s, so it may have given the step up. The step fails here; retry it.");
        }
        sendBeat(HEARTBEAT_REQUEST);
        leaseLock.lock();
        try {
          if (loss == null && timers.now() - leaseEndNanos >= 0) {
            timers.await(leaseRenewed, HEARTBEAT_REQUEST_NANOS);
          }
        } finally {
          leaseLock.unlock();
        }
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new MillraceException(Code.CANCELLED, "The step's thread was interrupted.", e);
    }
  }

  /** Gives back shared memory that was not needed for a while. */
  void giveBackUnused() {
    if (shared != null) {
      execute(() -> shared.giveBackUnused(UNUSED_NANOS));
    }
  }

  private void loseWriting(Exception e) {
    lose(
        e instanceof IOException io
            ? gone(io)
            : MillraceException.internal("Writing to %s failed: %s", peer, e));
  }

  private MillraceException gone(IOException e) {
    return new MillraceException(
        Code.UNAVAILABLE,
        peer + " has gone: " + (e.getMessage() == null ? e.toString() : e.getMessage()) + ".",
        e);
  }

  /** Ends the link: calls fail with {@code cause}, and so does what waits for the other side. */
  void lose(MillraceException cause) {
    if (!isLost.compareAndSet(false, true)) {
      return;
    }
    loss = cause;
    leaseLock.lock();
    try {
      leaseRenewed.signalAll();
    } finally {
      leaseLock.unlock();
    }
    try {
      channel.close();
    } catch (IOException e) {
      // It is as closed as it will get.
    }
    outbox.close();
    service.lost(this, cause);
    failCalls();
    for (Cancellation c : serving.values()) {
      c.cancel(cause);
    }
    // Their master is gone, or has failed them: it will not clean them up over this link.
    failed.forEach(parts::cleanupStep);
    if (shared != null) {
      shared.close();
    }
  }

  private void failCalls() {
    for (Long id : List.copyOf(calls.keySet())) {
      Call c = calls.remove(id);
      if (c != null) {
        c.answer.completeExceptionally(loss);
      }
    }
    for (Long id : List.copyOf(asked.keySet())) {
      CompletableFuture<byte[]> answer = asked.remove(id);
      if (answer != null) {
        answer.completeExceptionally(loss);
      }
    }
  }

  /**
   * Closes the link. A last frame tells the other side that this is on purpose; it waits at most
   * {@link #LEAVE_NANOS} to be written, and is left out where the pool has no thread.
   */
  public void close() {
    try {
      outbox.sendLater(o -> o.putByte(BYE));
      outbox.awaitWritten(LEAVE_NANOS);
    } finally {
      lose(new MillraceException(Code.UNAVAILABLE, "This process is shutting down."));
    }
  }
}
