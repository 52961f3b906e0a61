package dev.millrace.train.data;

import dev.millrace.tensor.Tensor;
import java.util.List;
import java.util.function.Predicate;

/** The elements that a test lets pass. */
record Filtered(Dataset source, Predicate<Tensor[]> test) implements Dataset {
  @Override
  public int positionLength() {
    return source.positionLength();
  }

  @Override
  public List<Dataset> splits(long epoch) {
    return source.splits(epoch).stream().map(s -> s.filter(test)).toList();
  }

  @Override
  public Elements elements() {
    return new DerivedElements(source.elements()) {
      @Override
      public Tensor[] next() {
        while (true) {
          Tensor[] element = in.next();
          if (element == null || passes(element)) {
            return element;
          }
          Elements.release(element);
        }
      }

      private boolean passes(Tensor[] element) {
        try {
          return test.test(element);
        } catch (RuntimeException e) {
          Elements.release(element);
          throw e;
        }
      }
    };
  }
}
