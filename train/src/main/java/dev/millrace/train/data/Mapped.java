package dev.millrace.train.data;

import dev.millrace.tensor.Tensor;
import java.util.List;
import java.util.OptionalLong;
import java.util.function.Function;

/** Elements after a function. */
record Mapped(Dataset source, Function<Tensor[], Tensor[]> function) implements Dataset {
  @Override
  public OptionalLong knownSize() {
    return source.knownSize();
  }

  @Override
  public int positionLength() {
    return source.positionLength();
  }

  @Override
  public List<Dataset> splits(long epoch) {
    return source.splits(epoch).stream().map(s -> s.map(function)).toList();
  }

  @Override
  public Elements elements() {
    return new DerivedElements(source.elements()) {
      @Override
      public Tensor[] next() {
        Tensor[] element = in.next();
        return element == null ? null : function.apply(element);
      }
    };
  }
}
