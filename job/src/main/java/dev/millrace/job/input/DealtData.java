package dev.millrace.job.input;

import dev.millrace.base.MillraceException;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.data.Dataset;
import dev.millrace.train.data.Elements;
import dev.millrace.train.data.RowBuffer;
import java.util.List;

/**
 * The elements of a dataset that fall to one worker, epoch after epoch. The position is the epoch,
 * the number of the part among the worker's, and how many elements of it were given.
 *
 * @param epochs after how many epochs it ends; {@link Long#MAX_VALUE} for never
 */
public record DealtData(Dataset source, InputLedger ledger, int worker, long epochs)
    implements Dataset {
  /** How many elements are read at once where those of several workers stand in turns. */
  private static final int PIECE = 256;

  /** The parts of an epoch of {@code data}: its splits, or itself. */
  public static List<Dataset> parts(Dataset data, long epoch) {
    List<Dataset> splits = data.splits(epoch);
    return splits.isEmpty() ? List.of(data) : splits;
  }

  @Override
  public int positionLength() {
    return InputLedger.COLUMNS;
  }

  @Override
  public Elements elements() {
    return new Passage();
  }

  private final class Passage implements Elements {
    private long epoch;
    private int part;
    private long given;

    /** Whether the epoch was begun here and nothing of it was given. */
    private boolean nothing = true;

    /** The parts of the epoch and what this worker has of them; null before they are known. */
    private List<Dataset> parts;

    private List<InputLedger.Share> shares;

    /** The passage through the part; null before its first element. */
    private Elements in;

    /** What was read ahead of a part whose elements are dealt one by one, and is not dealt yet. */
    private final RowBuffer piece = new RowBuffer(PIECE);

    private int dealt;

    @Override
    public Tensor[] next() {
      if (!open()) {
        return null;
      }
      if (share().isWhole()) {
        Tensor[] element = in.next();
        if (element == null) {
          endPart();
          return next();
        }
        given();
        return element;
      }
      try (RowBuffer one = new RowBuffer(1)) {
        return read(one, 1) == 0 ? null : one.take(0);
      }
    }

    @Override
    public int read(RowBuffer to, int max) {
      int n = 0;
      while (n < max && open()) {
        int read = share().isWhole() ? in.read(to, max - n) : deal(to, max - n);
        n += read;
        given += read;
        nothing &= read == 0;
        if (n < max) {
          endPart();
        }
      }
      return n;
    }

    private void given() {
      given++;
      nothing = false;
    }

    private InputLedger.Share share() {
      return shares.get(part);
    }

    /** Appends this worker's elements of the part, up to {@code max} of them. */
    private int deal(RowBuffer to, int max) {
      int n = 0;
      while (n < max && fill()) {
        if (share().deal()) {
          piece.copy(dealt, to);
          n++;
        }
        dealt++;
      }
      return n;
    }

    /** Whether there is another element in the piece. */
    private boolean fill() {
      if (dealt == piece.size()) {
        piece.clear();
        dealt = 0;
        return in.read(piece, PIECE) > 0;
      }
      return true;
    }

    private void endPart() {
      close();
      part++;
      given = 0;
    }

    /** Opens the part that is next; false at the end of the last epoch. */
    private boolean open() {
      while (in == null) {
        if (epoch >= epochs) {
          return false;
        }
        if (shares == null) {
          parts = DealtData.parts(source, epoch);
          shares = ledger.shares(worker, epoch, parts.size());
        }
        if (part < shares.size()) {
          openPart();
        } else {
          checkSomeWere();
          begin(epoch + 1, 0, 0);
        }
      }
      return true;
    }

    private void openPart() {
      in = parts.get(share().part()).elements();
      if (epoch > 0) {
        in.repeat(in.position(), epoch);
      }
      if (share().isWhole()) {
        long passed = share().taken() + given;
        if (Elements.skip(in, passed) < passed) {
          throw shorter();
        }
        return;
      }
      for (long mine = 0; mine < given; dealt++) {
        if (!fill()) {
          throw shorter();
        }
        mine += share().deal() ? 1 : 0;
      }
    }

    private MillraceException shorter() {
      return MillraceException.failedPrecondition(
          "The training data ends before the place that was saved: worker %d had taken %d elements"
              + " of its part %d of epoch %d, which has fewer now. Give the job the data it had, or"
              + " start over with another --log-dir.",
          worker, given, part, epoch);
    }

    private void checkSomeWere() {
      if (nothing && !ledger.isBegun(epoch)) {
        throw MillraceException.invalid(
            "Worker %d has no training data in epoch %d. Start fewer workers, or give more data.",
            worker, epoch);
      }
    }

    private void begin(long number, long atPart, long count) {
      close();
      epoch = number;
      part = Math.toIntExact(atPart);
      given = count;
      nothing = atPart == 0 && count == 0;
      parts = null;
      shares = null;
    }

    @Override
    public long[] position() {
      return new long[] {epoch, part, given};
    }

    @Override
    public void seek(long[] position) {
      begin(position[0], position[1], position[2]);
    }

    @Override
    public void close() {
      piece.clear();
      dealt = 0;
      if (in != null) {
        in.close();
        in = null;
      }
    }
  }
}
