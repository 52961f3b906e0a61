/**
 * Checkpoints: tensor bundles, the older format of version 1, and the {@code checkpoint} state
 * file.
 */
package dev.millrace.storage.checkpoint;
