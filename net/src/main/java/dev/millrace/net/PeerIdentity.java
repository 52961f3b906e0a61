package dev.millrace.net;

import java.security.cert.CertificateParsingException;
import java.security.cert.X509Certificate;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Who is at the other end of a connection, as far as that is known.
 *
 * <p>Threading: immutable.
 */
public final class PeerIdentity {
  private static final int DNS = 2;
  private static final int URI = 6;
  private static final int IP = 7;

  private static final PeerIdentity UNKNOWN = new PeerIdentity("unknown", List.of(), false, false);
  private static final PeerIdentity SAME_USER =
      new PeerIdentity("a process of this user", List.of(), true, true);

  /** A name in a certificate, and what kind it is. */
  private record Name(int kind, String text) {}

  private final String shown;
  private final List<Name> names;
  private final boolean authenticated;
  private final boolean anyTask;

  private PeerIdentity(String shown, List<Name> names, boolean authenticated, boolean anyTask) {
    this.shown = shown;
    this.names = names;
    this.authenticated = authenticated;
    this.anyTask = anyTask;
  }

  /** A peer that has shown nothing. */
  public static PeerIdentity unknown() {
    return UNKNOWN;
  }

  /** A process of the same user on this host: the system says so. */
  static PeerIdentity sameUser() {
    return SAME_USER;
  }

  /** The holder of a certificate that was verified. */
  static PeerIdentity of(X509Certificate c) {
    List<Name> names = new ArrayList<>();
    try {
      Collection<List<?>> alternatives = c.getSubjectAlternativeNames();
      if (alternatives != null) {
        for (List<?> a : alternatives) {
          if (a.get(0) instanceof Integer kind && a.get(1) instanceof String text) {
            names.add(new Name(kind, text));
          }
        }
      }
    } catch (CertificateParsingException e) {
      // It has no name then, and may speak for no task.
    }
    String shown =
        names.isEmpty() ? c.getSubjectX500Principal().getName() : names.getFirst().text();
    return new PeerIdentity(shown, List.copyOf(names), true, false);
  }

  /** Whether it has proved to belong to the job or to be of this user. */
  public boolean isAuthenticated() {
    return authenticated;
  }

  /**
   * Whether it may say that it is a task. A process of the same user may, and one whose certificate
   * names the task: by a URI that ends with {@code /ps/0}, by a DNS name that begins with {@code
   * ps-0.} or {@code job-ps-0.}, or by the task's host.
   *
   * @param task such as {@code ps/0}
   * @param host of the task by the cluster spec; null if not known
   */
  public boolean maySpeakFor(String task, @Nullable String host) {
    return anyTask || names.stream().anyMatch(n -> names(n, task, host));
  }

  private static boolean names(Name n, String task, @Nullable String host) {
    return switch (n.kind) {
      case URI -> n.text.endsWith("/" + task);
      case DNS -> {
        String label = n.text.contains(".") ? n.text.substring(0, n.text.indexOf('.')) : n.text;
        String dashed = task.replace('/', '-');
        yield label.equalsIgnoreCase(dashed)
            || label.endsWith("-" + dashed)
            || n.text.equalsIgnoreCase(host);
      }
      case IP -> n.text.equals(host);
      default -> false;
    };
  }

  @Override
  public String toString() {
    return shown;
  }
}
