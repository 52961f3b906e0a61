package dev.millrace.interop.bench;

import dev.millrace.interop.GraphWriter;
import dev.millrace.interop.LoopbackCluster;
import dev.millrace.interop.RealTensorFlow;
import dev.millrace.interop.SessionOptions;
import dev.millrace.interop.TensorFlowServer;
import dev.millrace.interop.TrainingGraph;
import dev.millrace.proto.ConfigProto;
import dev.millrace.proto.GraphDef;
import dev.millrace.proto.ServerDef;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Map;

/**
 * TensorFlow's parameter servers and workers, each in a process of its own. Every worker runs its
 * own session in its own process and updates the variables without waiting for the others.
 */
final class TensorFlowCluster implements Contender {
  private final String name;
  private final LoopbackCluster cluster;
  private final List<TensorFlowServer> servers = new ArrayList<>();
  private final List<ContenderProcess> workers = new ArrayList<>();

  private TensorFlowCluster(String name, int ps, int workers) {
    this.name = name;
    this.cluster = LoopbackCluster.psAndWorkers(ps, workers);
    for (int i = 0; i < ps; i++) {
      servers.add(TensorFlowServer.start(cluster, "ps", i));
    }
  }

  /** Asynchronous training. The file of worker k's graph is {@code graphs.get(k)}. */
  static Contender training(int ps, List<Path> graphs) {
    TensorFlowCluster all =
        new TensorFlowCluster(
            TensorFlowSteps.tensorFlow() + ", " + ps + " ps + " + graphs.size() + " workers",
            ps,
            graphs.size());
    for (int i = 0; i < graphs.size(); i++) {
      all.addWorker(Training.class, i, List.of(graphs.get(i).toString()));
    }
    return all;
  }

  /** Reads of a variable on the ps by the worker, of this many floats, added to 1 there. */
  static Contender read(long floats) {
    TensorFlowCluster all = new TensorFlowCluster(TensorFlowSteps.tensorFlow(), 1, 1);
    all.addWorker(Read.class, 0, List.of(Long.toString(floats)));
    return all;
  }

  /** Workers become ready one after the other: the first initializes the variables. */
  private void addWorker(
      Class<? extends ContenderProcess.Maker> maker, int task, List<String> own) {
    List<String> arguments = new ArrayList<>();
    ServerDef server = cluster.server("worker", task, ConfigProto.getDefaultInstance());
    arguments.add(Base64.getEncoder().encodeToString(server.toByteArray()));
    arguments.addAll(own);
    try {
      workers.add(ContenderProcess.start(maker, arguments));
    } catch (RuntimeException | Error e) {
      close();
      throw e;
    }
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public Sample run(Duration duration) {
    workers.forEach(worker -> worker.begin(duration));
    return Sample.together(workers.stream().map(ContenderProcess::end).toList());
  }

  @Override
  public void close() {
    workers.forEach(ContenderProcess::close);
    servers.forEach(TensorFlowServer::close);
    cluster.close();
  }

  /** A session at a worker that is started in this very process. */
  private static RealTensorFlow session(ServerDef server, GraphDef graph) {
    String filter = "/job:worker/task:" + server.getTaskIndex();
    ConfigProto config =
        ConfigProto.newBuilder().addDeviceFilters("/job:ps").addDeviceFilters(filter).build();
    String target = TensorFlowServer.startHere(server);
    return RealTensorFlow.of(
        graph, SessionOptions.at(target).withConfig(config).withStepTimeout(Duration.ZERO));
  }

  private static ServerDef server(String argument) {
    try {
      return ServerDef.parseFrom(Base64.getDecoder().decode(argument));
    } catch (IOException e) {
      throw new IllegalArgumentException(e);
    }
  }

  /** A training worker. Arguments: its server definition, the file of its graph. */
  static final class Training implements ContenderProcess.Maker {
    @Override
    public Contender make(List<String> arguments) {
      ServerDef server = server(arguments.get(0));
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
      Shape shape = floats == 1 ? Shape.scalar() : Shape.of(floats);
      GraphWriter graph = new GraphWriter();
      graph.device("/job:ps/task:0");
      graph.add("v", "VariableV2", Map.of("dtype", DType.FLOAT, "shape", shape));
      graph.constant("dims", Tensor.vector(shape.dims()));
      graph.constant("value", Tensor.scalar(1f));
      graph.add("fill", "Fill", Map.of(), "dims", "value");
      graph.add("init", "Assign", Map.of(), "v", "fill");
      graph.device("/job:worker/task:0");
      if (floats == 1) {
        graph.constant("one", Tensor.scalar(1f));
        graph.add("here", "AddV2", Map.of(), "v", "one");
      } else {
        graph.add("here", "Identity", Map.of(), "v");
      }
      RealTensorFlow tensorFlow = session(server(arguments.get(0)), graph.build());
      tensorFlow.run("init");
      return new TensorFlowSteps(
          "worker",
          tensorFlow,
          Map.of(),
          floats == 1 ? List.of("here:0") : List.of(),
          List.of("here"));
    }
  }
}
