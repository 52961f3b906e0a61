package dev.millrace.ops.train;

import static dev.millrace.ops.train.UpdateFamily.Form.DENSE;
import static dev.millrace.ops.train.UpdateFamily.Form.RESOURCE;
import static dev.millrace.ops.train.UpdateFamily.Form.RESOURCE_SPARSE;
import static dev.millrace.ops.train.UpdateFamily.Form.SPARSE;

import dev.millrace.graph.Op;
import dev.millrace.tensor.math.update.AdaMaxRule;
import dev.millrace.tensor.math.update.AdadeltaRule;
import dev.millrace.tensor.math.update.AdagradDaRule;
import dev.millrace.tensor.math.update.AdagradRule;
import dev.millrace.tensor.math.update.AdamRule;
import dev.millrace.tensor.math.update.AmsgradRule;
import dev.millrace.tensor.math.update.CenteredRmsPropRule;
import dev.millrace.tensor.math.update.FtrlRule;
import dev.millrace.tensor.math.update.GradientDescentRule;
import dev.millrace.tensor.math.update.KerasMomentumRule;
import dev.millrace.tensor.math.update.MomentumRule;
import dev.millrace.tensor.math.update.ProximalAdagradRule;
import dev.millrace.tensor.math.update.ProximalGradientDescentRule;
import dev.millrace.tensor.math.update.RmsPropRule;
import dev.millrace.tensor.math.update.SignDescentRule;
import java.util.List;
import java.util.stream.Stream;

/**
 * The update ops of all optimizers, one paragraph each. Inputs before the bar are variables, those
 * after it values; {@code h} are the values without the gradient.
 */
final class UpdateOps {
  private static final String NESTEROV = "use_nesterov: bool = false";
  private static final String UPDATE_SLOTS = "update_slots: bool = true";
  private static final String LINEAR_BY_LR = "multiply_linear_by_lr: bool = false";

  static final List<Op> ALL =
      Stream.of(
              new UpdateFamily("GradientDescent", "var | alpha, delta")
                  .rule(h -> new GradientDescentRule(h[0]))
                  .ops(DENSE, RESOURCE),
              new UpdateFamily("Momentum", "var, accum | lr, grad, momentum")
                  .rule(NESTEROV, (h, nesterov) -> new MomentumRule(h[0], h[1], nesterov))
                  .ops(DENSE, RESOURCE, SPARSE, RESOURCE_SPARSE),
              new UpdateFamily("KerasMomentum", "var, accum | lr, grad, momentum")
                  .rule(NESTEROV, (h, nesterov) -> new KerasMomentumRule(h[0], h[1], nesterov))
                  .ops(RESOURCE, RESOURCE_SPARSE),
              new UpdateFamily("Adagrad", "var, accum | lr, grad")
                  .rule(UPDATE_SLOTS, (h, slots) -> new AdagradRule(h[0], 0, slots))
                  .ops(DENSE, RESOURCE, SPARSE, RESOURCE_SPARSE),
              new UpdateFamily("AdagradV2", "var, accum | lr, epsilon, grad")
                  .rule(UPDATE_SLOTS, (h, slots) -> new AdagradRule(h[0], h[1], slots))
                  .ops(DENSE, RESOURCE, SPARSE, RESOURCE_SPARSE),
              new UpdateFamily(
                      "Adam",
                      "var, m, v | beta1_power, beta2_power, lr, beta1, beta2, epsilon, grad")
                  .rule(
                      NESTEROV,
                      (h, nesterov) -> new AdamRule(adamRate(h), h[3], h[4], h[5], nesterov))
                  .ops(DENSE, RESOURCE),
              new UpdateFamily(
                      "AdamWithAmsgrad",
                      "var, m, v, vhat | beta1_power, beta2_power, lr, beta1, beta2, epsilon, grad")
                  .rule(h -> new AmsgradRule(adamRate(h), h[3], h[4], h[5]))
                  .ops(RESOURCE),
              new UpdateFamily("AdaMax", "var, m, v | beta1_power, lr, beta1, beta2, epsilon, grad")
                  .rule(h -> new AdaMaxRule(h[1] / (1 - h[0]), h[2], h[3], h[4]))
                  .ops(DENSE, RESOURCE),
              new UpdateFamily("RMSProp", "var, ms, mom | lr, rho, momentum, epsilon, grad")
                  .rule(h -> new RmsPropRule(h[0], h[1], h[2], h[3]))
                  .ops(DENSE, RESOURCE, SPARSE, RESOURCE_SPARSE),
              new UpdateFamily(
                      "CenteredRMSProp", "var, mg, ms, mom | lr, rho, momentum, epsilon, grad")
                  .rule(h -> new CenteredRmsPropRule(h[0], h[1], h[2], h[3]))
                  .ops(DENSE, RESOURCE, SPARSE, RESOURCE_SPARSE),
              new UpdateFamily("Ftrl", "var, accum, linear | grad, lr, l1, l2, lr_power")
                  .rule(LINEAR_BY_LR, (h, by) -> new FtrlRule(h[0], h[1], h[2], 0, h[3], by))
                  .ops(DENSE, RESOURCE, SPARSE, RESOURCE_SPARSE),
              new UpdateFamily(
                      "FtrlV2", "var, accum, linear | grad, lr, l1, l2, l2_shrinkage, lr_power")
                  .rule(LINEAR_BY_LR, (h, by) -> new FtrlRule(h[0], h[1], h[2], h[3], h[4], by))
                  .ops(DENSE, RESOURCE, SPARSE, RESOURCE_SPARSE),
              new UpdateFamily("Adadelta", "var, accum, accum_update | lr, rho, epsilon, grad")
                  .rule(h -> new AdadeltaRule(h[0], h[1], h[2]))
                  .ops(DENSE, RESOURCE, SPARSE, RESOURCE_SPARSE),
              new UpdateFamily(
                      "AdagradDA",
                      "var, gradient_accumulator, gradient_squared_accumulator"
                          + " | grad, lr, l1, l2, global_step: int64")
                  .rule(h -> new AdagradDaRule(h[0], h[1], h[2], h[3]))
                  .ops(DENSE, RESOURCE, SPARSE, RESOURCE_SPARSE),
              new UpdateFamily("ProximalAdagrad", "var, accum | lr, l1, l2, grad")
                  .rule(h -> new ProximalAdagradRule(h[0], h[1], h[2]))
                  .ops(DENSE, RESOURCE, SPARSE, RESOURCE_SPARSE),
              new UpdateFamily("ProximalGradientDescent", "var | alpha, l1, l2, delta")
                  .rule(h -> new ProximalGradientDescentRule(h[0], h[1], h[2]))
                  .ops(DENSE, RESOURCE, SPARSE, RESOURCE_SPARSE),
              new UpdateFamily("AddSign", "var, m | lr, alpha, sign_decay, beta, grad")
                  .rule(h -> new SignDescentRule(h[0], h[3], h[1] + h[2], h[1], h[1] - h[2]))
                  .ops(DENSE, RESOURCE),
              new UpdateFamily("PowerSign", "var, m | lr, logbase, sign_decay, beta, grad")
                  .rule(
                      h ->
                          new SignDescentRule(
                              h[0], h[3], Math.exp(h[1] * h[2]), 1, Math.exp(-h[1] * h[2])))
                  .ops(DENSE, RESOURCE))
          .flatMap(List::stream)
          .toList();

  private UpdateOps() {}

  /** The rate corrected for moments that began at zero. */
  private static double adamRate(double[] h) {
    return h[2] * Math.sqrt(1 - h[1]) / (1 - h[0]);
  }
}
