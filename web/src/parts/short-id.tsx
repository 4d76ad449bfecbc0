// Shows only the end of an id: ids that were created together start with the same digits.

const SHOWN = 6;

export function ShortId({ of }: { readonly of: string }) {
  return (
    <code title={of}>
      <span aria-hidden="true">…{of.slice(-SHOWN)}</span>
      <span className="unseen">{of}</span>
    </code>
  );
}
