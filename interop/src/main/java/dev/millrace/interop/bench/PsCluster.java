package dev.millrace.interop.bench;

import dev.millrace.base.MillraceException;
import dev.millrace.interop.GraphWriter;
import dev.millrace.interop.LoopbackCluster;
import dev.millrace.proto.ConfigProto;
import dev.millrace.proto.GraphDef;
import dev.millrace.proto.ServerDef;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Map;

/**
 * Parameter servers and workers, each in a process of its own. Every worker runs its own session in
 * its own process and does not wait for the others; their rates are added up.
 */
final class PsCluster implements Contender {
  /** Starts a parameter server in a process of its own. */
  @FunctionalInterface
  interface Starter {
    AutoCloseable start(LoopbackCluster cluster, String job, int task);
  }

  private final String name;
  private final LoopbackCluster cluster;
  private final List<AutoCloseable> servers = new ArrayList<>();
  private final List<ContenderProcess> workers = new ArrayList<>();

  /**
   * Starts all tasks. Workers become ready one after the other, as the first one initializes the
   * variables.
   *
   * @param worker makes a worker from its server definition, in Base64, and the arguments that
   *     follow
   * @param arguments those of each worker
   */
  PsCluster(
      String name,
      Starter ps,
      int psTasks,
      Class<? extends ContenderProcess.Maker> worker,
      List<List<String>> arguments) {
    this.name = name;
    this.cluster = LoopbackCluster.psAndWorkers(psTasks, arguments.size());
    try {
      for (int i = 0; i < psTasks; i++) {
        servers.add(ps.start(cluster, "ps", i));
      }
      for (int i = 0; i < arguments.size(); i++) {
        ServerDef server = cluster.server("worker", i, ConfigProto.getDefaultInstance());
        List<String> all = new ArrayList<>();
        all.add(Base64.getEncoder().encodeToString(server.toByteArray()));
        all.addAll(arguments.get(i));
        workers.add(ContenderProcess.start(worker, all));
      }
    } catch (RuntimeException | Error e) {
      close();
      throw e;
    }
  }

  /**
   * A ps and a worker, and a client of the worker in a process of its own.
   *
   * @param client makes the client from the worker's target and the arguments that follow
   */
  PsCluster(
      String name,
      Starter server,
      Class<? extends ContenderProcess.Maker> client,
      List<String> arguments) {
    this.name = name;
    this.cluster = LoopbackCluster.psAndWorkers(1, 1);
    try {
      servers.add(server.start(cluster, "ps", 0));
      servers.add(server.start(cluster, "worker", 0));
      List<String> all = new ArrayList<>(List.of(cluster.target("worker", 0)));
      all.addAll(arguments);
      workers.add(ContenderProcess.start(client, all));
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
    for (AutoCloseable server : servers) {
      try {
        server.close();
      } catch (Exception e) {
        throw MillraceException.of(e);
      }
    }
    cluster.close();
  }

  /** The server definition a worker was given. */
  static ServerDef server(String argument) {
    try {
      return ServerDef.parseFrom(Base64.getDecoder().decode(argument));
    } catch (IOException e) {
      throw new IllegalArgumentException(e);
    }
  }

  /** A worker must not wait for the others: it sees the parameter servers and itself. */
  static ConfigProto filters(ServerDef server) {
    return ConfigProto.newBuilder()
        .addDeviceFilters("/job:ps")
        .addDeviceFilters("/job:worker/task:" + server.getTaskIndex())
        .build();
  }

  /** A graph of which {@code here} is a sum on the worker alone. */
  static GraphDef onWorker() {
    GraphWriter graph = new GraphWriter();
    graph.device("/job:worker/task:0");
    graph.add("v", "VariableV2", Map.of("dtype", DType.FLOAT, "shape", Shape.scalar()));
    graph.constant("one", Tensor.scalar(1f));
    graph.add("init", "Assign", Map.of(), "v", "one");
    graph.add("here", "AddV2", Map.of(), "v", "one");
    return graph.build();
  }

  /**
   * A graph that reads a variable of this many floats from the ps: {@code init} fills it, {@code
   * here} is its value on the worker; if it is a scalar, plus 1.
   */
  static GraphDef read(long floats) {
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
    return graph.build();
  }
}
