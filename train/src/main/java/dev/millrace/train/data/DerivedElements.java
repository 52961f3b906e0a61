package dev.millrace.train.data;

/** A passage that stands where the one it takes its elements from stands. */
abstract class DerivedElements implements Elements {
  final Elements in;

  DerivedElements(Elements in) {
    this.in = in;
  }

  @Override
  public long[] position() {
    return in.position();
  }

  @Override
  public void seek(long[] position) {
    in.seek(position);
  }

  @Override
  public void repeat(long[] beginning, long number) {
    in.repeat(beginning, number);
  }

  @Override
  public void close() {
    in.close();
  }
}
