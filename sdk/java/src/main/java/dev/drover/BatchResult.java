package dev.drover;

import java.util.Optional;

/**
 * What became of one run of a batch.
 *
 * @param started empty: it was refused
 * @param refusal empty: it was started
 */
public record BatchResult(Optional<Started> started, Optional<CallException> refusal) {}
