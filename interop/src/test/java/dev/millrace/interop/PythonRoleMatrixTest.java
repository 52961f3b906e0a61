package dev.millrace.interop;

import dev.millrace.cluster.Server;
import dev.millrace.graph.Output;
import dev.millrace.proto.ConfigProto;
import dev.millrace.proto.ServerDef;
import dev.millrace.tensor.Tensor;
import dev.millrace.wire.GraphCodec;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The role matrix with the Python package: servers are {@code tf.distribute.Server}s, the client is
 * a session in Python. Each role of TensorFlow has a process of its own, which takes it in all
 * combinations; Millrace's tasks are in this one.
 */
@NeedsPython
class PythonRoleMatrixTest {
  private static final Duration DEADLINE = Duration.ofSeconds(90);

  /** Jobs by the bit of their role. */
  private static final Map<Integer, String> JOBS =
      Map.of(RoleModel.PS, "ps", RoleModel.WORKER, "worker", RoleModel.MASTER, "chief");

  @TempDir static Path folder;

  private static final Map<Integer, ChildProcess> PYTHONS = new HashMap<>();
  private static final Map<Integer, LoopbackCluster> CLUSTERS = new HashMap<>();
  private static final Map<Integer, List<Server>> SERVERS = new HashMap<>();
  private static List<Float> expected;

  @BeforeAll
  static void startPython() throws IOException {
    RoleModel m = RoleModel.build();
    Files.write(folder.resolve("graph.pb"), GraphCodec.encode(m.graph()).toByteArray());
    Path feeds = Files.createDirectory(folder.resolve("feeds"));
    for (Map.Entry<Output, Tensor> feed : m.batch().entrySet()) {
      Npy.write(feeds.resolve(feed.getKey().node().name() + ".npy"), feed.getValue());
    }
    for (int role : List.of(RoleModel.CLIENT, RoleModel.MASTER, RoleModel.WORKER, RoleModel.PS)) {
      PYTHONS.put(
          role,
          ChildProcess.start(
              "python as " + JOBS.getOrDefault(role, "client"),
              PythonTensorFlow.find().command("roles.py", List.of()),
              Map.of("CUDA_VISIBLE_DEVICES", "-1")));
    }
    // All import TensorFlow at the same time, so that one waits for the sum at worst.
    PYTHONS.values().forEach(p -> p.receive(DEADLINE.multipliedBy(2)));
    expected = lossesOfPython(m, "");
  }

  @AfterAll
  static void stop() {
    SERVERS.values().forEach(all -> all.forEach(Server::close));
    PYTHONS.values().forEach(ChildProcess::close);
    CLUSTERS.values().forEach(LoopbackCluster::close);
    Stream.of(SERVERS, PYTHONS, CLUSTERS).forEach(Map::clear);
  }

  /** The target of the master of a cluster with these roles, which both clients use. */
  private static String cluster(int roles) {
    LoopbackCluster known = CLUSTERS.get(roles);
    if (known == null) {
      known = LoopbackCluster.psAndWorkers(1, 1).with("chief", 1);
      CLUSTERS.put(roles, known);
      List<Server> own = SERVERS.computeIfAbsent(roles, r -> new ArrayList<>());
      for (Map.Entry<Integer, String> job : JOBS.entrySet()) {
        ServerDef task = known.server(job.getValue(), 0, ConfigProto.getDefaultInstance());
        if ((roles & job.getKey()) != 0) {
          ask(
              PYTHONS.get(job.getKey()),
              Map.of("serve", Base64.getEncoder().encodeToString(task.toByteArray())));
        } else {
          own.add(MillraceServer.startHere(task));
        }
      }
    }
    return known.target("chief", 0);
  }

  private static List<Float> lossesOfPython(RoleModel m, String target) {
    Map<String, Object> call =
        Map.of(
            "train", target,
            "graph", folder.resolve("graph.pb"),
            "feeds", folder.resolve("feeds"),
            "init", m.init().name(),
            "train_op", m.train().name(),
            "loss", m.loss().name(),
            "steps", RoleModel.STEPS);
    String answer = ask(PYTHONS.get(RoleModel.CLIENT), call);
    return Stream.of(answer.split(" ")).map(Float::valueOf).toList();
  }

  /** Sends a line of JSON and returns the answer. */
  private static String ask(ChildProcess python, Map<String, ?> call) {
    StringBuilder json = new StringBuilder();
    call.forEach(
        (key, value) -> {
          json.append(json.isEmpty() ? "{" : ", ").append('"').append(key).append("\": ");
          json.append(value instanceof Integer ? value : "\"" + value + "\"");
        });
    python.send(json + "}");
    return python.receive(DEADLINE);
  }

  // README claim: tf-roles
  @ParameterizedTest(name = "client x master x worker x ps = {0} (bits set: Python's TensorFlow)")
  @ValueSource(ints = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15})
  void everyCombinationTrainsToTheSameLosses(int roles) {
    RoleModel m = RoleModel.build();
    String target = cluster(roles & ~RoleModel.CLIENT);
    boolean python = (roles & RoleModel.CLIENT) != 0;
    RoleModel.assertLosses(expected, python ? lossesOfPython(m, target) : m.lossesAt(target));
  }
}
