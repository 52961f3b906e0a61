/**
 * Elements kept from their first passage on: {@link dev.millrace.train.data.cache.ElementCache}.
 */
package dev.millrace.train.data.cache;
