package dev.millrace.interop;

import dev.millrace.base.MillraceException;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.extension.ConditionEvaluationResult;
import org.junit.jupiter.api.extension.ExecutionCondition;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * A test that needs {@link PythonTensorFlow}. Where there is none it is skipped, and the build says
 * so in a line of its own.
 */
@Target({ElementType.TYPE, ElementType.METHOD})
@Retention(RetentionPolicy.RUNTIME)
@ExtendWith(NeedsPython.Condition.class)
@interface NeedsPython {
  /** Asks once per process. */
  final class Condition implements ExecutionCondition {
    private static final AtomicBoolean SAID = new AtomicBoolean();

    @Override
    public ConditionEvaluationResult evaluateExecutionCondition(ExtensionContext context) {
      try {
        return ConditionEvaluationResult.enabled(
            "Python has TensorFlow " + PythonTensorFlow.find().version());
      } catch (MillraceException e) {
        if (!SAID.getAndSet(true)) {
          System.out.println(
              "SKIPPED: ALL TESTS AGAINST PYTHON'S TENSORFLOW. "
                  + e.getMessage().replace('\n', ' '));
        }
        return ConditionEvaluationResult.disabled(e.getMessage());
      }
    }
  }
}
