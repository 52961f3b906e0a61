package dev.millrace.collective;

import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** Runs one pass of a sequence, bucket by bucket, on the ring's thread. */
final class SequenceRun {
  private final Communicator ranks;
  private final Request request;
  private final long bucketBytes;

  /** Null unless this rank keeps one. */
  private final Timeline timeline;

  SequenceRun(Communicator ranks, Request request, long bucketBytes, Timeline timeline) {
    this.ranks = ranks;
    this.request = request;
    this.bucketBytes = bucketBytes;
    this.timeline = timeline;
  }

  /** {@code pass} is null on a rank that has joined and contributes zeros. */
  void run(SequencePass pass, Duration patience, Runnable check) {
    int count = request.shapes().size();
    for (int from = 0; from < count; ) {
      int to = from;
      for (long bytes = 0; to < count && (to == from || bytes < bucketBytes); to++) {
        bytes += request.shapes().get(to).elements() * request.dtype().bytes();
      }
      reduce(pass, from, to, patience, check);
      from = to;
    }
  }

  private void reduce(SequencePass pass, int from, int to, Duration patience, Runnable check) {
    List<Tensor> targets = new ArrayList<>();
    try {
      List<Tensor> sources = pass == null ? targets : pass.await(from, to, patience, check);
      if (timeline != null) {
        timeline.begin(request, from, to);
      }
      for (int i = from; i < to; i++) {
        Shape shape = request.shapes().get(i);
        boolean inPlace =
            pass != null && pass.mayOverwrite(i) && ranks.isInPlace(sources.get(i - from));
        targets.add(
            inPlace
                ? Refs.reshaped(sources.get(i - from), shape)
                : ranks.allocateTarget(request.dtype(), shape, to - from));
      }
      if (pass == null) {
        targets.forEach(t -> t.data().fill((byte) 0));
      }
      ranks.allReduce(sources, targets, request.op());
      if (timeline != null) {
        timeline.end(request);
      }
    } catch (RuntimeException | Error e) {
      targets.forEach(Refs::release);
      throw e;
    }
    for (int i = from; i < to; i++) {
      if (pass == null) {
        Refs.release(targets.get(i - from));
      } else {
        pass.complete(i, Refs.handle(targets.get(i - from)));
      }
    }
  }
}
