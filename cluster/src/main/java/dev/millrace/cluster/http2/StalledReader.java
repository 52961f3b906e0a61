package dev.millrace.cluster.http2;

import dev.millrace.base.Timers;
import dev.millrace.base.config.ClusterSettings;
import dev.millrace.base.context.Context;
import io.grpc.netty.shaded.io.netty.channel.ChannelHandlerContext;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Closes the connection of a peer that has asked for tensors and does not read them. A tensor
 * cannot be given back while it waits to leave, so that such peers could fill the memory.
 *
 * <p>Threading: the connection's event loop.
 */
final class StalledReader {
  private static final Logger LOG = LoggerFactory.getLogger(StalledReader.class);

  private final Timers timers;
  private final long patienceNanos;

  /** Pieces that have not left. */
  private int waiting;

  private long movedNanos;
  private boolean watched;

  /** With the clock and the limit of the server's context. */
  StalledReader(Context context) {
    timers = context.timers();
    patienceNanos = context.config().get(ClusterSettings.STALL).toNanos();
  }

  /** A piece of a tensor is to leave. */
  void begins(ChannelHandlerContext ctx) {
    if (waiting++ == 0) {
      movedNanos = timers.now();
    }
    if (!watched) {
      look(ctx);
    }
  }

  /** A piece has left, or never will. */
  void ended() {
    waiting--;
    movedNanos = timers.now();
  }

  private void look(ChannelHandlerContext ctx) {
    watched = waiting > 0 && ctx.channel().isActive();
    long left = patienceNanos - (timers.now() - movedNanos);
    if (watched && left > 0) {
      ctx.executor().schedule(() -> look(ctx), left, TimeUnit.NANOSECONDS);
    } else if (watched) {
      LOG.warn(
          "{} has asked for a tensor and read nothing of it for {} s: its connection is closed.",
          ctx.channel().remoteAddress(),
          TimeUnit.NANOSECONDS.toSeconds(patienceNanos));
      ctx.close();
    }
  }
}
