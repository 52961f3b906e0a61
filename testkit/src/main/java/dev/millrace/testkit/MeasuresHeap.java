package dev.millrace.testkit;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Marks a test class that measures how much memory of the heap the code takes. While it runs the
 * leak check does not record places, which would take such memory: a leak is found, and the finding
 * names the test only.
 */
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.TYPE)
public @interface MeasuresHeap {}
