package dev.drover.workflow;

/** What a repeated attempt does to the remote service. */
public enum Effects {
  /** Nothing more than the first one. */
  IDEMPOTENT,
  /** It can be found out whether the first one took effect. */
  VERIFIABLE,
  /** It must not be repeated. */
  ONCE;

  dev.drover.v1.Effects toProto() {
    return dev.drover.v1.Effects.valueOf("EFFECTS_" + name());
  }
}
