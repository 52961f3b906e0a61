/** The ops a partitioner inserts: values that leave a device or a session and those that enter. */
package dev.millrace.ops.transfer;
