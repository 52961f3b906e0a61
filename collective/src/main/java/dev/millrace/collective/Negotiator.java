package dev.millrace.collective;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.base.Timers;
import dev.millrace.collective.member.Packet;
import dev.millrace.collective.member.Service;
import dev.millrace.collective.reduce.ReduceOp;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.IntStream;

/**
 * Decides which operation is run when. Ranks submit operations by name, in whatever order they come
 * to them; when all ranks of a process set have submitted one, and mean the same, it is ready, and
 * all of them are ordered to run it. Since there is one negotiator and it gives everybody the same
 * orders, no two ranks can wait for each other in different operations.
 *
 * <p>Few orders are outstanding at a time. What becomes ready meanwhile waits, and all-reduces of
 * one kind among it go out together as one, up to the fusion limit: the busier the network, the
 * more is fused, and a tensor that comes alone is not held back.
 *
 * <p>Threading: as {@link Service}: one thread.
 */
final class Negotiator implements Service {
  /** Message types from ranks. */
  static final int SUBMIT = 0;

  static final int DONE = 1;

  /** Orders that may be outstanding: one being run, one that follows without a pause. */
  private static final int WINDOW = 2;

  private final int size;
  private final Post post;
  private final long fusionBytes;
  private final boolean tunes;
  private final Duration warning;
  private final Duration deadline;

  /** Submitted by some but not all, in the order in which they were first submitted. */
  private final Map<Request.Key, Submission> pending = new LinkedHashMap<>();

  /** Submitted by all and of one mind, in the order in which they became so. */
  private final Deque<Submission> ready = new ArrayDeque<>();

  /** Ranks whose submission of an operation that has failed already is still to come. */
  private final Map<Request.Key, Set<Integer>> owed = new HashMap<>();

  private final Map<Request.Key, MillraceException> owedCause = new HashMap<>();

  /** Ranks without further data, in the order in which they said so. */
  private final LinkedHashSet<Integer> joined = new LinkedHashSet<>();

  private final Set<Integer> left = new HashSet<>();
  private final Map<Request, BucketTuner> tuners = new HashMap<>();
  private final Set<Long> outstanding = new HashSet<>();
  private final Timers timers;
  private long number;

  Negotiator(int size, Post post, Settings settings) {
    this.size = size;
    this.post = post;
    this.timers = settings.platform().timers();
    this.fusionBytes = settings.fusionBytes();
    this.tunes = settings.tunes();
    this.warning = settings.stallWarning();
    this.deadline = settings.stallDeadline();
  }

  @Override
  public void onMessage(int rank, Packet contents) {
    int type = contents.getByte();
    if (type == DONE) {
      outstanding.remove(contents.getLong());
    } else {
      submit(rank, Request.read(contents));
    }
  }

  private void submit(int rank, Request request) {
    if (request.kind() == Request.Kind.JOIN) {
      join(rank);
      return;
    }
    Set<Integer> debtors = owed.get(request.key());
    if (debtors != null && debtors.remove(rank)) {
      send(rank, new ReductionOrder.Failed(request.key(), owedCause.get(request.key())));
      if (debtors.isEmpty()) {
        owed.remove(request.key());
        owedCause.remove(request.key());
      }
      return;
    }
    Submission s = pending.computeIfAbsent(request.key(), k -> new Submission(k, timers.now()));
    s.byRank.put(rank, request);
    check(s);
  }

  private void join(int rank) {
    joined.add(rank);
    if (joined.size() == size) {
      int last = rank;
      joined.clear();
      sendAll(all(), new ReductionOrder.AllJoined(last));
    } else {
      new ArrayList<>(pending.values()).forEach(this::check);
    }
  }

  private List<Integer> all() {
    return IntStream.range(0, size).boxed().toList();
  }

  private List<Integer> members(Request.Key key) {
    return key.members().isEmpty() ? all() : key.members();
  }

  /** The ranks whose submission is missing, but for those that have joined. */
  private List<Integer> missing(Submission s) {
    return members(s.key).stream()
        .filter(r -> !s.byRank.containsKey(r) && !joined.contains(r))
        .toList();
  }

  /** Looks whether an operation can be run, or never can. */
  private void check(Submission s) {
    List<Integer> missing = missing(s);
    List<Integer> gone = missing.stream().filter(left::contains).toList();
    if (!gone.isEmpty()) {
      fail(
          s,
          Code.FAILED_PRECONDITION,
          "%s left the job without submitting '%s' (%s).",
          Submission.ranks(gone),
          s.key.name(),
          s.describe());
    } else if (missing.isEmpty()) {
      pending.remove(s.key);
      if (!s.agrees()) {
        fail(
            s,
            Code.INVALID_ARGUMENT,
            "The ranks submitted different things as '%s': %s. All must submit the same operation,"
                + " type and shape under one name.",
            s.key.name(),
            s.describe());
      } else if (lacksJoined(s)) {
        fail(
            s,
            Code.FAILED_PRECONDITION,
            "'%s' (%s) cannot be run, because %s has no more data and has joined. Only SUM and"
                + " AVERAGE all-reduces of all ranks go on without some of them.",
            s.key.name(),
            s.first().describe(),
            Submission.ranks(members(s.key).stream().filter(joined::contains).toList()));
      } else {
        ready.add(s);
      }
    }
  }

  /** Whether a rank that has joined would have to contribute something there is no neutral of. */
  private boolean lacksJoined(Submission s) {
    Request r = s.first();
    boolean zerosWillDo =
        (r.kind() == Request.Kind.ALL_REDUCE || r.kind() == Request.Kind.SEQUENCE)
            && (r.op() == ReduceOp.SUM || r.op() == ReduceOp.AVERAGE)
            && s.key.members().isEmpty();
    return !zerosWillDo && s.byRank.size() < members(s.key).size();
  }

  private void fail(Submission s, Code code, String format, Object... args) {
    pending.remove(s.key);
    MillraceException cause = new MillraceException(code, String.format(format, args));
    Set<Integer> debtors = new HashSet<>(missing(s));
    debtors.removeAll(left);
    if (!debtors.isEmpty()) {
      owed.put(s.key, debtors);
      owedCause.put(s.key, cause);
    }
    sendAll(List.copyOf(s.byRank.keySet()), new ReductionOrder.Failed(s.key, cause));
  }

  @Override
  public void onLeft(int rank) {
    left.add(rank);
    new ArrayList<>(pending.values()).forEach(this::check);
  }

  @Override
  public void onTick(long nowNanos) {
    while (!ready.isEmpty() && outstanding.size() < WINDOW) {
      run(nextBatch());
    }
    for (Submission s : new ArrayList<>(pending.values())) {
      watch(s, nowNanos);
    }
  }

  /** The first that is ready, and what can be fused with it. */
  private List<Submission> nextBatch() {
    Submission first = ready.poll();
    List<Submission> batch = new ArrayList<>(List.of(first));
    Request r = first.first();
    if (r.kind() == Request.Kind.ALL_REDUCE) {
      long bytes = r.bytes();
      for (Iterator<Submission> rest = ready.iterator(); rest.hasNext(); ) {
        Submission s = rest.next();
        Request q = s.first();
        boolean alike =
            q.kind() == r.kind()
                && q.op() == r.op()
                && q.dtype() == r.dtype()
                && q.members().equals(r.members());
        if (alike && bytes + q.bytes() <= fusionBytes) {
          bytes += q.bytes();
          batch.add(s);
          rest.remove();
        }
      }
    }
    return batch;
  }

  private void run(List<Submission> batch) {
    Submission first = batch.getFirst();
    List<Integer> members = members(first.key);
    List<Request> requests = batch.stream().map(Submission::first).toList();
    long[] sizes = sizes(first, members);
    long n = number++;
    outstanding.add(n);
    for (int rank : members) {
      send(rank, new ReductionOrder.Run(n, rank == members.getFirst(), requests, sizes));
    }
  }

  private long[] sizes(Submission s, List<Integer> members) {
    return switch (s.first().kind()) {
      case ALL_GATHER ->
          members.stream().mapToLong(r -> s.byRank.get(r).shapes().getFirst().dim(0)).toArray();
      case ALL_TO_ALL ->
          members.stream()
              .flatMapToLong(r -> s.byRank.get(r).splits().stream().mapToLong(v -> v))
              .toArray();
      case SEQUENCE -> new long[] {tuner(s).next(timers.now())};
      default -> new long[0];
    };
  }

  private BucketTuner tuner(Submission s) {
    return tuners.computeIfAbsent(s.first(), r -> new BucketTuner(r.bytes(), fusionBytes, tunes));
  }

  private void watch(Submission s, long nowNanos) {
    long age = nowNanos - s.sinceNanos;
    if (age > deadline.toNanos()) {
      fail(
          s,
          Code.DEADLINE_EXCEEDED,
          "'%s' was submitted %.1f s ago by %s (%s), but not by %s. See the log of the missing"
              + " ranks; all ranks must submit the same names. The limit is the stall deadline.",
          s.key.name(),
          age / 1e9,
          Submission.ranks(List.copyOf(s.byRank.keySet())),
          s.first().describe(),
          Submission.ranks(missing(s)));
    } else if (age > warning.toNanos() && !s.warned) {
      s.warned = true;
      String text =
          String.format(
              "'%s' (%s) was submitted %.1f s ago by %s and still waits for %s. It fails after %.1f"
                  + " s (stall deadline).",
              s.key.name(),
              s.first().describe(),
              age / 1e9,
              Submission.ranks(List.copyOf(s.byRank.keySet())),
              Submission.ranks(missing(s)),
              deadline.toNanos() / 1e9);
      sendAll(members(s.key), new ReductionOrder.Warning(text));
    }
  }

  private void sendAll(List<Integer> ranks, ReductionOrder order) {
    ranks.forEach(r -> send(r, order));
  }

  private void send(int rank, ReductionOrder order) {
    post.send(rank, order.pack());
  }
}
