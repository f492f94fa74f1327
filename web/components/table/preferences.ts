/** Which columns a reader wants to see, and how dense; remembered per table. */
import { useState } from 'react';

const densityKey = 'table-density';
export type Density = 'compact' | 'roomy';

const read = (key: string): Record<string, boolean> => {
  try {
    const value: unknown = JSON.parse(localStorage.getItem(key) ?? '{}');
    return typeof value === 'object' && value !== null ? (value as Record<string, boolean>) : {};
  } catch {
    return {};
  }
};

export interface Preferences {
  readonly visible: Readonly<Record<string, boolean>>;
  readonly setVisible: (visible: Readonly<Record<string, boolean>>) => void;
  readonly density: Density;
  readonly setDensity: (density: Density) => void;
}

/** @param storeKey '' = nothing is remembered. */
export function usePreferences(storeKey: string): Preferences {
  const [visible, setVisible] = useState(() => (storeKey === '' ? {} : read(storeKey)));
  const [density, setDensity] = useState<Density>(() =>
    localStorage.getItem(densityKey) === 'roomy' ? 'roomy' : 'compact',
  );
  return {
    visible,
    setVisible: (next) => {
      if (storeKey !== '') localStorage.setItem(storeKey, JSON.stringify(next));
      setVisible({ ...next });
    },
    density,
    setDensity: (next) => {
      localStorage.setItem(densityKey, next);
      setDensity(next);
    },
  };
}
