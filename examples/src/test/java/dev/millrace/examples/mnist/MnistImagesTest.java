package dev.millrace.examples.mnist;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import dev.millrace.tensor.Tensor;
import dev.millrace.train.data.Elements;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class MnistImagesTest {
  private final MnistImages images = new MnistImages(null, "t10k", 7);

  private static List<Long> digits(Elements e, int n) {
    List<Long> all = new ArrayList<>();
    for (int i = 0; i < n; i++) {
      Tensor[] element = e.next();
      all.add(element[1].longValue());
      Elements.release(element);
    }
    return all;
  }

  @Test
  void aPassageGoesOnFromAPosition() {
    Elements first = images.elements();
    first.repeat(first.position(), 3);
    digits(first, 9000);
    Elements second = images.elements();
    second.seek(first.position());
    assertEquals(digits(first, 1000), digits(second, 1000));
    assertNull(first.next());
  }

  @Test
  void everyEpochHasAnOrderOfItsOwn() {
    Elements first = images.elements();
    Elements second = images.elements();
    second.repeat(second.position(), 1);
    assertNotEquals(digits(first, 100), digits(second, 100));
  }

  @Test
  void whatIsPassedOverIsAsIfItWereTaken() {
    Elements first = images.elements();
    Elements second = images.elements();
    digits(first, 50);
    for (int i = 0; i < 50; i++) {
      second.skipNext();
    }
    assertEquals(digits(first, 50), digits(second, 50));
  }
}
