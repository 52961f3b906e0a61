package dev.millrace.train.hook;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Output;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Ends training when the loss is not a number: what is trained from there on is lost. */
public final class NanTensorHook implements SessionRunHook {
  private static final Logger LOG = LoggerFactory.getLogger(NanTensorHook.class);

  private final Output loss;
  private final boolean fail;
  private long runs;

  /** Fails, so that nothing is saved over the last good checkpoint. */
  public NanTensorHook(Output loss) {
    this(loss, true);
  }

  /** Fails, or ends training in peace. */
  public NanTensorHook(Output loss, boolean fail) {
    this.loss = loss;
    this.fail = fail;
  }

  @Override
  public SessionRunArgs beforeRun(SessionRunContext context) {
    return SessionRunArgs.fetching(loss);
  }

  @Override
  public void afterRun(SessionRunContext context, SessionRunValues values) {
    runs++;
    double value = values.value(loss).doubleValue();
    if (!Double.isNaN(value)) {
      return;
    }
    String message =
        "The loss '%s' is NaN in step %d of this task. Use a smaller learning rate or clip the"
            + " gradients; the last checkpoint is from before.";
    if (fail) {
      throw MillraceException.failedPrecondition(message, loss.name(), runs);
    }
    LOG.error(String.format(message, loss.name(), runs));
    context.requestStop();
  }
}
