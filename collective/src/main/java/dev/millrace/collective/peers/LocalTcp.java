package dev.millrace.collective.peers;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.nio.channels.SocketChannel;
import java.nio.channels.spi.SelectorProvider;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * Tunes TCP connections that do not leave this machine. There is no congestion on them, but a
 * congestion control that paces what it sends, such as BBR, still holds data back: half the
 * bandwidth was measured. Reno, which every Linux has, does not.
 *
 * <p>The JDK has no name for this option and hides the number of a channel's file, so the kernel's
 * tables are asked for it. Where any of this is impossible the connection stays as it is.
 */
public final class LocalTcp {
  private static final int IPPROTO_TCP = 6;
  private static final int TCP_CONGESTION = 13;
  private static final List<Path> TABLES =
      List.of(Path.of("/proc/self/net/tcp6"), Path.of("/proc/self/net/tcp"));
  private static final Path FILES = Path.of("/proc/self/fd");

  private LocalTcp() {}

  /** Sets the option if both ends of this connection are on this machine. */
  public static void tune(SocketChannel channel) {
    if (channel.provider() != SelectorProvider.provider()) {
      return;
    }
    try {
      InetSocketAddress local = (InetSocketAddress) channel.getLocalAddress();
      InetSocketAddress remote = (InetSocketAddress) channel.getRemoteAddress();
      String inode = staysHere(remote) ? inode(local.getPort(), remote.getPort()) : null;
      int file = inode == null ? -1 : file("socket:[" + inode + "]");
      if (file >= 0) {
        setCongestionControl(file, "reno");
      }
    } catch (IOException | RuntimeException e) {
      // Slower, but as good.
    }
  }

  private static boolean staysHere(InetSocketAddress remote) throws IOException {
    return remote.getAddress().isLoopbackAddress()
        || NetworkInterface.getByInetAddress(remote.getAddress()) != null;
  }

  /** The kernel's number of the socket between these ports, or null. */
  private static String inode(int localPort, int remotePort) throws IOException {
    String local = String.format(":%04X", localPort);
    String remote = String.format(":%04X", remotePort);
    for (Path table : TABLES) {
      if (Files.isReadable(table)) {
        for (String line : Files.readAllLines(table)) {
          String[] words = line.strip().split("\\s+");
          if (words.length > 9 && words[1].endsWith(local) && words[2].endsWith(remote)) {
            return words[9];
          }
        }
      }
    }
    return null;
  }

  /** The number of this process's file that leads there, or -1. */
  private static int file(String target) throws IOException {
    try (DirectoryStream<Path> files = Files.newDirectoryStream(FILES)) {
      for (Path f : files) {
        if (Files.isSymbolicLink(f) && leadsTo(f, target)) {
          return Integer.parseInt(f.getFileName().toString());
        }
      }
    }
    return -1;
  }

  private static boolean leadsTo(Path link, String target) {
    try {
      return Files.readSymbolicLink(link).toString().equals(target);
    } catch (IOException e) {
      // Closed meanwhile.
      return false;
    }
  }

  private static void setCongestionControl(int file, String name) {
    Linker linker = Linker.nativeLinker();
    MethodHandle setsockopt =
        linker.downcallHandle(
            linker.defaultLookup().find("setsockopt").orElseThrow(),
            FunctionDescriptor.of(
                ValueLayout.JAVA_INT,
                ValueLayout.JAVA_INT,
                ValueLayout.JAVA_INT,
                ValueLayout.JAVA_INT,
                ValueLayout.ADDRESS,
                ValueLayout.JAVA_INT));
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment value = arena.allocateFrom(name);
      int ignored =
          (int) setsockopt.invokeExact(file, IPPROTO_TCP, TCP_CONGESTION, value, name.length());
    } catch (Throwable t) {
      throw new IllegalStateException(t);
    }
  }
}
