package dev.millrace.collective.member;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.base.Platform;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.Arrays;

/**
 * How two processes of a job prove to each other that they belong to it, before anything else goes
 * over a connection. Each sends a random number, and answers with a keyed hash of both numbers and
 * of who the caller says it is. Nothing sent helps a stranger to do the same.
 *
 * <pre>
 * host:   magic, version, number
 * caller: magic, version, number, {@link Hello}, hash
 * host:   hash, or zeros if the caller's is wrong
 * </pre>
 */
public final class Handshake {
  private static final int MAGIC = 0x4D4C5243;
  private static final byte VERSION = 1;
  private static final int NUMBER_BYTES = 16;
  private static final int HASH_BYTES = 32;
  private static final int HELLO_BYTES = 1 + 4 + 4;

  /** Instead of a hash. A connection that just ends says nothing about the token. */
  private static final byte[] REFUSED = new byte[HASH_BYTES];

  private Handshake() {}

  /** What a connection is for. */
  public enum Purpose {
    /** A rank's connection to the coordinator. */
    CONTROL,
    /** A stream of data between two ranks. */
    DATA
  }

  /** Who calls: which of how many ranks, and what for. */
  public record Hello(Purpose purpose, int rank, int size) {}

  /** The caller's side. Throws UNAUTHENTICATED if the host does not know the token. */
  public static void call(
      SocketChannel channel, Token token, Hello hello, Platform platform, long endNanos)
      throws IOException {
    try (TimedChannel timed = new TimedChannel(channel, platform, endNanos)) {
      byte[] theirs = number(timed.read(4 + 1 + NUMBER_BYTES));
      byte[] mine = randomNumber(platform);
      byte[] both = concat(theirs, mine, bytes(hello));
      ByteBuffer answer =
          ByteBuffer.allocate(4 + 1 + NUMBER_BYTES + HELLO_BYTES + HASH_BYTES)
              .putInt(MAGIC)
              .put(VERSION)
              .put(mine)
              .put(bytes(hello))
              .put(sign(token, "caller", both));
      timed.write(answer.flip());
      byte[] proof = new byte[HASH_BYTES];
      timed.read(HASH_BYTES).get(proof);
      if (Arrays.equals(proof, REFUSED)) {
        throw stranger(channel, "does not accept");
      }
      if (!MessageDigest.isEqual(proof, sign(token, "host", both))) {
        throw stranger(channel, "does not know");
      }
    }
  }

  private static MillraceException stranger(SocketChannel channel, String does) throws IOException {
    return new MillraceException(
        Code.UNAUTHENTICATED,
        String.format(
            "The process at %s %s this process's job token. Give all processes of a job the same"
                + " token, and each job an address of its own.",
            channel.getRemoteAddress(), does));
  }

  /** The host's side: who called. Throws if the caller does not know the token. */
  static Hello answer(SocketChannel channel, Token token, Platform platform, long endNanos)
      throws IOException {
    try (TimedChannel timed = new TimedChannel(channel, platform, endNanos)) {
      byte[] mine = randomNumber(platform);
      ByteBuffer greeting = ByteBuffer.allocate(4 + 1 + NUMBER_BYTES);
      timed.write(greeting.putInt(MAGIC).put(VERSION).put(mine).flip());
      byte[] theirs = number(timed.read(4 + 1 + NUMBER_BYTES));
      byte[] hello = new byte[HELLO_BYTES];
      timed.read(HELLO_BYTES).get(hello);
      byte[] proof = new byte[HASH_BYTES];
      timed.read(HASH_BYTES).get(proof);
      byte[] both = concat(mine, theirs, hello);
      if (!MessageDigest.isEqual(proof, sign(token, "caller", both))) {
        timed.write(ByteBuffer.wrap(REFUSED));
        throw new MillraceException(
            Code.UNAUTHENTICATED, "A caller does not know this job's token.");
      }
      timed.write(ByteBuffer.wrap(sign(token, "host", both)));
      return parse(hello);
    }
  }

  private static byte[] number(ByteBuffer greeting) throws IOException {
    if (greeting.getInt() != MAGIC) {
      throw new IOException("the other side does not speak Millrace's protocol");
    }
    byte version = greeting.get();
    if (version != VERSION) {
      throw new IOException("the other side speaks version " + version + ", not " + VERSION);
    }
    byte[] number = new byte[NUMBER_BYTES];
    greeting.get(number);
    return number;
  }

  private static byte[] randomNumber(Platform platform) {
    byte[] number = new byte[NUMBER_BYTES];
    platform.secureRandom().nextBytes(number);
    return number;
  }

  private static byte[] bytes(Hello hello) {
    return ByteBuffer.allocate(HELLO_BYTES)
        .put((byte) hello.purpose.ordinal())
        .putInt(hello.rank)
        .putInt(hello.size)
        .array();
  }

  private static Hello parse(byte[] bytes) throws IOException {
    ByteBuffer b = ByteBuffer.wrap(bytes);
    int purpose = b.get();
    if (purpose < 0 || purpose >= Purpose.values().length) {
      throw new IOException("a connection for an unknown purpose");
    }
    return new Hello(Purpose.values()[purpose], b.getInt(), b.getInt());
  }

  /** The side is part of what is signed, so that one side's proof is not the other's. */
  private static byte[] sign(Token token, String side, byte[] message) {
    return token.sign(concat(side.getBytes(StandardCharsets.US_ASCII), message));
  }

  private static byte[] concat(byte[]... parts) {
    byte[] all = new byte[Arrays.stream(parts).mapToInt(p -> p.length).sum()];
    int at = 0;
    for (byte[] p : parts) {
      System.arraycopy(p, 0, all, at, p.length);
      at += p.length;
    }
    return all;
  }
}
