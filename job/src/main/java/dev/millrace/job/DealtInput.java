package dev.millrace.job;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.base.steps.StepClock;
import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.job.ending.TaskEnding;
import dev.millrace.job.input.DealtData;
import dev.millrace.job.input.InputLedger;
import dev.millrace.job.input.PartSizes;
import dev.millrace.ops.array.Placeholder;
import dev.millrace.ops.array.Slice;
import dev.millrace.ops.state.Scatter;
import dev.millrace.ring.RingOps;
import dev.millrace.runtime.Session;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.data.Dataset;
import dev.millrace.train.data.Elements;
import dev.millrace.train.hook.Coordinator;
import dev.millrace.train.hook.SessionRunArgs;
import dev.millrace.train.hook.SessionRunContext;
import dev.millrace.train.hook.SessionRunHook;
import dev.millrace.train.hook.SessionRunValues;
import dev.millrace.train.variable.GraphVariable;
import dev.millrace.train.variable.Initializers;
import dev.millrace.train.variable.VariableScope;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Feeds every step with the next batch that falls to this worker, and notes in the {@link
 * InputLedger}, a variable beside the model, how far it is. The note is written in the step that
 * trains the batch and saved with the model.
 *
 * <p>Each rank of a ring has its own copy of the ledger. The ranks gather their notes in every
 * step, so rank 0 saves those of all. With them travels whether a rank is to end, as {@link
 * TaskEnding} has it: all ranks end after the same step.
 *
 * <p>Threading: used by the thread of the steps.
 */
final class DealtInput implements SessionRunHook {
  private static final int PREFETCHED = 4;

  private final Dataset data;
  private final ModelGraph graph;
  private final TrainingPlan plan;
  private final int worker;
  private final int workers;
  private final TaskEnding ending;
  private final GraphVariable table;
  private final Output rows;
  private final Output next;

  /** What all ranks have said; null outside of a ring. */
  private final Output gathered;

  private final Node write;
  private final Output headerRows;
  private final Output header;
  private final Node begin;
  private final PartSizes sizes;
  private InputLedger ledger;

  /** Whether the job ends by epochs and all workers make every step together. */
  private final boolean counted;

  /** How many steps this worker has still to make, if they are counted. */
  private long left;

  private Elements elements;

  /** The next batch; null if it was not asked for yet, or there is none. */
  private Tensor[] ahead;

  /** Whether the elements have ended: those of the last epoch. */
  private boolean ended;

  private Map<Output, Tensor> fed = Map.of();

  /** The position of the elements behind the batch that is fed. */
  private long[] fedTo = {};

  /**
   * For worker {@code worker} of {@code workers}.
   *
   * @param ring whether the workers are ranks of a ring, by whose ops they gather
   * @param trained what must have run before a batch is noted; null where it may be beside
   */
  DealtInput(
      Scope scope,
      Dataset data,
      ModelGraph graph,
      TrainingPlan plan,
      int worker,
      int workers,
      boolean ring,
      Node trained,
      TaskEnding ending) {
    this.data = data;
    this.graph = graph;
    this.plan = plan;
    this.worker = worker;
    this.workers = workers;
    this.ending = ending;
    this.sizes = new PartSizes(data);
    this.counted = plan.endsByEpochs() && (plan.mode() == Mode.SYNC || plan.mode() == Mode.RING);
    table =
        VariableScope.of(scope)
            .withTrainable(false)
            .variable(
                "input_ledger",
                DType.INT64,
                Shape.of(InputLedger.ROWS, InputLedger.COLUMNS),
                Initializers.zeros());
    Scope own = scope.withSubScope("input_ledger").colocatedWith(table.node());
    rows = Placeholder.of(own.withName("rows"), DType.INT32, Shape.of(-1));
    int columns = InputLedger.COLUMNS;
    next =
        Placeholder.of(
            own.withName("next"), DType.INT64, Shape.of(1, ring ? columns + 1 : columns));
    gathered = ring ? RingOps.allGather(own, next) : null;
    Output notes =
        ring ? Slice.of(own, gathered, new int[] {0, 0}, new int[] {workers, columns}) : next;
    Scope after = trained == null ? own : own.withControlInputs(trained);
    write = Scatter.update(after, table.handle(), rows, notes);
    headerRows = Placeholder.of(own.withName("header_rows"), DType.INT32, Shape.of(1));
    header = Placeholder.of(own.withName("header"), DType.INT64, Shape.of(1, columns));
    begin = Scatter.update(own, table.handle(), headerRows, header);
  }

  /** Goes on where the model does that the session has, as restored or as it is on the servers. */
  @Override
  public void afterCreateSession(Session session, Coordinator coordinator) {
    close();
    try (Tensor t = session.fetch(table.read())) {
      int parts = DealtData.parts(data, 0).size();
      ledger = InputLedger.of(t.toLongs(), workers, parts);
    }
    // All workers write the same, whoever is first.
    try (Tensor row = Tensor.vector(ledger.header());
        Tensor count = Tensor.of(Shape.of(1, InputLedger.COLUMNS), ledger.headerRow())) {
      session
          .run(Map.of(headerRows, row, header, count), List.of(), List.of(begin))
          .forEach(Tensor::close);
    }
    left = counted ? stepsLeft() : 0;
    ended = false;
    long last = plan.endsByEpochs() && !counted ? plan.epochs() : Long.MAX_VALUE;
    elements =
        new DealtData(data, ledger, worker, last)
            .batch(plan.batchSize(), false)
            .prefetch(PREFETCHED)
            .elements();
    elements.seek(ledger.position(worker));
  }

  /**
   * The steps to the end of the last epoch, those of the worker with the most; the others take
   * examples of the next epoch meanwhile.
   */
  private long stepsLeft() {
    long most = 0;
    for (int i = 0; i < workers; i++) {
      most = Math.max(most, ledger.left(i, plan.epochs(), sizes::of));
    }
    return Math.ceilDiv(most, plan.batchSize());
  }

  /** Whether this worker has made all its steps, in a job that ends by epochs. */
  boolean isDone() {
    if (counted || !plan.endsByEpochs()) {
      return counted && left == 0;
    }
    // Only the data says where it ends.
    if (ahead == null && !ended && elements != null) {
      ahead = nextBatch();
      ended = ahead == null;
    }
    return ended;
  }

  /** Takes a batch here and not before: a step that is run again after a loss takes its own. */
  @Override
  public SessionRunArgs beforeRun(SessionRunContext context) {
    release();
    if (isDone()) {
      throw new MillraceException(
          Code.OUT_OF_RANGE, "The last epoch of worker " + worker + " has ended.");
    }
    Tensor[] batch = ahead == null ? nextBatch() : ahead;
    ahead = null;
    if (batch.length != graph.inputs().size()) {
      Elements.release(batch);
      throw MillraceException.invalid(
          "An element of the training data has %d tensors; the first one had %d.",
          batch.length, graph.inputs().size());
    }
    fed = new LinkedHashMap<>();
    for (int i = 0; i < batch.length; i++) {
      fed.put(graph.inputs().get(i), batch[i]);
    }
    StepClock clock = StepClock.current();
    if (clock != null && batch.length > 0 && batch[0].shape().rank() > 0) {
      clock.examples(batch[0].shape().dim(0));
    }
    fedTo = elements.position();
    if (gathered == null) {
      fed.put(next, Tensor.of(Shape.of(1, InputLedger.COLUMNS), fedTo));
      fed.put(rows, Tensor.vector(ledger.row(worker)));
    } else {
      long[] note = Arrays.copyOf(fedTo, InputLedger.COLUMNS + 1);
      note[InputLedger.COLUMNS] = ending.word();
      fed.put(next, Tensor.of(Shape.of(1, note.length), note));
      int[] all = new int[workers];
      for (int i = 0; i < workers; i++) {
        all[i] = ledger.row(i);
      }
      fed.put(rows, Tensor.vector(all));
    }
    Output loss = graph.model().loss();
    List<Output> fetches = gathered == null ? List.of(loss) : List.of(loss, gathered);
    return new SessionRunArgs(fetches, fed, List.of(write), false);
  }

  private Tensor[] nextBatch() {
    try {
      return elements.next();
    } catch (RuntimeException e) {
      long[] at = elements.position();
      MillraceException m = MillraceException.of(e);
      throw new MillraceException(
          m.code(),
          String.format(
              "The training data of worker %d fails after its example %d of part %d of epoch %d:"
                  + " %s",
              worker, at[2], at[1], at[0], m.getMessage()),
          m);
    }
  }

  @Override
  public void afterRun(SessionRunContext context, SessionRunValues values) {
    double loss = values.value(graph.model().loss()).doubleValue();
    if (!Double.isFinite(loss)) {
      throw NotANumber.failure(loss, graph, fed, worker, fedTo);
    }
    if (gathered != null) {
      Tensor all = values.value(gathered);
      for (int i = 0; i < workers; i++) {
        ending.hear(all.longAt((i + 1) * (InputLedger.COLUMNS + 1L) - 1), context);
      }
    }
    release();
    left--;
  }

  @Override
  public void end(Session session) {
    close();
  }

  @Override
  public void abandon(Session session, MillraceException cause) {
    close();
  }

  private void close() {
    release();
    if (ahead != null) {
      Elements.release(ahead);
    }
    ahead = null;
    if (elements != null) {
      elements.close();
      elements = null;
    }
  }

  private void release() {
    fed.values().forEach(Tensor::close);
    fed = Map.of();
  }
}
