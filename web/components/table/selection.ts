/** The selected rows, for as long as they are shown: another page, order or filter starts with none. */
import { useCallback, useState } from 'react';

const none: ReadonlySet<number> = new Set();

/** @param scope what decides which rows are shown. */
export function useSelection(
  scope: string,
): readonly [selected: ReadonlySet<number>, select: (selected: ReadonlySet<number>) => void] {
  const [selection, setSelection] = useState({ scope, selected: none });
  const select = useCallback((selected: ReadonlySet<number>) => setSelection({ scope, selected }), [scope]);
  return [selection.scope === scope ? selection.selected : none, select];
}
