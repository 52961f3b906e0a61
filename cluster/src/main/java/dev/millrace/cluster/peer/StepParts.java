package dev.millrace.cluster.peer;

import dev.millrace.base.Cancellation;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.Rendezvous;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Tensor;
import java.util.List;

/**
 * The parts of steps that a task runs for other tasks. Connections call it directly. Only {@link
 * #run} may wait.
 *
 * <p>Threading: any thread.
 */
public interface StepParts {
  /** Those of a process that is no task of a cluster: it runs none. */
  StepParts NONE =
      new StepParts() {
        @Override
        public List<Tensor> run(RunGraph call, Cancellation cancellation) {
          throw MillraceException.invalid("This process is a client and no task of a cluster.");
        }

        @Override
        public boolean forgetStep(long stepId) {
          return true;
        }

        @Override
        public void cleanupStep(long stepId) {}

        @Override
        public void deliver(long stepId, Rendezvous.Key key, Tensor value) {
          if (value != null) {
            Refs.release(value);
          }
        }
      };

  /** Runs a part of a step; the results are the caller's. */
  List<Tensor> run(RunGraph call, Cancellation cancellation);

  /** Forgets a step that has ended well, if nothing of it is left; returns whether it did. */
  boolean forgetStep(long stepId);

  /** Forgets a step, whatever is left of it. */
  void cleanupStep(long stepId);

  /** Takes a tensor that another task has pushed, with a counted reference; null if dead. */
  void deliver(long stepId, Rendezvous.Key key, Tensor value);
}
