package dev.millrace.net;

import org.jspecify.annotations.Nullable;

/**
 * Who a process is, and whom it admits.
 *
 * @param credential of this process; null if it has none
 * @param closed whether it refuses peers that have not proved who they are
 */
public record Admission(@Nullable Credential credential, boolean closed) {
  /** A process without a credential that admits everybody who can reach it. */
  public static final Admission OPEN = new Admission(null, false);
}
