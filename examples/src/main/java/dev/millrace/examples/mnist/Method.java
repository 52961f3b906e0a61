package dev.millrace.examples.mnist;

import dev.millrace.train.optimizer.Adagrad;
import dev.millrace.train.optimizer.Adam;
import dev.millrace.train.optimizer.Ftrl;
import dev.millrace.train.optimizer.GradientDescent;
import dev.millrace.train.optimizer.Momentum;
import dev.millrace.train.optimizer.Optimizer;
import dev.millrace.train.optimizer.RmsProp;
import java.util.Locale;
import java.util.function.Function;

/** The ways to make the loss smaller, each with a step size that suits the digits. */
public enum Method {
  SGD(.2f, GradientDescent::new),
  MOMENTUM(.02f, rate -> new Momentum(rate, .9f)),
  ADAGRAD(.05f, Adagrad::new),
  ADAM(.001f, Adam::new),
  RMSPROP(.001f, RmsProp::new),
  FTRL(.05f, Ftrl::new);

  private final float usualRate;
  private final Function<Float, Optimizer> make;

  Method(float usualRate, Function<Float, Optimizer> make) {
    this.usualRate = usualRate;
    this.make = make;
  }

  /** The step size used where none is given. */
  public float usualRate() {
    return usualRate;
  }

  /** An optimizer for one graph. */
  public Optimizer optimizer(float learningRate) {
    return make.apply(learningRate);
  }

  @Override
  public String toString() {
    return name().toLowerCase(Locale.ROOT);
  }
}
