package dev.drover;

/**
 * A run that was started.
 *
 * @param id of the run
 * @param key the caller's own name for it
 * @param created false: an earlier call with this key created it
 */
public record Started(RunName.Id id, String key, boolean created) {}
