// "Did you mean": finds the known word that a mistyped one stands for.

/** Longer texts are no words, and comparing them would cost the square of their length. */
const WORD_MAX = 128;

/** The nearest known word; null: none is near enough to be named. */
export function nearestWord(word: string, known: readonly string[]): string | null {
  if (word.length > WORD_MAX) return null;
  const plain = (text: string) => text.toLowerCase().replaceAll(/[-_ ]/g, "");
  let best: string | null = null;
  let least = Math.max(2, Math.floor(word.length / 3));
  for (const candidate of known) {
    const edits = distance(plain(word), plain(candidate));
    // Of equally near words the first wins. Two edits turn any word of two letters into any other.
    if (edits > least || edits >= candidate.length || (edits === least && best !== null)) continue;
    best = candidate;
    least = edits;
  }
  return best;
}

/** Levenshtein distance. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const substituted = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(substituted, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
