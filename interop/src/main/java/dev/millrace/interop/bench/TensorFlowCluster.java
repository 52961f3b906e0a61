package dev.millrace.interop.bench;

import dev.millrace.interop.RealTensorFlow;
import dev.millrace.interop.TensorFlowServer;
import dev.millrace.interop.TensorFlowSessionOptions;
import dev.millrace.interop.TrainingGraph;
import dev.millrace.proto.GraphDef;
import dev.millrace.proto.ServerDef;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** TensorFlow's parameter servers and workers. */
public final class TensorFlowCluster {
  private TensorFlowCluster() {}

  /** Asynchronous training. The file of worker k's graph is {@code graphs.get(k)}. */
  public static Contender training(List<Path> graphs) {
    return new PsCluster(
        TensorFlowSteps.tensorFlow(),
        TensorFlowServer::start,
        1,
        Training.class,
        graphs.stream().map(file -> List.of(file.toString())).toList());
  }

  /** Reads of a variable of this many floats on the ps. */
  public static Contender read(long floats) {
    return new PsCluster(
        TensorFlowSteps.tensorFlow(),
        TensorFlowServer::start,
        1,
        Read.class,
        List.of(List.of(Long.toString(floats))));
  }

  /** A client in a process of its own; with or without a read from the ps. */
  public static Contender client(boolean fromPs) {
    return new PsCluster(
        TensorFlowSteps.tensorFlow(),
        TensorFlowServer::start,
        Client.class,
        List.of(Boolean.toString(fromPs)));
  }

  /** Null steps of several workers. */
  public static Contender nullStep(NullStep what, int ps, int workers) {
    List<List<String>> arguments = new ArrayList<>();
    for (int i = 0; i < workers; i++) {
      arguments.add(List.of(what.name(), Integer.toString(ps)));
    }
    return new PsCluster(
        TensorFlowSteps.tensorFlow(), TensorFlowServer::start, ps, Null.class, arguments);
  }

  /** A session at a worker that is started in this very process. */
  private static RealTensorFlow session(ServerDef server, GraphDef graph) {
    String target = TensorFlowServer.startHere(server);
    return RealTensorFlow.of(
        graph,
        TensorFlowSessionOptions.at(target)
            .withConfig(PsCluster.filters(server))
            .withStepTimeout(Duration.ZERO));
  }

  /** A training worker. Arguments: its server definition, the file of its graph. */
  static final class Training implements ContenderProcess.Maker {
    @Override
    public Contender make(List<String> arguments) {
      ServerDef server = PsCluster.server(arguments.get(0));
      TrainingGraph graph = TrainingGraph.read(Path.of(arguments.get(1)));
      RealTensorFlow tensorFlow = session(server, graph.graph());
      if (server.getTaskIndex() == 0) {
        tensorFlow.run(graph.start(1), List.of(), List.of(TrainingGraph.INIT));
      }
      return new TensorFlowSteps(
          "worker " + server.getTaskIndex(),
          tensorFlow,
          graph.batch(server.getTaskIndex()),
          List.of(TrainingGraph.LOSS),
          List.of(TrainingGraph.TRAIN));
    }
  }

  /** A worker that reads. Arguments: its server definition, the size in floats. */
  static final class Read implements ContenderProcess.Maker {
    @Override
    public Contender make(List<String> arguments) {
      long floats = Long.parseLong(arguments.get(1));
      RealTensorFlow tensorFlow =
          session(PsCluster.server(arguments.get(0)), PsCluster.read(floats));
      tensorFlow.run("init");
      List<String> fetches = floats == 1 ? List.of("here:0") : List.of();
      return new TensorFlowSteps("worker", tensorFlow, Map.of(), fetches, List.of("here"));
    }
  }

  /** A client. Arguments: the worker's target, whether it reads from the ps. */
  static final class Client implements ContenderProcess.Maker {
    @Override
    public Contender make(List<String> arguments) {
      boolean fromPs = Boolean.parseBoolean(arguments.get(1));
      RealTensorFlow tensorFlow =
          RealTensorFlow.of(
              fromPs ? PsCluster.read(1) : PsCluster.onWorker(),
              TensorFlowSessionOptions.at(arguments.get(0)).withStepTimeout(Duration.ZERO));
      tensorFlow.run("init");
      return new TensorFlowSteps(
          "client", tensorFlow, Map.of(), List.of("here:0"), List.of("here"));
    }
  }

  /** A worker of null steps. Arguments: its server definition, what it fetches, how many ps. */
  static final class Null implements ContenderProcess.Maker {
    @Override
    public Contender make(List<String> arguments) {
      ServerDef server = PsCluster.server(arguments.get(0));
      RealTensorFlow tensorFlow =
          session(
              server,
              NullStep.valueOf(arguments.get(1))
                  .graph(Integer.parseInt(arguments.get(2)), server.getTaskIndex()));
      if (server.getTaskIndex() == 0) {
        tensorFlow.run("init");
      }
      return new TensorFlowSteps("worker", tensorFlow, Map.of(), List.of(), List.of("here"));
    }
  }
}
