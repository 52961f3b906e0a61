package dev.millrace.collective;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.collective.member.JobEntry;
import dev.millrace.collective.member.Member;
import dev.millrace.collective.member.Packet;
import dev.millrace.collective.member.RingCoordinator;
import dev.millrace.collective.member.Token;
import dev.millrace.collective.reduce.ReduceOp;
import dev.millrace.collective.reduce.Reducer;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A job in which every process is a worker, after Horovod's pattern: ranks submit operations by
 * name, in whatever order they come to them, and a thread in the background runs those that all
 * ranks have submitted, small ones together.
 *
 * <p>If a rank dies, all operations of all others end with an error that names it, within seconds;
 * so do those that come after. Ranks that submit different things under one name get an error that
 * says who submitted what, and the ring goes on.
 *
 * <p>Threading: any thread may call any method.
 */
public final class Ring extends Operations implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(Ring.class);
  private static final String JOIN = "join";

  private final Communicator ranks;
  private final RingThread thread;
  private final Consumer<Packet> post;
  private final Map<Request.Key, Operation> submitted = new ConcurrentHashMap<>();
  private final AtomicReference<MillraceException> failure = new AtomicReference<>();
  private volatile Consumer<String> warnings = text -> LOG.warn("{}", text);

  /** Null unless this rank keeps one. */
  private final Timeline timeline;

  private Ring(Communicator ranks, Consumer<Packet> post, Settings settings) {
    this.ranks = ranks;
    this.post = post;
    boolean records = settings.timeline() != null && ranks.rank() == 0;
    this.timeline =
        records ? Timeline.open(settings.timeline(), settings.platform().timers()) : null;
    this.thread = new RingThread(this, ranks, post, timeline, settings);
  }

  /** Joins the job the environment names; without one, a job of this process alone. */
  public static Ring init() {
    return init(Settings.fromEnvironment());
  }

  /** Joins the job the settings name, and returns when all its ranks have joined. */
  public static Ring init(Settings settings) {
    return settings.place().size() == 1 ? initAlone(settings) : initTogether(settings);
  }

  private static Ring initTogether(Settings settings) {
    JobEntry job =
        JobEntry.enter(
            settings.place(),
            settings.terms(),
            settings.platform(),
            (size, post) -> new Negotiator(size, post, settings));
    Member member = job.member();
    // Orders can only come after this rank has submitted something.
    Ring ring = new Ring(Communicator.connect(settings, job, true), member::post, settings);
    member.onService(p -> ring.thread.order(ReductionOrder.unpack(p)));
    // Not on the member's thread, which must stay free to show that this process lives.
    member.onFailure(
        cause -> {
          ring.failure.compareAndSet(null, cause);
          ring.thread.execute(() -> ring.fail(cause));
        });
    return ring;
  }

  /**
   * Starts the coordinator of a job of {@code size} ranks in this process, which need not be one of
   * them, such as a launcher. The ranks' places must say that it runs elsewhere.
   */
  public static RingCoordinator coordinate(
      int size, Settings settings, Token token, InetSocketAddress bind) {
    return RingCoordinator.start(
        size,
        settings.terms(),
        settings.platform(),
        token,
        bind,
        (n, post) -> new Negotiator(n, post, settings));
  }

  /** A ring of one rank negotiates with itself. */
  private static Ring initAlone(Settings settings) {
    AtomicReference<Ring> self = new AtomicReference<>();
    Negotiator negotiator =
        new Negotiator(1, (rank, p) -> self.get().thread.order(reread(p)), settings);
    Consumer<Packet> post =
        p -> {
          synchronized (negotiator) {
            negotiator.onMessage(0, Packet.of(p.toBytes()));
            negotiator.onTick(settings.platform().timers().now());
          }
        };
    self.set(new Ring(Communicator.alone(settings), post, settings));
    return self.get();
  }

  private static ReductionOrder reread(Packet p) {
    return ReductionOrder.unpack(Packet.of(p.toBytes()));
  }

  // ---- who is where ----

  @Override
  public int rank() {
    return ranks.rank();
  }

  @Override
  public int size() {
    return ranks.size();
  }

  /** This rank's number among the ranks of its host. */
  public int localRank() {
    return ranks.hosts().localRank(rank());
  }

  /** How many ranks this rank's host has. */
  public int localSize() {
    return ranks.hosts().localSize(rank());
  }

  /** This rank's number among the ranks of all hosts with the same local rank. */
  public int crossRank() {
    return ranks.hosts().crossRank(rank());
  }

  /** How many ranks of all hosts have the same local rank. */
  public int crossSize() {
    return ranks.hosts().crossSize(rank());
  }

  /** Whether all hosts have equally many ranks. */
  public boolean isHomogeneous() {
    return IntStream.range(0, size()).allMatch(r -> ranks.hosts().localSize(r) == localSize());
  }

  @Override
  List<Integer> members() {
    return List.of();
  }

  /**
   * These ranks as a set of their own. Nothing needs to be announced: ranks that name the same ones
   * mean the same set.
   */
  public ProcessSet processSet(int... some) {
    List<Integer> members = Arrays.stream(some).boxed().sorted().distinct().toList();
    if (members.isEmpty() || members.getFirst() < 0 || members.getLast() >= size()) {
      throw MillraceException.invalid(
          "A process set of ranks %s: there are only ranks 0 to %d.",
          Arrays.toString(some), size() - 1);
    }
    return new ProcessSet(this, members);
  }

  /**
   * A tensor of undefined contents that the caller owns, in memory all ranks of this host can reach
   * where there is such. Reducing it in place is fastest.
   */
  public Tensor allocate(DType dtype, Shape shape) {
    return ranks.allocate(dtype, shape);
  }

  // ---- submitting ----

  @Override
  CompletableFuture<Object> submit(Request request, List<Tensor> tensors, boolean inPlace) {
    return submit(request, tensors, inPlace, null);
  }

  private CompletableFuture<Object> submit(
      Request request, List<Tensor> tensors, boolean inPlace, SequencePass pass) {
    if (!request.members().isEmpty() && !request.members().contains(rank())) {
      throw MillraceException.failedPrecondition(
          "Rank %d submitted '%s' to the process set %s, to which it does not belong.",
          rank(), request.name(), request.members());
    }
    CompletableFuture<Object> result = new CompletableFuture<>();
    Operation o = Operation.of(request, tensors, inPlace, pass, result);
    if (submitted.putIfAbsent(request.key(), o) != null) {
      o.fail(
          new MillraceException(
              Code.ALREADY_EXISTS,
              String.format(
                  "Rank %d submitted '%s' again before its first submission was over. Give each"
                      + " tensor a name of its own, or wait for the result.",
                  rank(), request.name())));
      return result;
    }
    MillraceException known = failure.get();
    if (known != null) {
      end(request.key(), known);
      return result;
    }
    if (timeline != null) {
      timeline.submitted(request);
    }
    Packet p = Packet.empty().putByte(Negotiator.SUBMIT);
    request.write(p);
    post.accept(p);
    return result;
  }

  /**
   * Tensors that are reduced again and again in one order, such as the gradients of a model; all
   * ranks must make it alike. See {@link ReductionSequence}.
   *
   * @param name no other sequence in use has it
   * @param names what the tensors are called in messages
   * @param dtype the type of all of them
   * @param shapes the shape of each
   */
  public ReductionSequence sequence(
      String name, List<String> names, DType dtype, List<Shape> shapes, ReduceOp op) {
    Reducer.of(dtype, op);
    Request r =
        new Request(
            Request.Kind.SEQUENCE, name, members(), op, 0, dtype, List.copyOf(shapes), List.of());
    return new ReductionSequence(names, r, pass -> submit(r, List.of(), false, pass), ranks);
  }

  /**
   * Says that this rank has no more data, for ranks with different amounts of it. Until all ranks
   * have said so, this rank contributes zeros to SUM and AVERAGE all-reduces of all ranks. Returns
   * the rank that was last to join.
   */
  public int join() {
    thread.join(true);
    Request r =
        new Request(Request.Kind.JOIN, JOIN, members(), null, 0, null, List.of(), List.of());
    return (Integer) await(submit(r, List.of(), false));
  }

  // ---- for the ring's thread ----

  /** Takes back operations that are to be run now; null for those this rank has not submitted. */
  List<Operation> take(List<Request> requests) {
    List<Operation> taken = new ArrayList<>();
    requests.forEach(r -> taken.add(submitted.remove(r.key())));
    return taken;
  }

  void end(Request.Key key, MillraceException cause) {
    Operation o = submitted.remove(key);
    if (o != null) {
      o.fail(cause);
    }
  }

  void allJoined(int last) {
    thread.join(false);
    Operation o = submitted.remove(new Request.Key(members(), JOIN));
    if (o != null) {
      o.complete(last);
    }
  }

  /** The first failure, or null. */
  MillraceException failure() {
    return failure.get();
  }

  void warn(String text) {
    warnings.accept(text);
  }

  /** Ends everything with this cause; only the first one counts. */
  void fail(MillraceException cause) {
    failure.compareAndSet(null, cause);
    submitted.keySet().forEach(k -> end(k, failure.get()));
  }

  // ---- ending ----

  /** Gets told about tensors that not all ranks have submitted in time; otherwise it is logged. */
  public void onWarning(Consumer<String> listener) {
    warnings = listener;
  }

  /** Ends the job for all ranks because this one cannot go on; they all learn why. */
  public void abort(Throwable cause) {
    fail(ranks.abort(cause));
  }

  /**
   * Leaves the job. Operations that are not over fail, on this rank at once and on others when they
   * need this rank. Waits a few seconds at most.
   */
  @Override
  public void close() {
    fail(new MillraceException(Code.CANCELLED, "This rank's ring was closed."));
    boolean ended = thread.end();
    if (timeline != null) {
      timeline.close();
    }
    if (ended) {
      ranks.close();
    } else {
      // The thread still works on the communicator's memory, which must then stay.
      ranks.leave();
    }
  }
}
