package dev.millrace.graph;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.resource.CollectiveExecutor;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.Locale;

/**
 * Exchanges the tensors of one step: Send stores a value under a key, and Recv takes it. Either may
 * come first. Values sent under one key are received in order.
 *
 * <p>Threading: any thread; receivers are called on the thread that completes the pair.
 */
public interface Rendezvous {
  /** Takes what was sent. */
  interface Receiver {
    /** The value, with a counted reference that is the receiver's; or a dead one. */
    void received(Tensor value, boolean dead);

    /** The step was aborted, before the call or after, or the value could not be fetched. */
    void failed(MillraceException cause);
  }

  /**
   * The name of an edge in a step: {@code device;incarnation;device;tensor;frame:iteration}. The
   * last part differs between iterations of a loop, so it is given apart.
   */
  record Key(
      String sendDevice, long incarnation, String recvDevice, String tensorName, String full) {
    /** The key of an edge outside any loop. */
    public static Key of(String sendDevice, long incarnation, String recvDevice, String name) {
      return of(sendDevice, incarnation, recvDevice, name, "0:0");
    }

    /** The key of an edge outside any loop, of which {@code end} is the Send or the Recv. */
    public static Key of(Node end) {
      return of(
          end.stringAttr("send_device"),
          end.longAttr("send_device_incarnation"),
          end.stringAttr("recv_device"),
          end.stringAttr("tensor_name"));
    }

    /** The key of an edge in a loop's frame and iteration. */
    public static Key of(
        String sendDevice, long incarnation, String recvDevice, String name, String frame) {
      String full =
          sendDevice + ';' + hex16(incarnation) + ';' + recvDevice + ';' + name + ';' + frame;
      return new Key(sendDevice, incarnation, recvDevice, name, full);
    }

    /** This key in another frame and iteration. */
    public Key in(String frame) {
      return frame.equals("0:0")
          ? this
          : of(sendDevice, incarnation, recvDevice, tensorName, frame);
    }

    /** Parses the form on the wire. */
    public static Key parse(String full) {
      String[] p = full.split(";", -1);
      boolean ok = p.length == 5 && p[1].matches("[0-9a-f]{1,16}");
      for (String part : p) {
        ok &= !part.isEmpty();
      }
      if (!ok) {
        throw MillraceException.invalid(
            "'%s' is not a rendezvous key; those have five parts: sender;incarnation;receiver;"
                + "tensor;frame:iteration.",
            full);
      }
      return new Key(p[0], Long.parseUnsignedLong(p[1], 16), p[2], p[3], full);
    }

    private static String hex16(long v) {
      String h = Long.toHexString(v);
      return "0".repeat(16 - h.length()) + h;
    }
  }

  /** Sends a value, or marks it as dead. Takes one counted reference to the value. */
  void send(Key key, Tensor value, boolean dead);

  /**
   * Copies a value that may change before it is sent under {@code key}, to memory that suits the
   * transport. The caller owns one counted reference.
   */
  default Tensor stage(Key key, Tensor value) {
    return Refs.copy(value);
  }

  /**
   * Memory for a value that will be sent under {@code key} and read by nobody else, where the way
   * to the receiver wants it, so that it need not be copied; null where any memory will do. The
   * caller's with one counted reference.
   */
  default Tensor room(Key key, DType dtype, Shape shape) {
    return null;
  }

  /** Receives the value of {@code key}, now or when it is sent. */
  void recv(Key key, Receiver receiver);

  /** Flushes values sent so far. The sender calls this before it waits. */
  default void flush() {}

  /** Operations in which this step on this task takes part with others. */
  default CollectiveExecutor collectives() {
    return (part, work, value, cancellation) -> {
      throw new MillraceException(
          Code.FAILED_PRECONDITION,
          String.format(
              Locale.ROOT,
              "'%s' belongs to a group of %d devices, but this session has one device and no"
                  + " cluster. Start a server per task and open the session on one of them.",
              part.name(),
              part.groupSize()));
    };
  }

  /**
   * Aborts the step: current and later receivers fail with {@code cause}. Only the first call has
   * an effect.
   */
  void abort(MillraceException cause);
}
