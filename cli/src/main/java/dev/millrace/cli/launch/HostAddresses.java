package dev.millrace.cli.launch;

import java.io.IOException;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.net.UnknownHostException;
import java.util.List;

/** Which hosts are this one, and how the others reach it. */
final class HostAddresses {
  /** The name of this host for itself. */
  static final String LOCAL = "localhost";

  private HostAddresses() {}

  /** Whether {@code host} is a name or an address of this machine. */
  static boolean isHere(String host) {
    try {
      InetAddress a = InetAddress.getByName(host);
      return a.isLoopbackAddress() || NetworkInterface.getByInetAddress(a) != null;
    } catch (IOException e) {
      return false;
    }
  }

  /** Loopback if all {@code hosts} are here, else the address that reaches the first other one. */
  static InetAddress meetingPoint(List<String> hosts) throws IOException {
    for (String host : hosts) {
      if (!isHere(host)) {
        try (DatagramSocket probe = new DatagramSocket()) {
          probe.connect(InetAddress.getByName(host), 9);
          return probe.getLocalAddress();
        } catch (UnknownHostException e) {
          // An alias only ssh knows: any address but loopback may do.
          return InetAddress.getLocalHost();
        }
      }
    }
    return InetAddress.getLoopbackAddress();
  }
}
