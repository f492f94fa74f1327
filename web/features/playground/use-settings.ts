/** Whom one talks to, and how. */
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { call } from '../../lib/api.ts';

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
  readonly model: string;
  readonly change: (some: Partial<Chosen>) => void;
}

export function useSettings(): Settings {
  const models = useQuery({ queryKey: ['own-models'], queryFn: () => call('user.models') }).data ?? [];
  const [own, setOwn] = useState<Chosen>({ group: '', chosen: '', temperature: 0.1, maxTokens: '', system: '' });
  return {
    ...own,
    models,
    model: own.chosen || (models.includes(fallbackModel) ? fallbackModel : (models[0] ?? '')),
    change: (some) => setOwn((before) => ({ ...before, ...some })),
  };
}
