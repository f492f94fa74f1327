/** What was used in a window, in pieces of an hour. */
import { call } from '../../lib/api.ts';
import { type List, useList } from '../../lib/read.ts';
import type { UsageRow } from './series.ts';

export interface Window {
  /** Everybody's. */
  readonly admin: boolean;
  /** Epoch seconds, like the next. */
  readonly from: number;
  readonly to: number;
  readonly username: string;
}

export const useUsage = ({ admin, from, to, username }: Window): List<readonly UsageRow[]> =>
  useList<readonly UsageRow[]>({
    queryKey: ['usage', admin, from, to, username],
    queryFn: () => {
      const range = { start_timestamp: from, end_timestamp: to };
      return admin ? call('usage.all', { ...range, username }) : call('usage.self', range);
    },
    refetchInterval: 60_000,
  });
