package dev.drover;

import java.util.List;
import java.util.Objects;

/**
 * The decision of an approver.
 *
 * @param isApproval false: it rejects
 * @param approver the person who decides, as the caller states it; the server does not verify it
 * @param roles of the approver, as the caller states them
 * @param comment may be empty
 * @param form the form of the step, filled in: has a JSON form, or is a payload; null: none
 */
public record Decision(
    boolean isApproval, String approver, List<String> roles, String comment, Object form) {
  /**
   * Checks and copies.
   *
   * @param isApproval false: it rejects
   * @param approver the person who decides
   * @param roles of the approver
   * @param comment may be empty
   * @param form null: none
   */
  public Decision {
    Objects.requireNonNull(approver, "approver");
    Objects.requireNonNull(comment, "comment");
    roles = List.copyOf(roles);
  }

  /**
   * Approves.
   *
   * @param approver the person who decides
   * @return the decision
   */
  public static Decision approve(String approver) {
    return new Decision(true, approver, List.of(), "", null);
  }

  /**
   * Rejects.
   *
   * @param approver the person who decides
   * @return the decision
   */
  public static Decision reject(String approver) {
    return new Decision(false, approver, List.of(), "", null);
  }

  /**
   * States the roles of the approver.
   *
   * @param names such as {@code finance}
   * @return a decision with them
   */
  public Decision roles(String... names) {
    return new Decision(isApproval, approver, List.of(names), comment, form);
  }

  /**
   * Adds a comment.
   *
   * @param text at most 1,024 characters
   * @return a decision with it
   */
  public Decision comment(String text) {
    return new Decision(isApproval, approver, roles, text, form);
  }

  /**
   * Adds the form of the step, filled in.
   *
   * @param value has a JSON form, or is a payload
   * @return a decision with it
   */
  public Decision form(Object value) {
    return new Decision(isApproval, approver, roles, comment, value);
  }
}
