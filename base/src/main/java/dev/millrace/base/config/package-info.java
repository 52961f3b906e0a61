/**
 * Settings of a process. {@link dev.millrace.base.config.KnownSettings} is the table of all of
 * them; a {@link dev.millrace.base.config.Config} holds the values and where each came from.
 */
@NullMarked
package dev.millrace.base.config;

import org.jspecify.annotations.NullMarked;
