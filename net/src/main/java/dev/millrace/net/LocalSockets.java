package dev.millrace.net;

import java.io.IOException;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.HexFormat;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Lets processes of one user find the Unix socket of another by its TCP port. In a folder that only
 * this user can open, each port has a symbolic link to the socket. The name contains the network
 * namespace, because containers that share the folder may use the same port.
 */
final class LocalSockets {
  private static final Logger LOG = LoggerFactory.getLogger(LocalSockets.class);
  private static final Path NAMESPACE = Path.of("/proc/self/ns/net");

  private LocalSockets() {}

  private static String name(int port) {
    String namespace = "0";
    try {
      namespace = Files.readSymbolicLink(NAMESPACE).toString().replaceAll("[^0-9]", "");
    } catch (IOException | UnsupportedOperationException e) {
      // No namespaces here.
    }
    return "port-" + namespace + "-" + port;
  }

  /** Publishes the socket of the process that listens on {@code port}; replaces a killed one's. */
  static void publish(Path folder, int port, Path socket) {
    Path name = folder.resolve(name(port));
    byte[] unique = new byte[8];
    ThreadLocalRandom.current().nextBytes(unique);
    Path part = folder.resolve(name.getFileName() + "." + HexFormat.of().formatHex(unique));
    try {
      Files.createSymbolicLink(part, socket);
      Files.move(part, name, StandardCopyOption.ATOMIC_MOVE);
    } catch (IOException | UnsupportedOperationException e) {
      LOG.debug("Processes of this user cannot find the socket of port {}: {}", port, e.toString());
    }
  }

  /** Takes the name back, unless another process has it now. */
  static void withdraw(Path folder, int port, Path socket) {
    Path name = folder.resolve(name(port));
    try {
      if (Files.isSymbolicLink(name) && Files.readSymbolicLink(name).equals(socket)) {
        Files.deleteIfExists(name);
      }
    } catch (IOException e) {
      LOG.debug("Cannot remove {}: {}", name, e.toString());
    }
  }

  /** The socket of this user's process that listens on an address of this host, or null. */
  static @Nullable Path find(Path folder, InetAddress host, int port) {
    Path name = folder.resolve(name(port));
    try {
      if (!Files.isSymbolicLink(name) || !isHere(host)) {
        return null;
      }
      Path socket = Files.readSymbolicLink(name);
      return Files.exists(socket, LinkOption.NOFOLLOW_LINKS) ? socket : null;
    } catch (IOException e) {
      return null;
    }
  }

  private static boolean isHere(InetAddress host) throws IOException {
    return host.isLoopbackAddress()
        || host.isAnyLocalAddress()
        || NetworkInterface.getByInetAddress(host) != null;
  }
}
