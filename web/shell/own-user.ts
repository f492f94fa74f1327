/** Who the reader is now: a role that was changed elsewhere changes the menu without a new login. */
import { useEffect } from 'react';
import { call } from '../lib/api.ts';
import { useOptionalRead } from '../lib/read.ts';
import { readUser, useUser, writeUser } from '../lib/session.ts';

/** What the menu and the pages follow from. */
const followed = ['role', 'username', 'display_name', 'group', 'status'] as const;
const restMs = 10_000;

/** @param path every page that is opened asks, unless that was done a moment ago. */
export function useOwnUser(path: string): void {
  const inside = useUser() !== null;
  const { data, dataUpdatedAt, refetch } = useOptionalRead({
    queryKey: ['self'],
    queryFn: () => call('user.self'),
    enabled: inside,
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: a page that is opened asks, an answer does not
  useEffect(() => {
    if (inside && dataUpdatedAt !== 0 && Date.now() - dataUpdatedAt > restMs) void refetch();
  }, [path]);
  useEffect(() => {
    const known = readUser();
    if (data === undefined || known === null || data.id !== known.id) return;
    if (followed.some((name) => data[name] !== known[name])) writeUser({ ...known, ...data });
  }, [data]);
}
