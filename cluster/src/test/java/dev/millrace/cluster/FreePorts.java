package dev.millrace.cluster;

import java.util.ArrayList;
import java.util.List;

/** Addresses on loopback that nobody listens on, held for these tests until their process ends. */
final class FreePorts {
  private static final List<HeldPorts> HELD = new ArrayList<>();

  private FreePorts() {}

  static synchronized List<String> addresses(int n) {
    HeldPorts ports = HeldPorts.take(n);
    HELD.add(ports);
    return ports.addresses().stream().map(a -> a.replace("127.0.0.1", "localhost")).toList();
  }
}
