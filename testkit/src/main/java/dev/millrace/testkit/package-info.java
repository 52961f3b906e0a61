/**
 * What the tests of all modules share. {@link dev.millrace.testkit.LeakExtension} is registered
 * with JUnit for every test class.
 */
@NullMarked
package dev.millrace.testkit;

import org.jspecify.annotations.NullMarked;
