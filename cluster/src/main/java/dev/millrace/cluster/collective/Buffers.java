package dev.millrace.cluster.collective;

import com.google.protobuf.Any;
import com.google.protobuf.UnsafeByteOperations;
import dev.millrace.base.MillraceException;
import dev.millrace.base.context.Context;
import dev.millrace.proto.RecvBufRespExtra;
import dev.millrace.proto.RecvBufResponse;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

/**
 * Where the pieces of tensors that one step's collectives exchange wait for each other: this task
 * offers one under a key, another task asks for it. Either may come first; each is taken once.
 *
 * <p>Threading: any thread. Bytes are copied on the thread that comes second.
 */
public final class Buffers {
  private static final String EXTRA = "type.googleapis.com/tensorflow.RecvBufRespExtra";

  /** A piece that nobody has asked for yet. */
  private record Offer(MemorySegment bytes, CompletableFuture<Void> taken) {}

  /** Somebody who has asked for a piece that is not there yet. */
  private record PendingTake(long numBytes, CompletableFuture<RecvBufResponse> answer) {}

  private final Map<String, Offer> offers = new HashMap<>();
  private final Map<String, PendingTake> takes = new HashMap<>();
  private MillraceException aborted;

  /** Offers a piece. Its bytes must stay as they are until the future ends. */
  CompletableFuture<Void> offer(String key, MemorySegment bytes) {
    Offer offer = new Offer(bytes, new CompletableFuture<>());
    PendingTake take;
    synchronized (this) {
      if (aborted != null) {
        return CompletableFuture.failedFuture(aborted);
      }
      take = takes.remove(key);
      if (take == null) {
        offers.put(key, offer);
      }
    }
    if (take != null) {
      give(key, offer, take);
    }
    return offer.taken;
  }

  /** Takes back a piece nobody has asked for; its future fails with {@code cause}. */
  void withdraw(String key, CompletableFuture<Void> taken, MillraceException cause) {
    synchronized (this) {
      Offer o = offers.get(key);
      if (o == null || o.taken != taken) {
        return;
      }
      offers.remove(key);
    }
    taken.completeExceptionally(cause);
  }

  /** The piece offered under {@code key}, now or when it is, ready to be sent. */
  public CompletableFuture<RecvBufResponse> take(String key, long numBytes) {
    PendingTake take = new PendingTake(numBytes, new CompletableFuture<>());
    Offer offer;
    synchronized (this) {
      if (aborted != null) {
        return CompletableFuture.failedFuture(aborted);
      }
      offer = offers.remove(key);
      if (offer == null) {
        PendingTake before = takes.put(key, take);
        if (before != null) {
          before.answer.completeExceptionally(
              MillraceException.internal("Another call asks for '%s' too.", key));
        }
      }
    }
    if (offer != null) {
      give(key, offer, take);
    }
    return take.answer;
  }

  private static void give(String key, Offer offer, PendingTake take) {
    if (take.numBytes != offer.bytes.byteSize()) {
      MillraceException e =
          MillraceException.internal(
              "Piece '%s' of a collective has %d bytes here and %d at the receiver: the tensors"
                  + " differ in size, or the peer cuts them at another alignment. Set"
                  + " -Dmillrace.collective.alignment to 16, 32 or 64, whichever the peer was"
                  + " built with.",
              key, offer.bytes.byteSize(), take.numBytes);
      take.answer.completeExceptionally(e);
      offer.taken.completeExceptionally(e);
      return;
    }
    try {
      RecvBufResponse response = encode(offer.bytes);
      offer.taken.complete(null);
      take.answer.complete(response);
    } catch (Throwable t) {
      offer.taken.completeExceptionally(t);
      take.answer.completeExceptionally(t);
    }
  }

  private static RecvBufResponse encode(MemorySegment bytes) {
    RecvBufRespExtra extra =
        RecvBufRespExtra.newBuilder()
            .addTensorContent(UnsafeByteOperations.unsafeWrap(bytes.asByteBuffer()))
            .build();
    return RecvBufResponse.newBuilder()
        .setNumBytes(bytes.byteSize())
        .setTransportOptions(
            Any.newBuilder().setTypeUrl(EXTRA).setValue(extra.toByteString()).build())
        .setSendStartMicros(Context.current().timers().wallTime().toEpochMilli() * 1000)
        .build();
  }

  /** Whether nothing waits here. */
  public synchronized boolean isEmpty() {
    return offers.isEmpty() && takes.isEmpty();
  }

  /** Ends the step: everything that waits here now or later fails with {@code cause}. */
  public void abort(MillraceException cause) {
    List<CompletableFuture<?>> waiting = new ArrayList<>();
    synchronized (this) {
      if (aborted != null) {
        return;
      }
      aborted = cause;
      offers.values().forEach(o -> waiting.add(o.taken));
      takes.values().forEach(w -> waiting.add(w.answer));
      offers.clear();
      takes.clear();
    }
    waiting.forEach(f -> f.completeExceptionally(cause));
  }
}
