package dev.millrace.examples.mnist;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;

import dev.millrace.tensor.Tensor;
import org.junit.jupiter.api.Test;

class MnistDataTest {
  @Test
  void batchesPassedOverAreThoseThatWouldHaveBeenTaken() {
    MnistData data = MnistData.test(null);
    MnistData.Batches taken = data.batches(3000, 7);
    for (int passed = 0; passed < 8; passed++) { // three to an epoch
      MnistData.Batches skipped = data.batches(3000, 7);
      skipped.skip(passed);
      try (Batch expected = new Batch(taken.next());
          Batch found = new Batch(skipped.next())) {
        assertArrayEquals(expected.labels(), found.labels());
      }
    }
  }

  private record Batch(Tensor[] tensors) implements AutoCloseable {
    long[] labels() {
      return tensors[1].toLongs();
    }

    @Override
    public void close() {
      for (Tensor t : tensors) {
        t.close();
      }
    }
  }
}
