/** Who the reader is now: a role that was changed elsewhere changes the menu without a new login. And the language that the reader picks: a user who has saved none gets that of the page. */
import { useEffect } from 'react';
import type { Language } from '../../server/contract/enum.ts';
import { call } from '../lib/api.ts';
import { currentLanguage, setLanguage } from '../lib/i18n.ts';
import { useOptionalRead } from '../lib/read.ts';
import { useUser, writeUser } from '../lib/session.ts';
import { readUser } from '../lib/stored-user.ts';

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
    if (!data.setting.includes('"language"')) saveLanguage(currentLanguage());
  }, [data]);
}

/** Errors of programs that name no language, and notices, are written in it. The page shows it in any case, so a failure is not shown. */
const saveLanguage = (language: Language): void => void call('account.setting', { language }).catch(() => undefined);

export function pickLanguage(language: Language): void {
  setLanguage(language);
  if (readUser() !== null) saveLanguage(language);
}
