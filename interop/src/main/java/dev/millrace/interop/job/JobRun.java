package dev.millrace.interop.job;

/**
 * How a job began and went. Times are in seconds since its first process was started.
 *
 * @param firstStep when the first step was made
 * @param fullSpeed when a second began in which it made 90 % of its final rate
 * @param cpuSeconds processor time of all its processes until then
 * @param allCpuSeconds processor time of all its processes until it was told to end
 * @param peakBytes the most each process had resident, added up
 * @param stepsPerSecond the final rate
 */
public record JobRun(
    double firstStep,
    double fullSpeed,
    double cpuSeconds,
    double allCpuSeconds,
    long peakBytes,
    double stepsPerSecond) {}
