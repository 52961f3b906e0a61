package dev.millrace.interop.bench;

import dev.millrace.base.config.ClusterSettings;
import dev.millrace.base.config.Config;
import dev.millrace.base.context.Context;
import dev.millrace.cluster.ClusterSession;
import dev.millrace.graph.Graph;
import dev.millrace.interop.MillraceServer;
import dev.millrace.interop.TrainingGraph;
import dev.millrace.proto.ServerDef;
import dev.millrace.runtime.Session;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Millrace's parameter servers and workers, on the graphs TensorFlow runs. */
public final class MillraceCluster {
  private MillraceCluster() {}

  /** Asynchronous training. The file of worker k's graph is {@code graphs.get(k)}. */
  public static Contender training(List<Path> graphs) {
    return new PsCluster(
        "Millrace",
        MillraceServer::start,
        1,
        Training.class,
        graphs.stream().map(file -> List.of(file.toString())).toList());
  }

  /** Reads of a variable of this many floats on the ps. */
  public static Contender read(long floats) {
    return new PsCluster(
        "Millrace", MillraceServer::start, 1, Read.class, List.of(List.of(Long.toString(floats))));
  }

  /** The same by RecvTensor, as if the ps were TensorFlow's. */
  public static Contender readByRecvTensor(long floats) {
    return new PsCluster(
        "Millrace by RecvTensor",
        MillraceServer::start,
        1,
        ReadByRecvTensor.class,
        List.of(List.of(Long.toString(floats))));
  }

  /** A client in a process of its own; with or without a read from the ps. */
  public static Contender client(boolean fromPs) {
    return new PsCluster(
        "Millrace", MillraceServer::start, Client.class, List.of(Boolean.toString(fromPs)));
  }

  /** Null steps of several workers. */
  public static Contender nullStep(NullStep what, int ps, int workers) {
    List<List<String>> arguments = new ArrayList<>();
    for (int i = 0; i < workers; i++) {
      arguments.add(List.of(what.name(), Integer.toString(ps)));
    }
    return new PsCluster("Millrace", MillraceServer::start, ps, Null.class, arguments);
  }

  /** A session at a worker that is started in this very process. */
  private static Session session(ServerDef server, Graph graph) {
    String target = MillraceServer.startHere(server).target();
    return new ClusterSession(graph, target, PsCluster.filters(server));
  }

  /** A training worker. Arguments: its server definition, the file of its graph. */
  static final class Training implements ContenderProcess.Maker {
    @Override
    public Contender make(List<String> arguments) {
      ServerDef server = PsCluster.server(arguments.get(0));
      TrainingGraph training = TrainingGraph.read(Path.of(arguments.get(1)));
      Graph graph = MillraceLocal.graph(training.graph());
      Session session = session(server, graph);
      if (server.getTaskIndex() == 0) {
        MillraceLocal.initialize(session, graph, training);
      }
      return new MillraceSteps(
          "worker " + server.getTaskIndex(),
          graph,
          session,
          training.batch(server.getTaskIndex()),
          List.of(TrainingGraph.LOSS),
          List.of(TrainingGraph.TRAIN));
    }
  }

  /** A worker that reads. Arguments: its server definition, the size in floats. */
  static final class Read implements ContenderProcess.Maker {
    @Override
    public Contender make(List<String> arguments) {
      long floats = Long.parseLong(arguments.get(1));
      Graph graph = MillraceLocal.graph(PsCluster.read(floats));
      Session session = session(PsCluster.server(arguments.get(0)), graph);
      session.run(graph.node("init"));
      List<String> fetches = floats == 1 ? List.of("here:0") : List.of();
      return new MillraceSteps("worker", graph, session, Map.of(), fetches, List.of("here"));
    }
  }

  /** The same without links. */
  static final class ReadByRecvTensor implements ContenderProcess.Maker {
    @Override
    public Contender make(List<String> arguments) {
      Config settings = Config.ofProcess().with(ClusterSettings.LINK, false);
      return Context.of("without-links", settings).call(() -> new Read().make(arguments));
    }
  }

  /** A client. Arguments: the worker's target, whether it reads from the ps. */
  static final class Client implements ContenderProcess.Maker {
    @Override
    public Contender make(List<String> arguments) {
      boolean fromPs = Boolean.parseBoolean(arguments.get(1));
      Graph graph = MillraceLocal.graph(fromPs ? PsCluster.read(1) : PsCluster.onWorker());
      Session session = new ClusterSession(graph, arguments.get(0));
      session.run(graph.node("init"));
      return new MillraceSteps(
          "client", graph, session, Map.of(), List.of("here:0"), List.of("here"));
    }
  }

  /** A worker of null steps. Arguments: its server definition, what it fetches, how many ps. */
  static final class Null implements ContenderProcess.Maker {
    @Override
    public Contender make(List<String> arguments) {
      ServerDef server = PsCluster.server(arguments.get(0));
      Graph graph =
          MillraceLocal.graph(
              NullStep.valueOf(arguments.get(1))
                  .graph(Integer.parseInt(arguments.get(2)), server.getTaskIndex()));
      Session session = session(server, graph);
      if (server.getTaskIndex() == 0) {
        session.run(graph.node("init"));
      }
      return new MillraceSteps("worker", graph, session, Map.of(), List.of(), List.of("here"));
    }
  }
}
