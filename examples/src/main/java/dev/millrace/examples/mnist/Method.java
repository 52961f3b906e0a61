package dev.millrace.examples.mnist;

import dev.millrace.graph.Output;
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
  SGD(.3f, GradientDescent::new),
  MOMENTUM(.03f, rate -> new Momentum(rate, .9f, false)),
  ADAGRAD(.05f, rate -> new Adagrad(rate, .1f)),
  ADAM(.002f, rate -> new Adam(rate, Adam.Settings.DEFAULT)),
  RMSPROP(.001f, rate -> new RmsProp(rate, RmsProp.Settings.DEFAULT)),
  FTRL(.05f, rate -> new Ftrl(rate, Ftrl.Settings.DEFAULT));

  private final float usualRate;
  private final Function<Output, Optimizer> make;

  Method(float usualRate, Function<Output, Optimizer> make) {
    this.usualRate = usualRate;
    this.make = make;
  }

  /** The step size to begin with where none is given. */
  public float usualRate() {
    return usualRate;
  }

  /** An optimizer for one graph, whose step size is computed there. */
  public Optimizer optimizer(Output learningRate) {
    return make.apply(learningRate);
  }

  @Override
  public String toString() {
    return name().toLowerCase(Locale.ROOT);
  }
}
