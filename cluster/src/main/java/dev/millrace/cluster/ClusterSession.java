package dev.millrace.cluster;

import dev.millrace.base.Cancellation;
import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.cluster.master.Master;
import dev.millrace.cluster.master.MasterSession;
import dev.millrace.cluster.master.SessionSettings;
import dev.millrace.cluster.transport.MasterClient;
import dev.millrace.graph.Given;
import dev.millrace.graph.Graph;
import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.proto.ConfigProto;
import dev.millrace.proto.DeviceStepStats;
import dev.millrace.runtime.RunOptions;
import dev.millrace.runtime.Session;
import dev.millrace.runtime.plan.Signature;
import dev.millrace.tensor.Tensor;
import dev.millrace.wire.GraphCodec;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/**
 * A session on a cluster: the graph runs on all its tasks, under the master at a target. A target
 * in this process is called directly, any other, ours or TensorFlow's, by gRPC. The session is
 * opened with the first run and grows with the graph.
 */
public final class ClusterSession implements Session {
  private final Graph graph;
  private final Connection connection;
  private int sent;
  private boolean opened;
  private volatile boolean closed;

  /** A session on {@code grpc://host:port}. */
  public ClusterSession(Graph graph, String target) {
    this(graph, target, ConfigProto.getDefaultInstance());
  }

  /** Likewise with TensorFlow's settings of a session, such as device filters. */
  public ClusterSession(Graph graph, String target, ConfigProto config) {
    if (!target.startsWith("grpc://")) {
      throw MillraceException.invalid("'%s' is not a target; those read grpc://host:port.", target);
    }
    this.graph = graph;
    Server own = Server.inThisProcess(target);
    connection =
        own != null
            ? new Direct(own.master(), target, config)
            : new Remote(new MasterClient(target.substring("grpc://".length())), config);
  }

  /** The two ways to a master. Calls are made with the session's lock held, but for run. */
  private sealed interface Connection {
    void open(Graph graph);

    void extend(Graph graph, int from);

    Tensor[] run(
        List<String> feedNames,
        List<Tensor> feeds,
        List<String> fetches,
        List<String> targets,
        RunOptions options);

    Map<String, String> silentTasks(Collection<String> tasks, Duration limit);

    void close(boolean opened);
  }

  /** Asks the master if it is in this process; empty for any other master. */
  @Override
  public Map<String, String> silentTasks(Collection<String> tasks, Duration limit) {
    return closed ? Map.of() : connection.silentTasks(tasks, limit);
  }

  private synchronized void bringUpToDate() {
    if (closed) {
      throw new MillraceException(Code.CANCELLED, "Session has been closed.");
    }
    int size = graph.size();
    if (!opened) {
      connection.open(graph);
      opened = true;
    } else if (size > sent) {
      connection.extend(graph, sent);
    } else {
      return;
    }
    sent = size;
  }

  @Override
  public List<Tensor> run(
      Map<Output, Tensor> feeds, List<Output> fetches, List<Node> targets, RunOptions options) {
    List<Output> fed = new ArrayList<>();
    List<Tensor> values = new ArrayList<>();
    Given.value(feeds, "The map of feeds")
        .forEach(
            (o, t) -> {
              fed.add(Given.value(o, "An output to feed"));
              values.add(t);
            });
    StepNames names = names(new Signature(fed, fetches, targets));
    return List.of(run(names, values.toArray(new Tensor[0]), options));
  }

  @Override
  public Callable makeCallable(List<Output> feeds, List<Output> fetches, List<Node> targets) {
    StepNames names = names(new Signature(feeds, fetches, targets));
    return values -> run(names, values, RunOptions.DEFAULT);
  }

  /** The names of what a run feeds, fetches and targets, as the master knows them. */
  private record StepNames(
      Signature signature, List<String> feeds, List<String> fetches, List<String> targets) {}

  private StepNames names(Signature s) {
    s.checkIn(graph);
    return new StepNames(
        s,
        s.feeds().stream().map(Output::name).toList(),
        s.fetches().stream().map(Output::name).toList(),
        s.targets().stream().map(Node::name).toList());
  }

  private Tensor[] run(StepNames names, Tensor[] values, RunOptions options) {
    names.signature.checkFeeds(values);
    if (!opened || graph.size() > sent || closed) {
      bringUpToDate();
    }
    Tensor[] results =
        connection.run(names.feeds, List.of(values), names.fetches, names.targets, options);
    for (Tensor t : results) {
      t.guarded();
    }
    return results;
  }

  @Override
  public synchronized void close() {
    if (!closed) {
      closed = true;
      connection.close(opened);
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
    public Tensor[] run(
        List<String> feedNames,
        List<Tensor> feeds,
        List<String> fetches,
        List<String> targets,
        RunOptions options) {
      Consumer<DeviceStepStats> trace =
          options.trace() == null ? null : d -> StepStatsReader.read(d, options.trace());
      return session
          .run(feedNames, feeds, fetches, targets, options, trace, new Cancellation())
          .toArray(new Tensor[0]);
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
    public Tensor[] run(
        List<String> feedNames,
        List<Tensor> feeds,
        List<String> fetches,
        List<String> targets,
        RunOptions options) {
      return client.runStep(
          handle,
          feedNames,
          feeds,
          fetches,
          targets,
          options,
          d -> StepStatsReader.read(d, options.trace()));
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
