package dev.millrace.architecture;

import com.tngtech.archunit.core.domain.JavaClasses;
import java.util.Collection;

/**
 * Something the structure of the project must not have.
 *
 * @param id what a line of {@code exceptions.txt} begins with
 * @param counted what the build prints the number of, such as {@code cycles}
 */
record Rule(String id, String counted, Finder finder) {
  /** Finds what breaks a rule in the main classes of all modules. */
  @FunctionalInterface
  interface Finder {
    /**
     * Returns the findings, sorted, each one stable text without line numbers. {@code
     * exceptions.txt} names a finding by its first word.
     */
    Collection<String> find(JavaClasses classes);
  }

  Collection<String> findings(JavaClasses classes) {
    return finder.find(classes);
  }
}
