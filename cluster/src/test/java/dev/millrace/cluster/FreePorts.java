package dev.millrace.cluster;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.ArrayList;
import java.util.List;

/** Addresses on loopback that nobody listens on at the moment. */
final class FreePorts {
  private FreePorts() {}

  static List<String> addresses(int n) {
    List<ServerSocket> held = new ArrayList<>();
    List<String> addresses = new ArrayList<>();
    try {
      for (int i = 0; i < n; i++) {
        ServerSocket s = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
        held.add(s);
        addresses.add("localhost:" + s.getLocalPort());
      }
      for (ServerSocket s : held) {
        s.close();
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return addresses;
  }
}
