package dev.millrace.serving.served;

/**
 * Which model a request is for.
 *
 * @param version -1 for the newest
 * @param label empty for none
 * @param signature empty for the default one
 */
public record ModelChoice(String model, long version, String label, String signature) {}
