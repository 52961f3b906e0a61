package dev.millrace.cluster.transport;

import io.grpc.netty.shaded.io.netty.channel.Channel;
import io.grpc.netty.shaded.io.netty.channel.unix.UnixChannel;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.net.InetSocketAddress;

/**
 * Connections that do not leave the host. Where the host's default way to control congestion paces
 * what it sends (bbr), they are slowed by a third for nothing: there is no network to spare. Linux
 * lets each connection choose another.
 */
final class Loopback {
  private static final int IPPROTO_TCP = 6;
  private static final int TCP_CONGESTION = 13;
  private static final String UNPACED = "reno";
  private static final MethodHandle SETSOCKOPT = setsockopt();

  private Loopback() {}

  /** Takes the pace off {@code channel} if both its ends are here; does nothing where it cannot. */
  static void unpace(Channel channel) {
    if (SETSOCKOPT != null
        && channel instanceof UnixChannel unix
        && channel.remoteAddress() instanceof InetSocketAddress remote
        && remote.getAddress().isLoopbackAddress()) {
      try (Arena arena = Arena.ofConfined()) {
        MemorySegment name = arena.allocateFrom(UNPACED);
        // A refusal leaves the connection as it is, which will do.
        int refused =
            (int)
                SETSOCKOPT.invokeExact(
                    unix.fd().intValue(), IPPROTO_TCP, TCP_CONGESTION, name, UNPACED.length());
      } catch (Throwable t) {
        throw new IllegalStateException(t);
      }
    }
  }

  private static MethodHandle setsockopt() {
    if (!System.getProperty("os.name").equals("Linux")) {
      return null;
    }
    Linker linker = Linker.nativeLinker();
    return linker
        .defaultLookup()
        .find("setsockopt")
        .map(
            f ->
                linker.downcallHandle(
                    f,
                    FunctionDescriptor.of(
                        ValueLayout.JAVA_INT,
                        ValueLayout.JAVA_INT,
                        ValueLayout.JAVA_INT,
                        ValueLayout.JAVA_INT,
                        ValueLayout.ADDRESS,
                        ValueLayout.JAVA_INT)))
        .orElse(null);
  }
}
