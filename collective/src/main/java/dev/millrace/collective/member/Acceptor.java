package dev.millrace.collective.member;

import dev.millrace.base.Platform;
import java.io.IOException;
import java.net.SocketAddress;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.concurrent.Semaphore;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A listening socket that lets in only those who know the job's token. Strangers, garbage and
 * callers that say nothing are dropped after a moment, without troubling anybody else.
 *
 * <p>Threading: guests are handed over on threads of the door's own, several at a time.
 */
public final class Acceptor implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(Acceptor.class);
  private static final Duration PATIENCE = Duration.ofSeconds(5);
  private static final Duration PAUSE = Duration.ofMillis(50);

  /** How many callers may be at the door at once; more are turned away and may try again. */
  private static final int CROWD = 256;

  /** Somebody who has proved to belong to the job. */
  @FunctionalInterface
  public interface Guests {
    /** Takes over a channel, which is in non-blocking mode. */
    void welcome(Handshake.Hello hello, SocketChannel channel);
  }

  private final ServerSocketChannel listener;
  private final Token token;
  private final Guests guests;
  private final Platform platform;
  private final Semaphore crowd = new Semaphore(CROWD);

  private Acceptor(ServerSocketChannel listener, Token token, Platform platform, Guests guests) {
    this.platform = platform;
    this.listener = listener;
    this.token = token;
    this.guests = guests;
  }

  /** Opens the door that {@code listener}, already bound, leads to. */
  public static Acceptor open(
      ServerSocketChannel listener, Token token, Platform platform, Guests guests) {
    Acceptor door = new Acceptor(listener, token, platform, guests);
    platform.newVirtualThread("millrace-door", door::acceptAll).start();
    return door;
  }

  /** Where it listens. */
  public SocketAddress address() {
    try {
      return listener.getLocalAddress();
    } catch (IOException e) {
      throw new IllegalStateException("the door is closed", e);
    }
  }

  private void acceptAll() {
    while (listener.isOpen()) {
      try {
        SocketChannel channel = listener.accept();
        if (crowd.tryAcquire()) {
          platform.newVirtualThread("millrace-door-admit", () -> admit(channel)).start();
        } else {
          channel.close();
        }
      } catch (ClosedChannelException e) {
        return;
      } catch (IOException e) {
        // For instance no file handles left: the next caller may have more luck.
        LOG.warn("Cannot accept a connection: {}", e.getMessage());
        pause();
      }
    }
  }

  private void pause() {
    try {
      platform.timers().sleep(PAUSE);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private void admit(SocketChannel channel) {
    try {
      long end = platform.timers().now() + PATIENCE.toNanos();
      Handshake.Hello hello = Handshake.answer(channel, token, platform, end);
      guests.welcome(hello, channel);
    } catch (IOException | RuntimeException e) {
      LOG.debug("Turned a caller away: {}", e.getMessage());
      try {
        channel.close();
      } catch (IOException again) {
        // It is gone already.
      }
    } finally {
      crowd.release();
    }
  }

  /** Lets nobody in any more. Guests stay. */
  @Override
  public void close() {
    try {
      listener.close();
    } catch (IOException e) {
      // Nobody is left to tell.
    }
  }
}
