package dev.millrace.cluster.collective;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.base.Platform;
import dev.millrace.proto.GetStepSequenceRequest;
import dev.millrace.proto.GetStepSequenceResponse;
import dev.millrace.proto.StepSequence;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.function.LongUnaryOperator;

/**
 * The ids of steps with collectives. Masters that run parts of one collective must give their steps
 * the same id: the leader names the first, and each counts on from there by itself. After a failure
 * a master asks the leader again.
 *
 * <p>Threading: any thread.
 */
public final class StepSequences {
  /** Step ids have their top seven bits clear, as TensorFlow's do. */
  private static final long MASK = -1L >>> 7;

  private final boolean isLeader;
  private final LongUnaryOperator askLeader;
  private final Platform platform;
  private final Map<Long, Long> next = new HashMap<>();
  private final Set<Long> running = new HashSet<>();

  /** Sequences of a task; {@code askLeader} gives the next id for a graph key, and may wait. */
  StepSequences(boolean isLeader, LongUnaryOperator askLeader, Platform platform) {
    this.platform = platform;
    this.isLeader = isLeader;
    this.askLeader = askLeader;
  }

  /** The id for the next step under this key; {@link #ended} must follow. */
  public long begin(long graphKey) {
    synchronized (this) {
      if (!running.add(graphKey)) {
        throw new MillraceException(
            Code.FAILED_PRECONDITION,
            "Two steps with the same collectives (graph key "
                + graphKey
                + ") cannot run at once in one master: their pieces would mix. Run one after the"
                + " other.");
      }
      Long id = isLeader ? Long.valueOf(current(graphKey)) : next.get(graphKey);
      if (id != null) {
        return id;
      }
    }
    try {
      long id = askLeader.applyAsLong(graphKey);
      synchronized (this) {
        next.put(graphKey, id);
      }
      return id;
    } catch (RuntimeException e) {
      synchronized (this) {
        running.remove(graphKey);
      }
      throw e;
    }
  }

  /** The step that was begun last under this key has ended. */
  public synchronized void ended(long graphKey, boolean well) {
    running.remove(graphKey);
    if (well || isLeader) {
      next.computeIfPresent(graphKey, (k, id) -> (id + 1) & MASK);
    } else {
      next.remove(graphKey);
    }
  }

  /** As the leader: the ids at which others join in. */
  synchronized GetStepSequenceResponse answer(GetStepSequenceRequest r) {
    if (!isLeader) {
      throw MillraceException.internal(
          "GetStepSequence was called at a task that is not the leader of collectives.");
    }
    GetStepSequenceResponse.Builder b = GetStepSequenceResponse.newBuilder();
    for (long key : r.getGraphKeyList()) {
      b.addStepSequence(StepSequence.newBuilder().setGraphKey(key).setNextStepId(current(key)));
    }
    return b.build();
  }

  private long current(long graphKey) {
    return next.computeIfAbsent(graphKey, k -> platform.random().nextLong() & MASK);
  }
}
