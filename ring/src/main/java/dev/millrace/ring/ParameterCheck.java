package dev.millrace.ring;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.collective.Ring;
import dev.millrace.runtime.Session;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.hook.SessionRunContext;
import dev.millrace.train.hook.SessionRunHook;
import dev.millrace.train.hook.SessionRunValues;
import dev.millrace.train.variable.GraphVariable;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.zip.CRC32C;

/**
 * Makes sure that all ranks still have the same variables, by comparing hashes of their bits every
 * so many steps: as a hook of a training session, or where a program says. Ranks that drift apart
 * unnoticed, because one applies something the others do not, train nothing.
 */
public final class ParameterCheck implements SessionRunHook {
  private final Ring ring;
  private final List<GraphVariable> variables;
  private final int everySteps;

  /** Counted here as a hook, the same on all ranks. */
  private long steps;

  /** Checks these variables at every step that {@code everySteps} divides. */
  public ParameterCheck(Ring ring, List<GraphVariable> variables, int everySteps) {
    if (everySteps < 1) {
      throw MillraceException.invalid(
          "Parameters can be checked every step or less often, not every %d steps.", everySteps);
    }
    this.ring = ring;
    this.variables = List.copyOf(variables);
    this.everySteps = everySteps;
  }

  /**
   * Compares, if it is time, the variables as they are after {@code step}. All ranks must call it
   * for the same steps. Fails with DATA_LOSS on all ranks where they differ, and says which.
   */
  public void afterStep(Session session, long step) {
    if (step % everySteps != 0 || variables.isEmpty()) {
      return;
    }
    long[] own = new long[variables.size()];
    List<Tensor> values =
        session.run(Map.of(), variables.stream().map(GraphVariable::read).toList(), List.of());
    for (int i = 0; i < own.length; i++) {
      try (Tensor t = values.get(i)) {
        CRC32C hash = new CRC32C();
        hash.update(t.data().asByteBuffer());
        own[i] = hash.getValue();
      }
    }
    try (Tensor mine = Tensor.vector(own);
        Tensor all = ring.allGather("parameter check", mine)) {
      compare(all.toLongs(), step);
    }
  }

  @Override
  public void afterRun(SessionRunContext context, SessionRunValues values) {
    afterStep(context.session(), ++steps);
  }

  private void compare(long[] hashes, long step) {
    int n = variables.size();
    List<String> differences = new ArrayList<>();
    for (int i = 0; i < n; i++) {
      List<Integer> ranks = new ArrayList<>();
      for (int r = 1; r < ring.size(); r++) {
        if (hashes[r * n + i] != hashes[i]) {
          ranks.add(r);
        }
      }
      if (!ranks.isEmpty()) {
        differences.add(String.format("'%s' on ranks %s", variables.get(i).name(), ranks));
      }
    }
    if (!differences.isEmpty()) {
      throw new MillraceException(
          Code.DATA_LOSS,
          String.format(
              "After step %d the ranks' variables differ: %s %s other bits than on rank 0."
                  + " Broadcast them at the start, and change them only by gradients averaged over"
                  + " all ranks.",
              step, String.join(", ", differences), differences.size() == 1 ? "has" : "have"));
    }
  }
}
