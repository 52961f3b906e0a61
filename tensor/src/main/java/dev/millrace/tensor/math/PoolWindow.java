package dev.millrace.tensor.math;

/** Walks over the windows of a pooling and says which pixels of the input each one sees. */
final class PoolWindow {
  private final Pool pool;

  /** Rows and columns of the input the window sees: from (inclusive) and to (exclusive). */
  int top;

  int bottom;
  int left;
  int right;

  /** The element of the input at row 0 and column 0 of the window's image, first channel. */
  private long image;

  /** The first channel of the output of this window. */
  long output;

  private final int outputHeight;
  private final int outputWidth;

  PoolWindow(Pool pool) {
    this.pool = pool;
    this.outputHeight = pool.outputHeight();
    this.outputWidth = pool.outputWidth();
  }

  /** Moves to a column of an output row, counted over all images. */
  void moveTo(int row, int column) {
    int y = row % outputHeight;
    int x = column;
    Window rows = pool.rows();
    Window columns = pool.columns();
    top = y * rows.stride() - rows.before();
    bottom = Math.min(top + rows.size(), pool.height());
    top = Math.max(top, 0);
    left = x * columns.stride() - columns.before();
    right = Math.min(left + columns.size(), pool.width());
    left = Math.max(left, 0);
    image = (long) (row / outputHeight) * pool.height() * pool.width() * pool.channels();
    output = ((long) row * outputWidth + x) * pool.channels();
  }

  /** The first channel of a pixel of the input. */
  long input(int row, int column) {
    return image + ((long) row * pool.width() + column) * pool.channels();
  }

  /** Pixels the window sees; may be 0 in wide padding. */
  int count() {
    return Math.max(0, bottom - top) * Math.max(0, right - left);
  }
}
