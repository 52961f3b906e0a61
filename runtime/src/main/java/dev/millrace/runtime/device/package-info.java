/** Devices: a name and the state that lives on it. */
package dev.millrace.runtime.device;
