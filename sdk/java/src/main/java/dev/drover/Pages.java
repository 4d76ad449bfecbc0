package dev.drover;

import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Spliterator;
import java.util.Spliterators;
import java.util.function.Function;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;

/** A list of the server, which is read page by page as its stream is. */
final class Pages<T> implements Iterator<T> {
  /** One page; an empty token: there are no more. */
  record Page<T>(List<T> items, String nextToken) {}

  private final Function<String, Page<T>> read;
  private Iterator<T> page = List.<T>of().iterator();
  private String token = "";
  private boolean isLast;

  private Pages(Function<String, Page<T>> read) {
    this.read = read;
  }

  /** `read` takes the token of a page, the first one's is empty. */
  static <T> Stream<T> stream(Function<String, Page<T>> read) {
    int traits = Spliterator.ORDERED | Spliterator.NONNULL;
    return StreamSupport.stream(
        Spliterators.spliteratorUnknownSize(new Pages<>(read), traits), false);
  }

  @Override
  public boolean hasNext() {
    while (!page.hasNext() && !isLast) {
      Page<T> next = read.apply(token);
      token = next.nextToken;
      isLast = token.isEmpty();
      page = next.items.iterator();
    }
    return page.hasNext();
  }

  @Override
  public T next() {
    if (!hasNext()) {
      throw new NoSuchElementException("the list has ended");
    }
    return page.next();
  }
}
