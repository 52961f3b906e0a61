package dev.millrace.train.session;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.Graph;
import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.queue.QueueAccess;
import dev.millrace.runtime.RunOptions;
import dev.millrace.runtime.Session;
import dev.millrace.train.graph.GraphKeys;
import dev.millrace.train.hook.Coordinator;
import dev.millrace.train.hook.SessionRunHook;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Threads that keep a queue filled: each runs one enqueue op again and again. When the input of all
 * has ended (OUT_OF_RANGE) the queue is closed, so that steps take what is left and then end with
 * the data; any other failure ends training. A {@link MonitoredTrainingSession} and a {@link
 * Supervisor} start those of their graph by themselves.
 *
 * <p>Threading: the threads belong to a {@link Coordinator}; each session has its own.
 */
public final class QueueRunner implements SessionRunHook {
  private static final Logger LOG = LoggerFactory.getLogger(QueueRunner.class);

  private final Output queue;
  private final List<Node> enqueues;
  private final Node close;
  private final Node cancel;

  private QueueRunner(Scope scope, Output queue, List<Node> enqueues) {
    if (enqueues.isEmpty()) {
      throw MillraceException.invalid("Nothing is said to fill queue '%s' with.", queue.name());
    }
    this.queue = queue;
    this.enqueues = List.copyOf(enqueues);
    Scope beside = scope.withoutControlInputs().colocatedWith(queue.node());
    close = QueueAccess.close(beside, queue, false);
    cancel = QueueAccess.close(beside, queue, true);
  }

  /** Lets training on this graph fill {@code queue}, with one thread for each of the nodes. */
  public static QueueRunner add(Scope scope, Output queue, List<Node> enqueues) {
    QueueRunner runner = new QueueRunner(scope, queue, enqueues);
    scope.graph().collection(GraphKeys.QUEUE_RUNNERS).add(runner);
    return runner;
  }

  /** Those of a graph. */
  static List<QueueRunner> of(Graph graph) {
    return graph.collection(GraphKeys.QUEUE_RUNNERS).stream().map(QueueRunner.class::cast).toList();
  }

  @Override
  public void afterCreateSession(Session session, Coordinator coordinator) {
    AtomicInteger running = new AtomicInteger(enqueues.size());
    for (Node enqueue : enqueues) {
      coordinator.start(
          "millrace-queue-" + enqueue.name(), () -> fill(session, coordinator, enqueue, running));
    }
    // One that waits for room in the queue must not wait for ever.
    coordinator.onStop(() -> runQuietly(session, cancel));
  }

  private void fill(Session session, Coordinator coordinator, Node enqueue, AtomicInteger running) {
    try {
      while (!coordinator.shouldStop()) {
        // It waits for room as long as nobody takes an element out.
        session.run(Map.of(), List.of(), List.of(enqueue), RunOptions.DEFAULT.withoutTimeout());
      }
    } catch (MillraceException e) {
      if (coordinator.shouldStop()) {
        return;
      }
      if (e.code() != Code.OUT_OF_RANGE) {
        throw e;
      }
      LOG.info("'{}' has no more input: {}", enqueue.name(), e.getMessage());
      if (running.decrementAndGet() == 0) {
        runQuietly(session, close);
      }
    }
  }

  private void runQuietly(Session session, Node node) {
    try {
      session.run(node);
    } catch (MillraceException e) {
      LOG.debug("Closing queue '{}': {}", queue.name(), e.getMessage());
    }
  }
}
