/**
 * Finds counted resources that were dropped without being released, such as the memory of tensors.
 * It is for tests: {@link dev.millrace.base.leak.LeakCheck} is on with {@code
 * -Dmillrace.tensor.check=true} only.
 */
@NullMarked
package dev.millrace.base.leak;

import org.jspecify.annotations.NullMarked;
