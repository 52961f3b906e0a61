package dev.millrace.job.input;

import dev.millrace.base.MillraceException;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.data.Dataset;
import dev.millrace.train.data.Elements;

/**
 * The elements of a dataset that fall to one worker, epoch after epoch without end. The position is
 * the epoch and how many elements of it were given.
 */
public record DealtData(Dataset source, InputLedger ledger, int worker) implements Dataset {
  @Override
  public int positionLength() {
    return InputLedger.COLUMNS;
  }

  @Override
  public Elements elements() {
    return new Passage();
  }

  private final class Passage implements Elements {
    private final Elements in = source.elements();
    private final long[] beginning = in.position();
    private long epoch;
    private long given;
    private long passed;
    private InputLedger.Dealer dealer = ledger.deal(0);

    @Override
    public Tensor[] next() {
      while (true) {
        boolean mine = dealer.next() == worker;
        Tensor[] element = mine ? in.next() : null;
        if (mine ? element == null : !in.skipNext()) {
          begin(epoch + 1, true);
          continue;
        }
        passed++;
        if (mine) {
          given++;
          return element;
        }
      }
    }

    private void begin(long number, boolean check) {
      if (check && given == 0 && (passed == 0 || !ledger.isBegun(epoch))) {
        throw MillraceException.invalid(
            "Worker %d has no training data: an epoch has %d elements. Start fewer workers, or give"
                + " more data.",
            worker, passed);
      }
      epoch = number;
      given = 0;
      passed = 0;
      dealer = ledger.deal(number);
      in.repeat(beginning, number);
    }

    @Override
    public long[] position() {
      return new long[] {epoch, given};
    }

    @Override
    public void seek(long[] position) {
      begin(position[0], false);
      while (given < position[1]) {
        if (!in.skipNext()) {
          throw MillraceException.failedPrecondition(
              "The training data ends before the place that was saved: worker %d had taken %d"
                  + " elements of epoch %d, and there are %d now. Give the job the data it had, or"
                  + " start anew with another --log-dir.",
              worker, position[1], position[0], given);
        }
        passed++;
        if (dealer.next() == worker) {
          given++;
        }
      }
    }

    @Override
    public void close() {
      in.close();
    }
  }
}
