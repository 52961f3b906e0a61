package dev.millrace.collective.member;

/** The types of control messages, by the byte that stands for them. */
final class Message {
  /** Coordinator to rank: you are in. */
  static final byte WELCOME = 1;

  /** Coordinator to rank: you are not, with code and reason. */
  static final byte REFUSED = 2;

  /** Rank to coordinator: key and contribution. Back, when all have come: key and all of them. */
  static final byte EXCHANGE = 3;

  /** Both ways: still here. */
  static final byte HEARTBEAT = 4;

  /** Rank to coordinator: I cannot go on. To all ranks: the first failure. Code and text. */
  static final byte FAILED = 5;

  /** Rank to coordinator: my stream to that rank broke, and how. */
  static final byte LOST = 6;

  /** Rank to coordinator: leave. */
  static final byte LEAVE = 7;

  /** Coordinator to all: that rank has left. */
  static final byte LEFT = 8;

  /** Both ways: something for the service that runs beside the coordinator. */
  static final byte SERVICE = 9;

  private Message() {}
}
