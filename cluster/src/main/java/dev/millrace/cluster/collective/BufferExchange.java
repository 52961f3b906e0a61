package dev.millrace.cluster.collective;

import com.google.protobuf.ByteString;
import com.google.protobuf.CodedInputStream;
import dev.millrace.base.Cancellation;
import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.cluster.peer.WorkerPeers;
import dev.millrace.graph.resource.CollectiveExecutor;
import dev.millrace.proto.RecvBufRequest;
import dev.millrace.proto.RecvBufRespExtra;
import dev.millrace.proto.RecvBufResponse;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ThreadLocalRandom;

/**
 * One run of a collective on one device: it offers pieces of its tensor to other devices of the
 * group and fetches theirs. After {@link #close} nobody reads the offered memory any more.
 */
final class BufferExchange implements AutoCloseable {
  private final long stepId;
  private final CollectiveExecutor.Part part;
  private final CollectiveGroup group;
  private final Buffers buffers;
  private final WorkerPeers peers;
  private final CollectiveDeadline patience;
  private final Cancellation cancellation;
  private final Map<String, CompletableFuture<Void>> offers = new LinkedHashMap<>();

  BufferExchange(
      long stepId,
      CollectiveExecutor.Part part,
      CollectiveGroup group,
      Buffers buffers,
      WorkerPeers peers,
      CollectiveDeadline patience,
      Cancellation cancellation) {
    this.stepId = stepId;
    this.part = part;
    this.group = group;
    this.buffers = buffers;
    this.peers = peers;
    this.patience = patience;
    this.cancellation = cancellation;
  }

  CollectiveGroup group() {
    return group;
  }

  /** This device's rank. */
  int rank() {
    return group.rank(part.device());
  }

  /** The name of a piece among all of the step; TensorFlow puts nothing before {@code piece}. */
  private String key(String piece) {
    return part.groupKey() + ":" + part.instanceKey() + ":" + part.frame() + piece;
  }

  /** Offers a piece to whoever asks for it by this name. */
  void offer(String piece, MemorySegment bytes) {
    String key = key(piece);
    offers.put(key, buffers.offer(key, bytes));
  }

  /** Asks a device of the group for a piece of this many bytes. */
  Fetch fetch(String piece, int fromRank, long numBytes) {
    CollectiveGroup.Member from = group.members().get(fromRank);
    RecvBufRequest request =
        RecvBufRequest.newBuilder()
            .setStepId(stepId)
            .setBufRendezvousKey(key(piece))
            .setNumBytes(numBytes)
            .setSrcDevice(from.device())
            .setSrcIncarnation(from.incarnation())
            .setDstDevice(part.device())
            .setRequestId(1 + (ThreadLocalRandom.current().nextLong() >>> 1))
            .build();
    return new Fetch(
        from.device(),
        numBytes,
        peers.peer(from.task()).recvBuffer(request, patience.callLimit(), cancellation));
  }

  /** A piece that was asked for. */
  final class Fetch {
    private final String from;
    private final long numBytes;
    private final CompletableFuture<RecvBufResponse> answer;

    private Fetch(String from, long numBytes, CompletableFuture<RecvBufResponse> answer) {
      this.from = from;
      this.numBytes = numBytes;
      this.answer = answer;
    }

    /** Waits for the piece and copies it to {@code into}, which is as long as was asked for. */
    void into(MemorySegment into) {
      RecvBufResponse response = patience.await(answer, "a piece from " + from);
      try {
        ByteString packed = response.getTransportOptions().getValue();
        CodedInputStream input = packed.newCodedInput();
        input.enableAliasing(true);
        long at = 0;
        for (ByteString chunk : RecvBufRespExtra.parseFrom(input).getTensorContentList()) {
          if (at + chunk.size() <= numBytes) {
            MemorySegment.copy(
                MemorySegment.ofBuffer(chunk.asReadOnlyByteBuffer()), 0, into, at, chunk.size());
          }
          at += chunk.size();
        }
        if (at != numBytes) {
          throw MillraceException.internal(
              "%s sent %d bytes where %d were asked for.", from, at, numBytes);
        }
      } catch (IOException e) {
        throw MillraceException.internal(
            "What %s sent for %s cannot be read: %s", from, part.name(), e.getMessage());
      }
    }
  }

  /** Waits until everything that was offered has been taken. */
  void awaitTaken() {
    for (CompletableFuture<Void> taken : offers.values()) {
      patience.await(taken, "others of group " + group.key() + " to take its pieces");
    }
  }

  @Override
  public void close() {
    MillraceException gone =
        new MillraceException(Code.CANCELLED, part.name() + " has failed.").asDerived();
    offers.forEach((key, taken) -> buffers.withdraw(key, taken, gone));
    // Whoever is copying a piece now is done with it soon.
    CompletableFuture.allOf(offers.values().toArray(new CompletableFuture<?>[0]))
        .handle((v, e) -> null)
        .join();
  }
}
