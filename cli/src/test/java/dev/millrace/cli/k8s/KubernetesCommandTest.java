package dev.millrace.cli.k8s;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.Gson;
import dev.millrace.cli.Ran;
import dev.millrace.cluster.spec.TaskId;
import dev.millrace.cluster.spec.TfConfig;
import io.kubernetes.client.openapi.JSON;
import io.kubernetes.client.openapi.models.V1Container;
import io.kubernetes.client.openapi.models.V1EnvVar;
import io.kubernetes.client.openapi.models.V1Job;
import io.kubernetes.client.openapi.models.V1NetworkPolicy;
import io.kubernetes.client.openapi.models.V1PersistentVolumeClaim;
import io.kubernetes.client.openapi.models.V1PodSpec;
import io.kubernetes.client.openapi.models.V1Service;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.yaml.snakeyaml.Yaml;

/**
 * The judge is the Kubernetes client's own model: fields it does not know and those missing fail.
 */
class KubernetesCommandTest {
  private static final Map<String, Class<?>> KINDS =
      Map.of(
          "PersistentVolumeClaim", V1PersistentVolumeClaim.class,
          "NetworkPolicy", V1NetworkPolicy.class,
          "Service", V1Service.class,
          "Job", V1Job.class);

  private static Gson strict;

  @BeforeAll
  static void loadModel() {
    new JSON();
    strict = JSON.getGson();
  }

  /** The objects a command prints, by kind and name. */
  private static Map<String, Object> objects(String... flags) {
    List<String> args = new ArrayList<>(List.of("k8s", "--name", "mnist", "--image", "millrace:1"));
    args.addAll(List.of(flags));
    Map<String, Object> all = new LinkedHashMap<>();
    for (Object document : new Yaml().loadAll(Ran.millrace(args).succeeded())) {
      Map<?, ?> m = (Map<?, ?>) document;
      String kind = (String) m.get("kind");
      String name = (String) ((Map<?, ?>) m.get("metadata")).get("name");
      all.put(kind + " " + name, strict.fromJson(new Gson().toJson(m), KINDS.get(kind)));
    }
    return all;
  }

  private static V1Container container(Object job) {
    V1PodSpec pod = ((V1Job) job).getSpec().getTemplate().getSpec();
    assertEquals(1, pod.getContainers().size());
    return pod.getContainers().getFirst();
  }

  private static String variable(Object job, String name) {
    return container(job).getEnv().stream()
        .filter(v -> v.getName().equals(name))
        .map(V1EnvVar::getValue)
        .findFirst()
        .orElseThrow();
  }

  @Test
  void theModelIsStrict() {
    assertThrows(
        RuntimeException.class,
        () -> strict.fromJson("{\"kind\": \"Job\", \"spec\": {\"tmplate\": {}}}", V1Job.class));
  }

  @Test
  void everyShapeOfEveryModeIsWellFormed() {
    for (String mode : List.of("async", "sync", "bounded")) {
      for (int ps = 1; ps <= 3; ps++) {
        for (int workers = 1; workers <= 8; workers++) {
          Map<String, Object> all =
              objects("--mode", mode, "--ps", "" + ps, "--workers", "" + workers);
          assertEquals(6, all.size());
          V1Job servers = (V1Job) all.get("Job mnist-ps");
          V1Job work = (V1Job) all.get("Job mnist-worker");
          assertEquals(ps, servers.getSpec().getCompletions());
          assertEquals(workers, work.getSpec().getParallelism());
          assertTrue(container(work).getArgs().containsAll(List.of("--mode", mode)));
          assertNamesAgree(all, "worker", ps, workers);
          assertNamesAgree(all, "ps", ps, workers);
        }
      }
    }
    for (int workers = 1; workers <= 8; workers++) {
      Map<String, Object> all = objects("--mode", "ring", "--workers", "" + workers);
      assertEquals(4, all.size());
      assertEquals("" + workers, variable(all.get("Job mnist-worker"), "MILLRACE_SIZE"));
    }
  }

  /**
   * Our own reader takes the TF_CONFIG of each pod; its addresses are those of pods there will be.
   */
  private static void assertNamesAgree(Map<String, Object> all, String role, int ps, int workers) {
    V1Job job = (V1Job) all.get("Job mnist-" + role);
    for (int i = 0; i < job.getSpec().getCompletions(); i++) {
      TfConfig config =
          TfConfig.parse(variable(job, "TF_CONFIG").replace("$(POD_INDEX)", Integer.toString(i)));
      assertEquals(new TaskId(role, i), config.task());
      assertEquals(ps, config.cluster().tasks("ps").size());
      assertEquals(workers, config.cluster().tasks("worker").size());
      String service = job.getSpec().getTemplate().getSpec().getSubdomain();
      assertTrue(all.containsKey("Service " + service));
      assertEquals(
          job.getMetadata().getName() + "-" + i + "." + service + ".default.svc.cluster.local:2222",
          config.cluster().address(config.task()));
    }
  }

  @Test
  void podsHaveNoPrivilegesAndAreProbed() {
    V1Job job = (V1Job) objects("--workers", "2").get("Job mnist-worker");
    V1PodSpec pod = job.getSpec().getTemplate().getSpec();
    V1Container c = container(job);
    assertTrue(pod.getSecurityContext().getRunAsNonRoot());
    assertFalse(pod.getAutomountServiceAccountToken());
    assertFalse(c.getSecurityContext().getAllowPrivilegeEscalation());
    assertTrue(c.getSecurityContext().getReadOnlyRootFilesystem());
    assertEquals(2222, c.getLivenessProbe().getTcpSocket().getPort().getIntValue());
    assertEquals(2222, c.getStartupProbe().getTcpSocket().getPort().getIntValue());
    assertTrue(c.getResources().getRequests().containsKey("memory"));
    // Longer than the 60 s a task gives its job to save.
    assertEquals(90, pod.getTerminationGracePeriodSeconds());
    // A pod failure policy is only allowed with this one.
    assertEquals("Never", pod.getRestartPolicy());
    assertEquals("Failed", job.getSpec().getPodReplacementPolicy());
    assertEquals("FailJob", job.getSpec().getPodFailurePolicy().getRules().getFirst().getAction());
    // An eviction is no failure; but no exit code, which others may cause, goes uncounted.
    var rules = job.getSpec().getPodFailurePolicy().getRules();
    var ignored = rules.stream().filter(r -> r.getAction().equals("Ignore")).toList();
    assertEquals(1, ignored.size());
    assertEquals(null, ignored.getFirst().getOnExitCodes());
    assertEquals("DisruptionTarget", ignored.getFirst().getOnPodConditions().getFirst().getType());
    assertEquals(20, job.getSpec().getBackoffLimit());
    assertEquals("RuntimeDefault", pod.getSecurityContext().getSeccompProfile().getType());
    assertEquals(List.of("ALL"), c.getSecurityContext().getCapabilities().getDrop());
    assertEquals("1Gi", pod.getVolumes().get(1).getEmptyDir().getSizeLimit().toSuffixedString());
    // What they prove themselves with comes from a secret, and is no part of the manifest.
    assertEquals("mnist-credentials", pod.getVolumes().getLast().getSecret().getSecretName());
    assertEquals("/credentials", variable(job, "MILLRACE_CREDENTIALS"));
    assertEquals("0.0.0.0", variable(job, "MILLRACE_BIND"));
  }

  @Test
  void tasksHaveAsManyThreadsAsProcessorsAskedFor() {
    for (String mode : List.of("async", "ring")) {
      Object job = objects("--mode", mode, "--cpu", "3500m").get("Job mnist-worker");
      List<String> names = container(job).getEnv().stream().map(V1EnvVar::getName).toList();
      assertEquals(
          "-XX:ActiveProcessorCount=$(PROCESSORS)", variable(job, "MILLRACE_JAVA_OPTS"), mode);
      // Kubernetes fills in only what comes before.
      assertTrue(names.indexOf("PROCESSORS") < names.indexOf("MILLRACE_JAVA_OPTS"), mode);
      assertEquals("3500m", cpu(job));
    }
  }

  private static String cpu(Object job) {
    return container(job).getResources().getRequests().get("cpu").toSuffixedString();
  }

  @Test
  void aRingFailsInAllRanksAndDoesNotMeetByGrpc() {
    Map<String, Object> all = objects("--mode", "ring", "--workers", "4", "--retries", "3");
    V1Job job = (V1Job) all.get("Job mnist-worker");
    assertEquals(12, job.getSpec().getBackoffLimit());
    String port =
        ((V1Service) all.get("Service mnist-worker")).getSpec().getPorts().getFirst().getName();
    assertEquals("tcp-rendezvous", port);
    assertEquals(port, container(job).getPorts().getFirst().getName());
  }

  @Test
  void servicesAreHeadlessAndSelectTheirPods() {
    Map<String, Object> all = objects("--ps", "1");
    V1Service service = (V1Service) all.get("Service mnist-ps");
    assertEquals("None", service.getSpec().getClusterIP());
    assertTrue(service.getSpec().getPublishNotReadyAddresses());
    Map<String, String> pods =
        ((V1Job) all.get("Job mnist-ps")).getSpec().getTemplate().getMetadata().getLabels();
    assertTrue(pods.entrySet().containsAll(service.getSpec().getSelector().entrySet()));
  }

  @Test
  void argumentsAfterTheDashesAreTheTasks() {
    Map<String, Object> all =
        objects("--", "train", "mnist", "--model", "cnn", "1.0", "no", "a: b");
    assertEquals(
        List.of("train", "mnist", "--model", "cnn", "1.0", "no", "a: b"),
        container(all.get("Job mnist-ps")).getArgs());
  }

  @Test
  void whatKubernetesWouldRefuseIsRefused() {
    Ran.millrace("k8s", "--image", "i").wasRefusedFor("--name");
    Ran.millrace("k8s", "--name", "Mnist", "--image", "i").wasRefusedFor("'Mnist'", "lower-case");
    Ran.millrace("k8s", "--name", "m", "--image", "i", "--memory", "4 GB")
        .wasRefusedFor("--memory");
    Ran.millrace("k8s", "--name", "m", "--image", "i", "--workers", "0").wasRefusedFor("worker");
    Ran.millrace("k8s", "--name", "m", "--image", "i", "--mode", "ring", "--ps", "1")
        .wasRefusedFor("ring", "--ps");
    Ran.millrace("k8s", "--name", "m", "--image", "i", "--workers", "5000")
        .wasRefusedFor("5001 tasks", "--mode ring");
    Ran.millrace("k8s", "--name", "m", "--image", "i", "--mode", "local").wasRefusedFor("local");
    Ran.millrace("k8s", "--name", "m", "--image", "i", "--port", "80").wasRefusedFor("--port");
  }
}
