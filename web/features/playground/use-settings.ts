/** Whom one talks to, and how. */

import { useState } from 'react';
import { call } from '../../lib/api.ts';
import { useAside } from '../../lib/read.ts';

/** 0 and nothing = the model decides. */
export const tokenTerms = { integer: true, max: 100_000_000 } as const;
const fallbackModel = 'gpt-4o-mini';

export interface Chosen {
  readonly group: string;
  /** '' = the first of the account's. */
  readonly chosen: string;
  readonly temperature: number;
  readonly maxTokens: string;
  readonly system: string;
}

export interface Settings extends Chosen {
  readonly models: readonly string[];
  /** The account may use none; false also while they are not known. */
  readonly none: boolean;
  readonly model: string;
  readonly change: (some: Partial<Chosen>) => void;
}

export function useSettings(): Settings {
  const known = useAside({ queryKey: ['own-models'], queryFn: () => call('user.models') }).data;
  const models = known ?? [];
  const [own, setOwn] = useState<Chosen>({ group: '', chosen: '', temperature: 0, maxTokens: '0', system: '' });
  return {
    ...own,
    models,
    none: known?.length === 0,
    model: own.chosen || (models.includes(fallbackModel) ? fallbackModel : (models[0] ?? '')),
    change: (some) => setOwn((before) => ({ ...before, ...some })),
  };
}
