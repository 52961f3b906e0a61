package dev.millrace.interop.bench;

import dev.millrace.cluster.ClusterSession;
import dev.millrace.graph.Graph;
import dev.millrace.interop.MillraceServer;
import dev.millrace.interop.TrainingGraph;
import dev.millrace.proto.ServerDef;
import dev.millrace.runtime.Session;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/** Millrace's parameter servers and workers, on the graphs TensorFlow runs. */
final class MillraceCluster {
  private MillraceCluster() {}

  /** Asynchronous training. The file of worker k's graph is {@code graphs.get(k)}. */
  static Contender training(List<Path> graphs) {
    return new PsCluster(
        "Millrace",
        MillraceServer::start,
        1,
        Training.class,
        graphs.stream().map(file -> List.of(file.toString())).toList());
  }

  /** Reads of a variable of this many floats on the ps. */
  static Contender read(long floats) {
    return new PsCluster(
        "Millrace", MillraceServer::start, 1, Read.class, List.of(List.of(Long.toString(floats))));
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
}
