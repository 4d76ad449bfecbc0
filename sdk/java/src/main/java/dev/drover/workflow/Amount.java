package dev.drover.workflow;

/** A number of items, or a percentage of all. */
public final class Amount {
  final int count;

  /** Null: it is a number. */
  final Double percent;

  private Amount(int count, Double percent) {
    this.count = count;
    this.percent = percent;
  }

  /**
   * A number of items.
   *
   * @param items how many
   * @return the amount
   */
  public static Amount count(int items) {
    return new Amount(items, null);
  }

  /**
   * A percentage of all items.
   *
   * @param share 0 to 100
   * @return the amount
   */
  public static Amount percent(double share) {
    return new Amount(0, share);
  }
}
