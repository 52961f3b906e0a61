package dev.millrace.collective.peers;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.concurrent.atomic.AtomicInteger;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.ZZ_Result;

/** The circular buffer in shared memory: what is read is what was written, in order. */
public final class SharedLinkStress {
  private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG;

  private static final int LONGS = 300;

  /** Room for half of them and more, so that the last ones wrap around. */
  private static final long CAPACITY = 160 * Long.BYTES;

  /** How often each end looks for room or bytes. */
  private static final int TRIES = 8;

  /** Places for one-way links, used in turn: far more than there are states at once. */
  private static final int PLACES = 1 << 14;

  private static final long PLACE_BYTES = 2048;
  private static final SharedMemory MEMORY = SharedMemory.inProcess(PLACES * PLACE_BYTES);
  private static final AtomicInteger NEXT = new AtomicInteger();

  private SharedLinkStress() {}

  /** One end writes while the other reads. */
  @JCStressTest
  @Outcome(id = "true, true", expect = Expect.ACCEPTABLE, desc = "All came in order.")
  @Outcome(expect = Expect.FORBIDDEN, desc = "Bytes were read early, overwritten or lost.")
  @State
  public static class WriterMeetsReader {
    private final SharedLink writer;
    private final SharedLink reader;
    private final MemorySegment sent = Arena.ofAuto().allocate(LONGS * Long.BYTES, Long.BYTES);
    private final MemorySegment got = Arena.ofAuto().allocate(LONGS * Long.BYTES, Long.BYTES);
    private long written;
    private long read;

    public WriterMeetsReader() {
      long place = (NEXT.getAndIncrement() & (PLACES - 1)) * PLACE_BYTES;
      MEMORY.segment().asSlice(place, PLACE_BYTES).fill((byte) 0);
      writer = new SharedLink(MEMORY, place, 0, CAPACITY);
      reader = new SharedLink(MEMORY, 0, place, CAPACITY);
      for (int i = 0; i < LONGS; i++) {
        sent.setAtIndex(LONG, i, i + 1);
      }
    }

    private void write() {
      written += writer.send(sent, written, sent.byteSize() - written);
    }

    private boolean readInOrder() {
      read += reader.receive(got, read, got.byteSize() - read);
      for (int i = 0; i < read / Long.BYTES; i++) {
        if (got.getAtIndex(LONG, i) != i + 1) {
          return false;
        }
      }
      return true;
    }

    @Actor
    public void writing() {
      for (int i = 0; i < TRIES; i++) {
        write();
      }
    }

    @Actor
    public void reading(ZZ_Result r) {
      boolean inOrder = true;
      for (int i = 0; i < TRIES; i++) {
        inOrder &= readInOrder();
      }
      r.r1 = inOrder;
    }

    @Arbiter
    public void after(ZZ_Result r) {
      boolean inOrder = true;
      for (int i = 0; i < TRIES; i++) {
        write();
        inOrder &= readInOrder();
      }
      r.r2 = inOrder && read == LONGS * Long.BYTES;
    }
  }
}
