package dev.drover;

import com.google.protobuf.InvalidProtocolBufferException;
import dev.drover.v1.WorkflowDefinition;

/** The definition of a workflow, in the form in which it is sent. */
public final class Definition {
  final WorkflowDefinition message;

  private Definition(WorkflowDefinition message) {
    this.message = message;
  }

  /**
   * Undoes {@link #encoded}.
   *
   * @param bytes a {@code WorkflowDefinition} of the contract
   * @return the definition
   * @throws IllegalArgumentException if they are none
   */
  public static Definition decode(byte[] bytes) {
    try {
      return new Definition(WorkflowDefinition.parseFrom(bytes));
    } catch (InvalidProtocolBufferException error) {
      throw new IllegalArgumentException(
          "the bytes are no definition of a workflow: " + error.getMessage(), error);
    }
  }

  /**
   * The definition as bytes.
   *
   * @return a {@code WorkflowDefinition} of the contract
   */
  public byte[] encoded() {
    return message.toByteArray();
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof Definition that && message.equals(that.message);
  }

  @Override
  public int hashCode() {
    return message.hashCode();
  }

  @Override
  public String toString() {
    return "definition of " + message.getWorkflow();
  }
}
