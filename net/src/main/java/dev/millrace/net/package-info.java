/**
 * The one place that opens sockets between the processes of a job. An {@link
 * dev.millrace.net.Endpoint} accepts connections, and the first byte of each decides who serves it.
 * A {@link dev.millrace.net.Dialer} opens them. A {@link dev.millrace.net.Credential} says who a
 * process is; with one, connections between hosts are encrypted and both ends are known.
 */
@NullMarked
package dev.millrace.net;

import org.jspecify.annotations.NullMarked;
