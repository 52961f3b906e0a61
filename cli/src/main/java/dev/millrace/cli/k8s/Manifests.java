package dev.millrace.cli.k8s;

import static dev.millrace.cli.k8s.Fields.list;
import static dev.millrace.cli.k8s.Fields.map;

import dev.millrace.base.MillraceException;
import dev.millrace.cli.text.Json;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

/**
 * The Kubernetes objects of a training job, ready to be written as YAML.
 *
 * <p>Parameter servers and workers are indexed Jobs: their pods have stable names, a pod that fails
 * is replaced by one of the same name, wrong use (exit code 2) ends the job at once, an eviction
 * does not count as failure, and tasks that leave with code 0 stay gone, which a StatefulSet would
 * not let them. Every other exit code counts as failure: one that a client can provoke must not
 * restart a task for ever. A headless Service per job gives the names addresses. Every pod runs
 * without privileges and may be reached by the job's own pods only.
 */
public final class Manifests {
  private static final String LOGS = "/logs";
  private static final String CREDENTIALS = "/credentials";

  /** Only the pod's own user and group can read it. */
  private static final int SECRET_MODE = 0440;

  /** For what the JVM and the unpacked native library need, ten times over. */
  private static final String TMP = "1Gi";

  /** What Linux passes on, less room for the name. */
  private static final int LONGEST_VARIABLE = 131_000;

  private static final String INDEX =
      "metadata.annotations['batch.kubernetes.io/job-completion-index']";

  private final JobSettings job;

  /** The objects for this job. */
  public Manifests(JobSettings job) {
    this.job = job;
  }

  /** All objects, those others need first. */
  public List<Map<String, Object>> objects() {
    List<Map<String, Object>> all = new ArrayList<>();
    all.add(volumeClaim());
    all.add(networkPolicy());
    if (job.isRing()) {
      all.add(service("worker"));
      all.add(tasks("worker", job.workers(), ringVariables()));
      return all;
    }
    all.add(service("ps"));
    all.add(service("worker"));
    all.add(tasks("ps", job.ps(), clusterVariables("ps")));
    all.add(tasks("worker", job.workers(), clusterVariables("worker")));
    return all;
  }

  private Map<String, Object> labels() {
    return map(
        "app.kubernetes.io/name", "millrace",
        "app.kubernetes.io/instance", job.name(),
        "app.kubernetes.io/managed-by", "millrace");
  }

  private Map<String, Object> labels(String role) {
    Map<String, Object> all = labels();
    all.put("app.kubernetes.io/component", role);
    return all;
  }

  /** What selects the pods of a role. */
  private Map<String, Object> selector(String role) {
    return map("app.kubernetes.io/instance", job.name(), "app.kubernetes.io/component", role);
  }

  private Map<String, Object> object(
      String version, String kind, String name, Map<String, Object> labels, Object spec) {
    return map(
        "apiVersion", version,
        "kind", kind,
        "metadata", map("name", name, "namespace", job.namespace(), "labels", labels),
        "spec", spec);
  }

  /** Meshes take the protocol from the name: this is none that they know. */
  private String portName() {
    return job.isRing() ? "tcp-rendezvous" : "tcp-millrace";
  }

  private String nameOf(String role) {
    return job.name() + "-" + role;
  }

  /** Every task reads and writes it: parameter servers save their own shards. */
  private Map<String, Object> volumeClaim() {
    Map<String, Object> spec =
        map(
            "accessModes", list("ReadWriteMany"),
            "resources", map("requests", map("storage", job.storage())));
    if (job.storageClass() != null) {
      spec.put("storageClassName", job.storageClass());
    }
    return object("v1", "PersistentVolumeClaim", nameOf("logs"), labels(), spec);
  }

  /** Beside credentials and tokens: only the job's own pods may reach the tasks' ports. */
  private Map<String, Object> networkPolicy() {
    Map<String, Object> own = map("matchLabels", map("app.kubernetes.io/instance", job.name()));
    return object(
        "networking.k8s.io/v1",
        "NetworkPolicy",
        job.name(),
        labels(),
        map(
            "podSelector", own,
            "policyTypes", list("Ingress"),
            "ingress", list(map("from", list(map("podSelector", own))))));
  }

  /** Headless, and with addresses before the pods are ready: tasks wait for one another. */
  private Map<String, Object> service(String role) {
    return object(
        "v1",
        "Service",
        nameOf(role),
        labels(role),
        map(
            "clusterIP",
            "None",
            "publishNotReadyAddresses",
            true,
            "selector",
            selector(role),
            "ports",
            list(map("name", portName(), "port", job.port(), "targetPort", portName()))));
  }

  private Map<String, Object> tasks(String role, int count, List<Map<String, Object>> variables) {
    return object(
        "batch/v1",
        "Job",
        nameOf(role),
        labels(role),
        map(
            "completionMode",
            "Indexed",
            "completions",
            count,
            "parallelism",
            count,
            // A ring that loses a rank fails in all of them; when one task of a job is evicted, all
            // leave (143), and what replaces them goes on together.
            "backoffLimit",
            job.retries() * count,
            // Never two tasks of one name at the same time.
            "podReplacementPolicy",
            "Failed",
            "podFailurePolicy",
            map("rules", failureRules()),
            "template",
            map("metadata", map("labels", labels(role)), "spec", pod(role, variables))));
  }

  private static List<Object> failureRules() {
    return list(
        map(
            "action",
            "FailJob",
            "onExitCodes",
            map("containerName", "millrace", "operator", "In", "values", list(2))),
        // The evicted pod: Kubernetes itself reports that, no exit code can.
        map(
            "action",
            "Ignore",
            "onPodConditions",
            list(map("type", "DisruptionTarget", "status", "True"))));
  }

  private Map<String, Object> pod(String role, List<Map<String, Object>> variables) {
    return map(
        // The pod's host name is its job's name and its index; this makes it resolvable.
        "subdomain", nameOf(role),
        "restartPolicy", "Never",
        "terminationGracePeriodSeconds", job.graceSeconds(),
        "automountServiceAccountToken", false,
        "enableServiceLinks", false,
        "securityContext",
            map(
                "runAsNonRoot",
                true,
                "runAsUser",
                10001,
                "runAsGroup",
                10001,
                "fsGroup",
                10001,
                "fsGroupChangePolicy",
                "OnRootMismatch",
                "seccompProfile",
                map("type", "RuntimeDefault")),
        "containers", list(container(variables)),
        "volumes", volumes());
  }

  private List<Object> volumes() {
    List<Object> all = new ArrayList<>();
    all.add(map("name", "logs", "persistentVolumeClaim", map("claimName", nameOf("logs"))));
    all.add(map("name", "tmp", "emptyDir", map("sizeLimit", TMP)));
    if (!job.isRing()) {
      all.add(
          map(
              "name",
              "credentials",
              "secret",
              map("secretName", nameOf("credentials"), "defaultMode", SECRET_MODE)));
    }
    return all;
  }

  private List<Object> mounts() {
    List<Object> all = new ArrayList<>();
    all.add(map("name", "logs", "mountPath", LOGS));
    all.add(map("name", "tmp", "mountPath", "/tmp"));
    if (!job.isRing()) {
      all.add(map("name", "credentials", "mountPath", CREDENTIALS, "readOnly", true));
    }
    return all;
  }

  private Map<String, Object> container(List<Map<String, Object>> variables) {
    Map<String, Object> c =
        map(
            "name", "millrace",
            "image", job.image(),
            "args", new ArrayList<Object>(job.args()),
            "env", variables,
            "ports", list(map("name", portName(), "containerPort", job.port())),
            "resources",
                map(
                    "requests", map("cpu", job.cpu(), "memory", job.memory()),
                    "limits", map("memory", job.memory())),
            "securityContext",
                map(
                    "allowPrivilegeEscalation", false,
                    "readOnlyRootFilesystem", true,
                    "capabilities", map("drop", list("ALL"))),
            "volumeMounts", mounts());
    if (!job.isRing()) {
      // Kubernetes has no credential of the job; it can see that the port is open.
      Map<String, Object> health = map("port", job.port());
      c.put("startupProbe", map("tcpSocket", health, "periodSeconds", 2, "failureThreshold", 60));
      c.put("readinessProbe", map("tcpSocket", health, "periodSeconds", 10));
      c.put(
          "livenessProbe",
          map(
              "tcpSocket",
              health,
              "periodSeconds",
              20,
              "timeoutSeconds",
              10,
              "failureThreshold",
              6));
    }
    return c;
  }

  private static Map<String, Object> variable(String name, String value) {
    return map("name", name, "value", value);
  }

  private static Map<String, Object> indexVariable(String name) {
    return map("name", name, "valueFrom", map("fieldRef", map("fieldPath", INDEX)));
  }

  /** As many threads as were asked for: without a limit a JVM sees all processors of the node. */
  private static Map<String, Object> processors() {
    return map(
        "name",
        "PROCESSORS",
        "valueFrom",
        map("resourceFieldRef", map("containerName", "millrace", "resource", "requests.cpu")));
  }

  /** Kubernetes puts the index where TF_CONFIG refers to it, which must come later. */
  private List<Map<String, Object>> clusterVariables(String role) {
    String config =
        Json.compact(
            map(
                "cluster", map("ps", addresses("ps"), "worker", addresses("worker")),
                "task", map("type", role, "index", "INDEX")));
    if (config.length() > LONGEST_VARIABLE) {
      throw MillraceException.invalid(
          "The addresses of %d tasks are %d characters, and a variable of the environment takes"
              + " %d: start fewer, or --mode ring, which needs only one address.",
          job.ps() + job.workers(), config.length(), LONGEST_VARIABLE);
    }
    return List.of(
        indexVariable("POD_INDEX"),
        variable("TF_CONFIG", config.replace("\"INDEX\"", "$(POD_INDEX)")),
        variable("MILLRACE_CREDENTIALS", CREDENTIALS),
        variable("MILLRACE_BIND", "0.0.0.0"),
        variable("HOME", "/tmp"),
        processors(),
        variable("MILLRACE_JAVA_OPTS", "-XX:ActiveProcessorCount=$(PROCESSORS)"));
  }

  private List<Map<String, Object>> ringVariables() {
    return List.of(
        indexVariable("MILLRACE_RANK"),
        variable("MILLRACE_SIZE", Integer.toString(job.workers())),
        variable("MILLRACE_RENDEZVOUS", addresses("worker").getFirst().toString()),
        variable("MILLRACE_BIND", "0.0.0.0"),
        map(
            "name",
            "MILLRACE_TOKEN",
            "valueFrom",
            map("secretKeyRef", map("name", nameOf("token"), "key", "token"))),
        variable("HOME", "/tmp"),
        processors(),
        variable("MILLRACE_JAVA_OPTS", "-XX:ActiveProcessorCount=$(PROCESSORS)"));
  }

  /** Names in full, as a pod finds its own in /etc/hosts even before the name service knows it. */
  private List<Object> addresses(String role) {
    String service = nameOf(role);
    String suffix =
        "." + service + "." + job.namespace() + ".svc." + job.domain() + ":" + job.port();
    int count = role.equals("ps") ? job.ps() : job.workers();
    return IntStream.range(0, count).mapToObj(i -> (Object) (service + "-" + i + suffix)).toList();
  }
}
