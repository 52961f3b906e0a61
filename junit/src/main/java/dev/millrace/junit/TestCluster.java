package dev.millrace.junit;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * Gives each test of a class, or one test, a cluster in its own process: parameters of type {@link
 * dev.millrace.cluster.InProcessCluster} receive it. It starts before the test's {@code BeforeEach}
 * methods and stops after its {@code AfterEach} methods, so no test sees another's variables. The
 * annotation of a method replaces that of its class. For other jobs, ops of a registry of your own,
 * or one cluster for all tests of a class, register a {@link ClusterExtension}.
 */
@Documented
@Inherited
@Retention(RetentionPolicy.RUNTIME)
@Target({ElementType.METHOD, ElementType.TYPE})
@ExtendWith(ClusterExtension.class)
public @interface TestCluster {
  /** How many parameter servers there are. */
  int ps() default 1;

  /** How many workers there are. */
  int workers() default 1;
}
