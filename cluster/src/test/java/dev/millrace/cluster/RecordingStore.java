package dev.millrace.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.graph.resource.Resources;
import dev.millrace.graph.resource.StateId;
import dev.millrace.graph.resource.StateJournal;
import dev.millrace.graph.resource.Variable;
import dev.millrace.graph.resource.VariableJournal;
import dev.millrace.graph.resource.VariableStore;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Tensor;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.LongConsumer;

/** Records all that happens to it, in order, and what each variable had at its last commit. */
public final class RecordingStore implements VariableStore {
  public enum Kind {
    CHANGE,
    COMMIT,
    FAILURE
  }

  /**
   * What the store was told.
   *
   * @param what the name of what was changed, else empty
   */
  public record Event(Kind kind, long stepId, String what) {}

  private final List<Event> events = new ArrayList<>();

  /** The last value of each variable, in memory that no step reaches. Guarded by this. */
  private final Map<StateId, float[]> values = new HashMap<>();

  private LongConsumer onCommit = step -> {};

  /** Runs {@code body} in every commit, before it is recorded. */
  public synchronized void onCommit(LongConsumer body) {
    onCommit = body;
  }

  private synchronized void add(Kind kind, long stepId, String what) {
    events.add(new Event(kind, stepId, what));
  }

  public synchronized List<Event> events() {
    return List.copyOf(events);
  }

  synchronized void forget() {
    events.clear();
  }

  long count(Kind kind) {
    return events().stream().filter(e -> e.kind == kind).count();
  }

  /** The value a variable called {@code name} was last changed to. */
  synchronized float[] value(String name) {
    return values.entrySet().stream()
        .filter(e -> e.getKey().name().equals(name))
        .findFirst()
        .orElseThrow()
        .getValue();
  }

  /** Every step has made its changes first, and has then ended exactly once. */
  void checkOrder() {
    Map<Long, Kind> ended = new HashMap<>();
    List<Event> all = events();
    for (Event e : all) {
      assertTrue(!ended.containsKey(e.stepId), () -> e + " comes after the end: " + all);
      if (e.kind != Kind.CHANGE) {
        ended.put(e.stepId, e.kind);
      }
    }
    long steps = all.stream().map(Event::stepId).distinct().count();
    assertEquals(steps, ended.size(), () -> "steps that have not ended: " + all);
  }

  @Override
  public Variable create(StateId id, DType dtype) {
    VariableJournal journal =
        new VariableJournal() {
          @Override
          public void assigned(long stepId, Tensor value) {
            keep(id, value);
            add(Kind.CHANGE, stepId, id.name());
          }

          @Override
          public void rowsChanged(long stepId, Tensor value, Tensor indices) {
            keep(id, value);
            add(Kind.CHANGE, stepId, id.name() + "[" + indices.longAt(0) + "]");
          }
        };
    return new Variable(id.name(), dtype, journal, null);
  }

  private synchronized void keep(StateId id, Tensor value) {
    values.put(id, value.dtype() == DType.FLOAT ? value.toFloats() : new float[0]);
  }

  @Override
  public StateJournal open(StateId id, Resources.Resource fresh) {
    return step -> add(Kind.CHANGE, step, id.name());
  }

  @Override
  public void commit(long stepId) {
    LongConsumer body;
    synchronized (this) {
      body = onCommit;
    }
    body.accept(stepId);
    add(Kind.COMMIT, stepId, "");
  }

  @Override
  public void failed(long stepId) {
    add(Kind.FAILURE, stepId, "");
  }

  @Override
  public String toString() {
    return "recording";
  }
}
