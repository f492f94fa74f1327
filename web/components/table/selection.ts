/** The rows somebody has picked, as long as they are in sight: another page, order or filter begins with none. */
import { useCallback, useState } from 'react';

const none: ReadonlySet<number> = new Set();

/** @param sight what decides which rows are shown. */
export function useSelection(
  sight: string,
): readonly [chosen: ReadonlySet<number>, choose: (chosen: ReadonlySet<number>) => void] {
  const [picked, setPicked] = useState({ sight, chosen: none });
  const choose = useCallback((chosen: ReadonlySet<number>) => setPicked({ sight, chosen }), [sight]);
  return [picked.sight === sight ? picked.chosen : none, choose];
}
