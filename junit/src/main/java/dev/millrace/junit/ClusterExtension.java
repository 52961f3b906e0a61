package dev.millrace.junit;

import dev.millrace.base.MillraceException;
import dev.millrace.cluster.InProcessCluster;
import dev.millrace.graph.OpRegistry;
import dev.millrace.ops.StandardOps;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolver;
import org.junit.platform.commons.support.AnnotationSupport;

/**
 * A cluster in the process of a test. Register it in a field:
 *
 * <pre>{@code
 * @RegisterExtension
 * final ClusterExtension cluster = ClusterExtension.of(Map.of("ps", 2, "worker", 3));
 * }</pre>
 *
 * A static field has one cluster for all tests of the class, any other field one for each test.
 * {@link TestCluster} registers it by an annotation.
 *
 * <p>Threading: JUnit calls it on one thread at a time; the cluster may be used from any.
 */
public final class ClusterExtension
    implements BeforeAllCallback, BeforeEachCallback, ParameterResolver {
  /** Holds the cluster of a test or a class; JUnit closes it when that ends. */
  private final ExtensionContext.Namespace namespace =
      ExtensionContext.Namespace.create(ClusterExtension.class, this);

  /** The number of tasks of each job; null if the annotation says it. */
  private final Map<String, Integer> jobs;

  private final OpRegistry ops;
  private InProcessCluster cluster;

  /** The extension of a {@link TestCluster}. */
  ClusterExtension() {
    this(null, StandardOps.registry());
  }

  private ClusterExtension(Map<String, Integer> jobs, OpRegistry ops) {
    this.jobs = jobs;
    this.ops = ops;
  }

  /** A cluster with the given number of tasks of each job, and the standard ops. */
  public static ClusterExtension of(Map<String, Integer> jobs) {
    return new ClusterExtension(Map.copyOf(jobs), StandardOps.registry());
  }

  /** The same with the ops of this registry. */
  public ClusterExtension withOps(OpRegistry registry) {
    return new ClusterExtension(jobs, registry);
  }

  /** The cluster of the test that runs. */
  public InProcessCluster cluster() {
    if (cluster == null) {
      throw MillraceException.failedPrecondition(
          "The cluster of a test starts with it. Make the field of the extension static to have"
              + " one before the first test too.");
    }
    return cluster;
  }

  @Override
  public void beforeAll(ExtensionContext context) {
    // JUnit calls this for a static field; an annotation starts a cluster for each test.
    if (jobs != null) {
      start(context);
    }
  }

  @Override
  public void beforeEach(ExtensionContext context) {
    start(context);
  }

  /** Starts a cluster that lives as long as {@code context}, unless its class has one. */
  private void start(ExtensionContext context) {
    cluster =
        context
            .getStore(namespace)
            .computeIfAbsent(
                InProcessCluster.class,
                key -> InProcessCluster.start(jobs(context), ops),
                InProcessCluster.class);
  }

  private Map<String, Integer> jobs(ExtensionContext context) {
    Map<String, Integer> wanted = new TreeMap<>(jobs == null ? annotated(context) : jobs);
    wanted.forEach(
        (job, tasks) -> {
          if (tasks < 0) {
            throw MillraceException.invalid(
                "The cluster of %s cannot have %d tasks of job '%s'.",
                context.getDisplayName(), tasks, job);
          }
        });
    wanted.values().removeIf(tasks -> tasks == 0);
    if (wanted.isEmpty()) {
      throw MillraceException.invalid(
          "The cluster of %s has no task. Give a job at least one.", context.getDisplayName());
    }
    return wanted;
  }

  private static Map<String, Integer> annotated(ExtensionContext context) {
    TestCluster wanted =
        AnnotationSupport.findAnnotation(context.getRequiredTestMethod(), TestCluster.class)
            .or(
                () ->
                    AnnotationSupport.findAnnotation(
                        context.getRequiredTestClass(),
                        TestCluster.class,
                        context.getEnclosingTestClasses()))
            .orElseThrow(
                () ->
                    MillraceException.invalid(
                        "%s has the extension but no @TestCluster that says how many tasks there"
                            + " are.",
                        context.getDisplayName()));
    return Map.of("ps", wanted.ps(), "worker", wanted.workers());
  }

  @Override
  public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
    return parameter.getParameter().getType() == InProcessCluster.class;
  }

  @Override
  public InProcessCluster resolveParameter(ParameterContext parameter, ExtensionContext context) {
    InProcessCluster started =
        context.getStore(namespace).get(InProcessCluster.class, InProcessCluster.class);
    if (started == null) {
      throw MillraceException.failedPrecondition(
          "A cluster of @TestCluster starts with each test: methods of @BeforeAll and constructors"
              + " have none. Register a ClusterExtension in a static field instead.");
    }
    return started;
  }
}
