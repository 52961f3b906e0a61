package dev.millrace.interop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Python programs written for TensorFlow's servers do the same with Millrace's. */
@NeedsPython
class TutorialTest {
  private static final Duration LIMIT = Duration.ofMinutes(3);

  private final List<AutoCloseable> open = new ArrayList<>();

  @AfterEach
  void stop() throws Exception {
    for (AutoCloseable c : open.reversed()) {
      c.close();
    }
  }

  private LoopbackCluster cluster(LoopbackCluster c) {
    open.add(c);
    return c;
  }

  private void serve(LoopbackCluster cluster, String job, int tasks) {
    List<CompletableFuture<MillraceServer>> starting =
        IntStream.range(0, tasks)
            .mapToObj(
                i -> CompletableFuture.supplyAsync(() -> MillraceServer.start(cluster, job, i)))
            .toList();
    starting.forEach(s -> open.add(s.join()));
  }

  private static List<String> run(String... arguments) {
    return PythonTensorFlow.find().run("tutorials.py", List.of(arguments), LIMIT).lines().toList();
  }

  @Test
  void helloAndDevicesOverTwoTasks() {
    LoopbackCluster cluster = cluster(LoopbackCluster.of("local", 2));
    serve(cluster, "local", 2);
    String target = cluster.target("local", 0);
    assertEquals(List.of("Hello, distributed TensorFlow!"), run("hello", target));
    assertEquals(
        List.of(
            "mean 49.5",
            "devices /job:local/replica:0/task:0/device:CPU:0"
                + " /job:local/replica:0/task:1/device:CPU:0",
            "traced True"),
        run("devices", target));
  }

  @Test
  void branchesAndLoopsOverTwoTasks() {
    LoopbackCluster cluster = cluster(LoopbackCluster.of("local", 2));
    serve(cluster, "local", 2);
    assertEquals(
        List.of("branch 6.0 3.0", "loop 10.0 15.0"),
        run("control_flow", cluster.target("local", 0)));
    assertEquals(
        List.of("agree True", "trains True"), run("functions", cluster.target("local", 0)));
  }

  @Test
  void effectsComeInOrderAndFunctionsStayWhereTheyAreCalled() {
    LoopbackCluster cluster = cluster(LoopbackCluster.of("local", 2));
    serve(cluster, "local", 2);
    assertEquals(
        List.of(
            "after_updates [[2.0, 20.0], [21.0, 210.0]]",
            "in_a_branch [3.0, -1.0, 5.0]",
            "branch_in_a_loop [5.0, 7.0]",
            "loop_in_a_function_in_a_loop [64.0]",
            "gradient_of_rows [[3.0, 0.0, 3.0]]",
            "result_beside_a_variable [[18.0, 12.0]]",
            "assertion_in_a_function [1.0, 2.0]",
            "reader_follows_a_resource [5.0]",
            "list_over_tasks [[1.0, 2.0, 3.0]]"),
        run("order", cluster.target("local", 0)));
  }

  @Test
  void aClientBringsTheCluster() {
    LoopbackCluster one = cluster(LoopbackCluster.of("local", 1));
    LoopbackCluster two = cluster(LoopbackCluster.of("local", 1));
    serve(one, "local", 1);
    serve(two, "local", 1);
    List<String> expected =
        List.of(
            "sums [7.0, 6.5]",
            "devices /job:ps/replica:0/task:0/device:CPU:0"
                + " /job:worker/replica:0/task:0/device:CPU:0");
    assertEquals(expected, run("propagation", one.target("local", 0), two.target("local", 0)));
  }

  @Test
  void variablesOnAPsAreUsedByThreeWorkers() {
    LoopbackCluster cluster = cluster(LoopbackCluster.psAndWorkers(1, 3));
    serve(cluster, "ps", 1);
    serve(cluster, "worker", 3);
    assertEquals(
        List.of(
            "[8.0, 12.0]",
            "[12.0, 32.0]",
            "[3.0, 2.0]",
            "kept [6.0, 8.0]",
            "uninitialized True",
            "unfed True",
            "reset"),
        run("arithmetic", cluster.target("worker", 0)));
    assertEquals(
        List.of("partial 3.0 90.0", "partial 3.0 90.0", "partial 3.0 90.0"),
        run("partial_run", cluster.target("worker", 0)));
  }

  @Test
  void asynchronousTrainingWithWorkersInPython() {
    LoopbackCluster cluster = cluster(LoopbackCluster.psAndWorkers(2, 2));
    serve(cluster, "ps", 2);
    assertTrains(train(cluster, 0, ""), train(cluster, 1, ""));
  }

  @Test
  void asynchronousTrainingWithClientsInPython() {
    LoopbackCluster cluster = cluster(LoopbackCluster.psAndWorkers(1, 2));
    serve(cluster, "ps", 1);
    serve(cluster, "worker", 2);
    assertTrains(
        train(cluster, 0, cluster.target("worker", 0)),
        train(cluster, 1, cluster.target("worker", 1)));
  }

  @Test
  void asynchronousTrainingWithAPsInPython() {
    LoopbackCluster cluster = cluster(LoopbackCluster.psAndWorkers(1, 1));
    serve(cluster, "worker", 1);
    assertTrains(
        CompletableFuture.supplyAsync(
            () ->
                run(
                    "mnist_with_ps",
                    hosts(cluster, "ps"),
                    hosts(cluster, "worker"),
                    cluster.target("worker", 0))));
  }

  private static CompletableFuture<List<String>> train(
      LoopbackCluster cluster, int task, String target) {
    return CompletableFuture.supplyAsync(
        () ->
            run(
                "mnist",
                "worker",
                Integer.toString(task),
                hosts(cluster, "ps"),
                hosts(cluster, "worker"),
                target));
  }

  private static String hosts(LoopbackCluster cluster, String job) {
    return String.join(
        ",",
        cluster.definition().getJobList().stream()
            .filter(j -> j.getName().equals(job))
            .findFirst()
            .orElseThrow()
            .getTasksMap()
            .values());
  }

  @SafeVarargs
  private static void assertTrains(CompletableFuture<List<String>>... workers) {
    for (CompletableFuture<List<String>> w : workers) {
      String said = w.join().getLast();
      assertTrue(said.startsWith("accuracy "), said);
      assertTrue(Double.parseDouble(said.split(" ")[1]) > 0.9, said);
    }
  }
}
