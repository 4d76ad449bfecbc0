package dev.drover;

/** How far a task has come. A handler uses one kind throughout. */
public final class Progress {
  private static final int CURSOR_LENGTH_MAX = 1_024;

  final dev.drover.v1.Progress message;

  private Progress(dev.drover.v1.Progress message) {
    this.message = message;
  }

  static Progress of(dev.drover.v1.Progress message) {
    return new Progress(message);
  }

  /**
   * The share of the whole.
   *
   * @param share is limited to 0 to 1
   * @return the progress
   * @throws IllegalArgumentException if it is NaN
   */
  public static Progress fraction(double share) {
    if (Double.isNaN(share)) {
      throw new IllegalArgumentException("a fraction of NaN is no progress");
    }
    double limited = Math.min(Math.max(share, 0), 1);
    return new Progress(dev.drover.v1.Progress.newBuilder().setFraction(limited).build());
  }

  /**
   * The number of things done so far.
   *
   * @param done from 0
   * @return the progress
   * @throws IllegalArgumentException if it is negative
   */
  public static Progress counter(long done) {
    if (done < 0) {
      throw new IllegalArgumentException("a counter of " + done + " is no progress: count from 0");
    }
    return new Progress(dev.drover.v1.Progress.newBuilder().setCounter(done).build());
  }

  /**
   * Any text that changes as the work advances.
   *
   * @param text is cut at 1,024 characters
   * @return the progress
   * @throws IllegalArgumentException if it is empty
   */
  public static Progress cursor(String text) {
    if (text.isEmpty()) {
      throw new IllegalArgumentException("an empty cursor is no progress");
    }
    String tidy = TidyText.text(text, CURSOR_LENGTH_MAX);
    return new Progress(dev.drover.v1.Progress.newBuilder().setCursor(tidy).build());
  }

  @Override
  public String toString() {
    return switch (message.getKindCase()) {
      case FRACTION -> "fraction " + message.getFraction();
      case COUNTER -> "counter " + Long.toUnsignedString(message.getCounter());
      default -> "cursor " + message.getCursor();
    };
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof Progress that && message.equals(that.message);
  }

  @Override
  public int hashCode() {
    return message.hashCode();
  }
}
