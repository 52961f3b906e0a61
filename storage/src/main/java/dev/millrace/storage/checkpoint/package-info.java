/**
 * Checkpoints: tensor bundles, the older format of version 1, and the {@code checkpoint} state
 * file.
 */
@NullMarked
package dev.millrace.storage.checkpoint;

import org.jspecify.annotations.NullMarked;
