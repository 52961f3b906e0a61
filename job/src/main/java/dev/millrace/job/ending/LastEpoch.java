package dev.millrace.job.ending;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.base.Timers;
import dev.millrace.runtime.Session;
import dev.millrace.train.GlobalStep;
import dev.millrace.train.job.StopRequest;
import dev.millrace.train.job.WorkerRoster;
import dev.millrace.train.session.MonitoredTrainingSession;
import dev.millrace.train.variable.GraphVariable;
import java.time.Duration;
import java.util.List;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The end of a job by epochs whose workers make their steps independently: a worker that has
 * trained its share waits until the others have trained theirs. If a parameter server is lost
 * meanwhile, the model goes back to a checkpoint and every worker trains what it has to again.
 *
 * <p>Threading: used by the thread of the steps.
 */
public final class LastEpoch {
  private static final Logger LOG = LoggerFactory.getLogger(LastEpoch.class);
  private static final Duration LOOK_EVERY = Duration.ofMillis(100);
  private static final Duration REPORT_EVERY = Duration.ofSeconds(10);

  private final Timers timers = Timers.system();
  private final WorkerRoster roster;
  private final StopRequest request;
  private final GraphVariable step;
  private final boolean chief;
  private final Consumer<Session> leave;
  private final Duration patience;

  /** The session in which this worker has said that it is done; null before. */
  private Session said;

  private long lastStep = -1;
  private long lastChange;
  private long reported;
  private boolean complete;

  /**
   * The end of a worker.
   *
   * @param leave tells the others not to wait for steps of this worker
   * @param patience how long the chief waits while no other worker makes a step
   */
  public LastEpoch(
      WorkerRoster roster,
      StopRequest request,
      GraphVariable step,
      boolean chief,
      Consumer<Session> leave,
      Duration patience) {
    this.roster = roster;
    this.request = request;
    this.step = step;
    this.chief = chief;
    this.leave = leave;
    this.patience = patience;
  }

  /** Whether all workers have trained their shares, as far as the chief knows. */
  public boolean isComplete() {
    return complete;
  }

  /** Whether this worker need not wait for others any more. */
  public boolean isOver() {
    return complete || request.isRaised();
  }

  /** Looks once whether the job is over, and ends {@code training} then. Pauses if it is not. */
  public void look(MonitoredTrainingSession training) {
    if (request.isRaised()) {
      training.requestStop();
      return;
    }
    List<Integer> left = training.beside(this::unfinished);
    if (chief && left.isEmpty()) {
      complete = true;
      training.requestStop();
      return;
    }
    timers.park(this, LOOK_EVERY.toNanos());
  }

  private List<Integer> unfinished(Session session) {
    if (said != session) {
      said = session;
      leave.accept(session);
      roster.done(session);
      lastChange = timers.now();
      reported = lastChange;
    }
    List<Integer> left = roster.unfinished(session);
    long now = timers.now();
    long at = GlobalStep.now(session, step);
    if (at != lastStep) {
      lastStep = at;
      lastChange = now;
    }
    if (!left.isEmpty() && now - reported > REPORT_EVERY.toNanos()) {
      reported = now;
      LOG.info("Waiting for workers {} to train their share of the last epoch.", left);
    }
    if (chief && !left.isEmpty() && now - lastChange > patience.toNanos()) {
      throw new MillraceException(
          Code.DEADLINE_EXCEEDED,
          String.format(
              "Workers %s have not trained their share of the last epoch, and no step was made for"
                  + " %d s. Start them, or start the job again with fewer workers and the same"
                  + " --log-dir.",
              left, patience.toSeconds()));
    }
    return left;
  }
}
