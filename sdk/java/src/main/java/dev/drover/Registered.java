package dev.drover;

import dev.drover.v1.RegisterWorkflowResponse;

/**
 * A definition that was registered.
 *
 * @param name of the workflow
 * @param version of this content
 * @param created false: this content was registered before
 */
public record Registered(String name, int version, boolean created) {
  static Registered of(RegisterWorkflowResponse answer) {
    return new Registered(answer.getName(), answer.getVersion(), answer.getCreated());
  }
}
