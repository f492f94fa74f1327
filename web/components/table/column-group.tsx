/** Widths that were measured once, for rows that come and go. */
export function ColumnGroup({ widths }: { readonly widths: readonly number[] | null }) {
  if (widths === null) return null;
  return (
    <colgroup>
      {widths.map((width, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: columns have no other identity here
        <col key={index} style={{ width }} />
      ))}
    </colgroup>
  );
}
