package dev.millrace.train.data.bucket;

import dev.millrace.base.MillraceException;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.data.Dataset;
import dev.millrace.train.data.Elements;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.ToLongFunction;
import java.util.function.UnaryOperator;

/**
 * Batches of elements of about the same length, such as sentences, so that little is filled up:
 * {@code data.apply(LengthBuckets.of(...))}. A position is where the source stood at the beginning
 * and how many batches were given since; going there makes them again, without giving them out.
 */
public record LengthBuckets(
    Dataset source,
    ToLongFunction<Tensor[]> length,
    long[] ends,
    int[] sizes,
    boolean dropRemainder)
    implements Dataset {
  /**
   * Bucket {@code i} takes the elements shorter than {@code ends[i]}, the last one all longer ones,
   * and gives batches of {@code sizes[i]}. The tensors of a batch get the size of its largest, with
   * 0 or the empty string behind their ends. At the end, buckets that are not full are dropped if
   * asked.
   *
   * @param length the length of an element, which is borrowed
   * @param ends rising
   * @param sizes one more than {@code ends}
   */
  public static UnaryOperator<Dataset> of(
      ToLongFunction<Tensor[]> length, long[] ends, int[] sizes, boolean dropRemainder) {
    return source -> new LengthBuckets(source, length, ends, sizes, dropRemainder);
  }

  /** Checks that the buckets make sense. */
  public LengthBuckets {
    if (sizes.length != ends.length + 1) {
      throw MillraceException.invalid(
          "%d ends make %d buckets, which need as many sizes, not %d.",
          ends.length, ends.length + 1, sizes.length);
    }
    for (int i = 0; i < sizes.length; i++) {
      if (sizes[i] < 1 || (i > 0 && i < ends.length && ends[i] <= ends[i - 1])) {
        throw MillraceException.invalid(
            "The sizes of buckets must be at least 1, not %s, and their ends must rise, not %s.",
            Arrays.toString(sizes), Arrays.toString(ends));
      }
    }
    ends = ends.clone();
    sizes = sizes.clone();
  }

  @Override
  public int positionLength() {
    return source.positionLength() + 1;
  }

  @Override
  public List<Dataset> splits(long epoch) {
    List<Dataset> splits = new ArrayList<>();
    for (Dataset split : source.splits(epoch)) {
      splits.add(new LengthBuckets(split, length, ends, sizes, dropRemainder));
    }
    return splits;
  }

  @Override
  public Elements elements() {
    return new Passage();
  }

  private final class Passage implements Elements {
    private final Elements in = source.elements();
    private final List<List<Tensor[]>> buckets = new ArrayList<>();
    private long[] start = in.position();
    private long given;
    private boolean ended;

    Passage() {
      for (int i = 0; i < sizes.length; i++) {
        buckets.add(new ArrayList<>());
      }
    }

    @Override
    public Tensor[] next() {
      List<Tensor[]> batch = nextBatch();
      if (batch == null) {
        return null;
      }
      given++;
      return padded(batch);
    }

    /** The elements of the next batch; null at the end. */
    private List<Tensor[]> nextBatch() {
      while (!ended) {
        Tensor[] element = in.next();
        if (element == null) {
          ended = true;
          break;
        }
        int b = bucket(element);
        buckets.get(b).add(element);
        if (buckets.get(b).size() == sizes[b]) {
          return taken(b);
        }
      }
      for (int b = 0; b < buckets.size(); b++) {
        if (!buckets.get(b).isEmpty()) {
          if (!dropRemainder) {
            return taken(b);
          }
          taken(b).forEach(Elements::release);
        }
      }
      return null;
    }

    private int bucket(Tensor[] element) {
      long n;
      try {
        n = length.applyAsLong(element);
      } catch (RuntimeException e) {
        Elements.release(element);
        throw e;
      }
      int b = 0;
      while (b < ends.length && n >= ends[b]) {
        b++;
      }
      return b;
    }

    private List<Tensor[]> taken(int b) {
      return buckets.set(b, new ArrayList<>());
    }

    @Override
    public long[] position() {
      long[] position = Arrays.copyOf(start, start.length + 1);
      position[start.length] = given;
      return position;
    }

    @Override
    public void seek(long[] position) {
      clear();
      start = Arrays.copyOf(position, position.length - 1);
      in.seek(start);
      long wanted = position[position.length - 1];
      while (given < wanted) {
        List<Tensor[]> batch = nextBatch();
        if (batch == null) {
          throw MillraceException.failedPrecondition(
              "The input ends before the position that was saved: it has %d batches now, and had"
                  + " more than %d. Give the training the data it had, or start over in another"
                  + " folder.",
              given, wanted);
        }
        batch.forEach(Elements::release);
        given++;
      }
    }

    @Override
    public void repeat(long[] beginning, long number) {
      clear();
      in.repeat(Arrays.copyOf(beginning, beginning.length - 1), number);
      start = in.position();
    }

    private void clear() {
      for (int b = 0; b < buckets.size(); b++) {
        taken(b).forEach(Elements::release);
      }
      ended = false;
      given = 0;
    }

    @Override
    public void close() {
      clear();
      in.close();
    }
  }

  /** The elements stacked; those of other shapes than the largest are filled up at their ends. */
  private static Tensor[] padded(List<Tensor[]> batch) {
    Tensor[] all = new Tensor[batch.getFirst().length];
    int done = 0;
    try {
      for (; done < all.length; done++) {
        all[done] = padded(batch, done);
      }
      return all;
    } catch (RuntimeException e) {
      for (int c = 0; c < done; c++) {
        all[c].close();
      }
      throw e;
    } finally {
      batch.forEach(Elements::release);
    }
  }

  private static Tensor padded(List<Tensor[]> batch, int c) {
    Tensor first = batch.getFirst()[c];
    long[] dims = first.shape().dims();
    for (Tensor[] element : batch) {
      Tensor t = element[c];
      if (t.dtype() != first.dtype() || t.shape().rank() != dims.length) {
        throw MillraceException.invalid(
            "Elements of a batch differ in component %d: one is %s%s, another %s%s. Only the"
                + " dimensions may differ.",
            c, first.dtype(), first.shape(), t.dtype(), t.shape());
      }
      for (int d = 0; d < dims.length; d++) {
        dims[d] = Math.max(dims[d], t.shape().dim(d));
      }
    }
    Shape row = Shape.of(dims);
    Shape shape = Shape.of(batch.size()).concat(row);
    if (!first.dtype().isPlain()) {
      Object[] objects = new Object[Math.toIntExact(shape.elements())];
      Arrays.fill(objects, new byte[0]);
      for (int i = 0; i < batch.size(); i++) {
        Tensor t = batch.get(i)[c];
        long at = i * row.elements();
        runs(t.shape(), row, (from, to, n) -> copy(t.objects(), from, objects, at + to, n));
      }
      return Tensor.ofObjects(DType.STRING, shape, objects);
    }
    Tensor all = Tensor.allocate(first.dtype(), shape);
    all.data().fill((byte) 0);
    int width = first.dtype().bytes();
    for (int i = 0; i < batch.size(); i++) {
      Tensor t = batch.get(i)[c];
      long at = i * row.elements();
      runs(
          t.shape(),
          row,
          (from, to, n) ->
              Refs.copyBytes(t, from * width, all, (at + to) * width, (long) n * width));
    }
    return all;
  }

  private static void copy(Object[] from, long at, Object[] to, long toAt, int n) {
    System.arraycopy(from, (int) at, to, (int) toAt, n);
  }

  /** What copies {@code n} elements from one place to another. */
  private interface Run {
    void copy(long from, long to, int n);
  }

  /** Copies the rows of the last dimension of a tensor into a larger one. */
  private static void runs(Shape part, Shape whole, Run run) {
    int rank = part.rank();
    int n = rank == 0 ? 1 : Math.toIntExact(part.dim(rank - 1));
    long count = n == 0 ? 0 : part.elements() / n;
    for (long r = 0; r < count; r++) {
      // The place of row r in the larger tensor, from the inner dimension outwards.
      long rest = r;
      long to = 0;
      long stride = rank == 0 ? 1 : whole.dim(rank - 1);
      for (int d = rank - 2; d >= 0; d--) {
        to += rest % part.dim(d) * stride;
        rest /= part.dim(d);
        stride *= whole.dim(d);
      }
      run.copy(r * n, to, n);
    }
  }
}
