package dev.millrace.collective.member;

import java.io.IOException;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.file.Files;
import java.nio.file.Path;

/** What tells one host from another. */
public final class Hosts {
  private static final Path BOOT_ID = Path.of("/proc/sys/kernel/random/boot_id");
  private static final Path NETWORK = Path.of("/proc/self/ns/net");

  private Hosts() {}

  /**
   * A text that is the same for all processes of this host and for no other host: the running
   * kernel and the network it sees. Containers with networks of their own count as hosts of their
   * own.
   */
  public static String identity() {
    return bootId() + " " + network();
  }

  /** As {@link #identity}, but the same for all containers of one machine. */
  public static String machine() {
    return bootId();
  }

  /** The name of this host. */
  public static String name() {
    try {
      return InetAddress.getLocalHost().getHostName();
    } catch (UnknownHostException e) {
      return "localhost";
    }
  }

  private static String bootId() {
    try {
      return Files.readString(BOOT_ID).strip();
    } catch (IOException e) {
      return name();
    }
  }

  private static String network() {
    try {
      return Files.readSymbolicLink(NETWORK).toString();
    } catch (IOException | UnsupportedOperationException e) {
      return "-";
    }
  }
}
