/** Channels that fail or were disabled automatically: counted in the sidebar and in the tab's title. */

import type { User } from '../../server/contract/entities.ts';
import { call } from '../lib/api.ts';
import { useTitleCount } from '../lib/page-title.ts';
import { useOptionalRead } from '../lib/read.ts';
import { isAdmin } from '../lib/session.ts';

export function useWarnings(user: User): number {
  const found = useOptionalRead({
    queryKey: ['channel-traffic'],
    queryFn: () => call('traffic.channels', {}),
    enabled: isAdmin(user),
    refetchInterval: 60_000,
  });
  const count = found.data?.filter((one) => one.state === 'failing' || one.auto_disabled).length ?? 0;
  useTitleCount(count);
  return count;
}
