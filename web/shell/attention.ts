/** Channels that were disabled by themselves: counted in the sidebar and in the tab's title. */

import type { User } from '../../server/contract/entities.ts';
import { call } from '../lib/api.ts';
import { useTitleCount } from '../lib/page-title.ts';
import { useAside } from '../lib/read.ts';
import { isAdmin } from '../lib/session.ts';

const autoDisabled = 3;

/** @returns how many, at most 100. */
export function useTrouble(user: User): number {
  const found = useAside({
    queryKey: ['channels', 'trouble'],
    queryFn: () => call('channel.list', { status: autoDisabled, p: 0, page_size: 100 }),
    enabled: isAdmin(user),
    refetchInterval: 60_000,
  });
  const count = found.data?.length ?? 0;
  useTitleCount(count);
  return count;
}
