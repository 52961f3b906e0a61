package dev.millrace.cluster;

import dev.millrace.base.Cancellation;
import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.base.context.Context;
import dev.millrace.cluster.link.ClientStep;
import dev.millrace.cluster.master.Master;
import dev.millrace.cluster.master.MasterSession;
import dev.millrace.cluster.master.SessionSettings;
import dev.millrace.cluster.master.StepPlan;
import dev.millrace.cluster.peer.StepParameters;
import dev.millrace.cluster.peer.StepReport;
import dev.millrace.cluster.transport.MasterClient;
import dev.millrace.graph.Graph;
import dev.millrace.proto.ConfigProto;
import dev.millrace.runtime.PlannedSession;
import dev.millrace.runtime.RunOptions;
import dev.millrace.runtime.plan.StepSignature;
import dev.millrace.tensor.Tensor;
import dev.millrace.wire.GraphCodec;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;

/**
 * A session on a cluster: the graph runs on all its tasks, under the master at a target. A server
 * in the context of this session is called directly, any other, ours or TensorFlow's, by gRPC. The
 * session is opened with the first run and grows with the graph.
 *
 * <p>Threading: any number of runs at once, from any threads. One thread at a time opens the
 * session or sends nodes.
 */
@SuppressWarnings("exports") // Only sessions of Millrace implement the protected methods.
public final class ClusterSession extends PlannedSession<ClusterSession.PreparedStep> {
  private final Connection connection;

  /** Held while the master is told of nodes, and while it closes the session: both may wait. */
  private final Lock updating = new ReentrantLock();

  private final Map<StepSignature, PreparedStep> prepared = new ConcurrentHashMap<>();

  /** How many nodes the master has. Guarded by the lock, as is the other. */
  private int sent;

  private boolean opened;

  /** A session on {@code grpc://host:port}. */
  public ClusterSession(Graph graph, String target) {
    this(graph, target, ClusterSessionOptions.DEFAULT);
  }

  /** A session with TensorFlow's session settings, such as device filters. */
  public ClusterSession(Graph graph, String target, ConfigProto config) {
    this(graph, target, ClusterSessionOptions.DEFAULT.withConfig(config));
  }

  /** A session with options of its own. */
  public ClusterSession(Graph graph, String target, ClusterSessionOptions options) {
    super(graph, options.stepTimeout(), Context.current());
    if (!target.startsWith("grpc://")) {
      throw MillraceException.invalid("'%s' is not a target; those read grpc://host:port.", target);
    }
    Server own = Server.inThisContext(target);
    connection =
        own != null
            ? new Direct(own.master(), target, options.config())
            : new Remote(
                new MasterClient(target.substring("grpc://".length()), options.usesLinks()),
                options.config());
  }

  /** A session under a master in this process. */
  ClusterSession(Graph graph, Master master, String target, ClusterSessionOptions options) {
    super(graph, options.stepTimeout(), Context.current());
    connection = new Direct(master, target, options.config());
  }

  /** Runs a step under its master. */
  @FunctionalInterface
  private interface StepCall {
    List<Tensor> run(List<Tensor> feeds, StepParameters how);
  }

  /** A step as its master knows it. */
  record PreparedStep(List<String> fetchNames, StepCall call) implements Plan {}

  /** The two ways to a master. Calls are made with the session's lock held, but for steps. */
  private sealed interface Connection {
    void open(Graph graph);

    void extend(Graph graph, int from);

    StepCall prepare(List<String> feeds, List<String> fetches, List<String> targets);

    Map<String, String> silentTasks(Collection<String> tasks, Duration limit);

    void close(boolean opened);
  }

  /** Asks the master if it is in this process; empty for any other master. */
  @Override
  public Map<String, String> silentTasks(Collection<String> tasks, Duration limit) {
    return isClosed() ? Map.of() : connection.silentTasks(tasks, limit);
  }

  /** Has the master know the graph as it is now. */
  private void update() {
    updating.lock();
    try {
      checkOpen();
      int size = graph().size();
      if (!opened) {
        connection.open(graph());
        opened = true;
      } else if (size > sent) {
        connection.extend(graph(), sent);
      } else {
        return;
      }
      sent = size;
    } finally {
      updating.unlock();
    }
  }

  @Override
  protected PreparedStep knownPlan(StepSignature s) {
    return prepared.get(s);
  }

  @Override
  protected PreparedStep makePlan(StepSignature s) {
    update();
    List<String> fetches = s.fetchNames();
    PreparedStep step =
        new PreparedStep(fetches, connection.prepare(s.feedNames(), fetches, s.targetNames()));
    prepared.put(s, step);
    return step;
  }

  @Override
  protected Tensor[] execute(
      PreparedStep plan, Tensor[] feeds, RunOptions options, Duration limit) {
    StepReport report = new StepReport(options.trace() != null);
    List<Tensor> results =
        plan.call.run(
            List.of(feeds),
            new StepParameters(
                limit,
                options.timeout() == null,
                options.collectiveKey(),
                options.stepId(),
                report));
    if (report.isTraced()) {
      report.times().forEach(d -> StepStatsReader.read(d, options.trace()));
    }
    return results.toArray(new Tensor[0]);
  }

  @Override
  protected void end() {
    updating.lock();
    try {
      connection.close(opened);
      prepared.clear();
    } finally {
      updating.unlock();
    }
  }

  /** A master in this process. */
  private static final class Direct implements Connection {
    private final Master master;
    private final String target;
    private final ConfigProto config;
    private MasterSession session;
    private long version;

    Direct(Master master, String target, ConfigProto config) {
      this.master = master;
      this.target = target;
      this.config = config;
    }

    @Override
    public void open(Graph graph) {
      // The master has a graph of its own: this one may grow while steps run.
      session =
          master.create(
              g -> GraphCodec.importInto(GraphCodec.encode(graph), g, true),
              SessionSettings.of(config, target),
              new Cancellation());
    }

    @Override
    public void extend(Graph graph, int from) {
      version =
          session.extend(
              version, g -> GraphCodec.importInto(GraphCodec.encode(graph, from), g, true));
    }

    @Override
    public StepCall prepare(List<String> feeds, List<String> fetches, List<String> targets) {
      StepPlan plan = session.plan(feeds, fetches, targets);
      return (values, how) -> session.run(plan, values, how, new Cancellation());
    }

    @Override
    public Map<String, String> silentTasks(Collection<String> tasks, Duration limit) {
      return master.silentTasks(tasks, limit);
    }

    @Override
    public void close(boolean opened) {
      if (opened) {
        try {
          master.close(session.handle());
        } catch (MillraceException e) {
          // The server was stopped before the session: nothing is left to close.
          if (e.code() != Code.ABORTED) {
            throw e;
          }
        }
      }
    }
  }

  /** A master in another process. */
  private static final class Remote implements Connection {
    private final MasterClient client;
    private final ConfigProto config;
    private String handle;
    private long version;

    Remote(MasterClient client, ConfigProto config) {
      this.client = client;
      this.config = config;
    }

    @Override
    public void open(Graph graph) {
      Duration limit = SessionSettings.of(config, "").startTimeout().plusSeconds(5);
      handle = client.createSession(graph, config, limit);
    }

    @Override
    public void extend(Graph graph, int from) {
      version = client.extendSession(handle, graph, from, version);
    }

    @Override
    public StepCall prepare(List<String> feeds, List<String> fetches, List<String> targets) {
      return (values, how) ->
          client.run(new ClientStep(handle, feeds, values, fetches, targets, how));
    }

    @Override
    public Map<String, String> silentTasks(Collection<String> tasks, Duration limit) {
      return Map.of();
    }

    @Override
    public void close(boolean opened) {
      try {
        if (opened) {
          client.closeSession(handle);
        }
      } catch (MillraceException e) {
        // A master that is gone has forgotten the session already.
        if (e.code() != Code.UNAVAILABLE && e.code() != Code.ABORTED) {
          throw e;
        }
      } finally {
        client.close();
      }
    }
  }
}
