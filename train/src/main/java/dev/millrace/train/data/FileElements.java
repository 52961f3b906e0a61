package dev.millrace.train.data;

import dev.millrace.base.MillraceException;
import dev.millrace.tensor.Tensor;

/** A passage through files, one after the other: the position is the file and how many it gave. */
abstract class FileElements implements Elements {
  private final int files;
  private int file;
  private long given;
  private boolean open;

  FileElements(int files) {
    this.files = files;
  }

  /** Opens file number {@code number}. */
  abstract void open(int number);

  /** The next element of the open file; null at its end. */
  abstract Tensor[] read();

  /** Closes the open file. */
  abstract void closeFile();

  @Override
  public final Tensor[] next() {
    while (file < files) {
      if (!open) {
        open(file);
        open = true;
      }
      Tensor[] element = read();
      if (element != null) {
        given++;
        return element;
      }
      close();
      file++;
      given = 0;
    }
    return null;
  }

  @Override
  public final long[] position() {
    return new long[] {file, given};
  }

  @Override
  public final void seek(long[] position) {
    close();
    file = Math.toIntExact(position[0]);
    given = 0;
    while (given < position[1]) {
      Elements.pass(this);
      if (file != position[0]) {
        throw MillraceException.failedPrecondition(
            "File number %d of the input has fewer elements than the %d it had when the position"
                + " was saved. Give the training the data it had, or start anew in another folder.",
            position[0], position[1]);
      }
    }
  }

  @Override
  public final void close() {
    if (open) {
      open = false;
      closeFile();
    }
  }
}
