package dev.millrace.testkit;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.Tag;

/**
 * Marks tests that take seconds each, most of them because they start processes and kill them. The
 * profile {@code slow} runs them, and only them; {@code .ci/run} does so after {@code mvn verify}.
 */
@Tag("slow")
@Retention(RetentionPolicy.RUNTIME)
@Target({ElementType.TYPE, ElementType.METHOD})
public @interface Slow {}
