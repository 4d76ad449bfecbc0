package dev.drover;

import java.util.Objects;
import java.util.Optional;

/**
 * What a run is started of: a registered workflow by its name, or a definition for this run only,
 * which {@code dev.drover.workflow.Workflow} builds.
 *
 * @param <I> the input of a run
 */
public interface Startable<I> {
  /**
   * The name of the workflow.
   *
   * @return as in the definition
   */
  String name();

  /**
   * The definition to send with the run.
   *
   * @return empty: the workflow is registered
   */
  Optional<Definition> definition();

  /**
   * A registered workflow.
   *
   * @param name as it was registered
   * @param input the type of the input of a run, for the compiler
   * @param <I> the input of a run
   * @return its default version
   */
  static <I> Startable<I> registered(String name, Class<I> input) {
    Objects.requireNonNull(name, "name");
    Objects.requireNonNull(input, "input");
    return new Startable<>() {
      @Override
      public String name() {
        return name;
      }

      @Override
      public Optional<Definition> definition() {
        return Optional.empty();
      }
    };
  }
}
