/** A piece of the console as its first rendering has it, in Chinese, with what the server would have answered. */
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { vi } from 'vitest';
import { Router } from 'wouter';
import type { User } from '../../server/contract/entities.ts';
import { writeUser } from '../../web/lib/session.ts';

/** Answers by the name of the query; what follows a comma narrows it. */
export type Answers = Readonly<Record<string, unknown>>;

/** Answers by the whole key of the query. */
type Keyed = readonly (readonly [key: readonly unknown[], answer: unknown])[];

const kept = new Map<string, string>();

/**
 * What a page finds around it, before any of its modules is loaded.
 * @param user who is logged in; null = nobody. `writeUser` of the session changes it later.
 */
export async function aroundPages(user: User | null = null): Promise<void> {
  kept.clear();
  kept.set('i18nextLng', 'zh');
  const storage = {
    getItem: (key: string) => kept.get(key) ?? null,
    setItem: (key: string, value: string) => void kept.set(key, value),
    removeItem: (key: string) => void kept.delete(key),
  };
  vi.stubGlobal('localStorage', storage);
  vi.stubGlobal('location', { hash: '', origin: 'https://site.example', pathname: '/', search: '' });
  const element = () => ({ appendChild: () => undefined, addEventListener: () => undefined, dataset: {}, style: {} });
  vi.stubGlobal('document', {
    documentElement: element(),
    head: element(),
    body: element(),
    addEventListener: () => undefined,
    createElement: element,
    createTextNode: () => ({}),
    getElementsByTagName: () => [element()],
  });
  vi.stubGlobal('matchMedia', () => ({ matches: false, addEventListener: () => undefined }));
  writeUser(user);
  await (await import('../../web/lib/i18n.ts')).startLanguage();
}

const part = (text: string): string | number | boolean =>
  text === 'true' ? true : /^\d+$/.test(text) ? Number(text) : text;

export function rendered(
  piece: ReactNode,
  { path = '/', answers = {}, lists = [] }: { path?: string; answers?: Answers; lists?: Keyed } = {},
): string {
  const client = new QueryClient();
  for (const [name, answer] of Object.entries(answers)) client.setQueryData(name.split(',').map(part), answer);
  for (const [key, answer] of lists) client.setQueryData(key, answer);
  const [place = '/', search = ''] = path.split('?');
  const page = renderToStaticMarkup(
    <QueryClientProvider client={client}>
      <Router ssrPath={place} ssrSearch={search}>
        {piece}
      </Router>
    </QueryClientProvider>,
  );
  client.clear();
  return page;
}

export const fieldsIn = (page: string): string[] =>
  [...page.matchAll(/<input[^>]*name="([^"]+)"/g)].map(([, name = '']) => name);
export const linksIn = (page: string): string[] =>
  [...page.matchAll(/<a[^>]*href="([^"]+)"/g)].map(([, to = '']) => to);

/** Somebody who is inside. */
export const reader = (role: number): User => ({
  id: 7,
  username: 'Mira',
  display_name: '',
  role,
  status: 1,
  email: '',
  github_id: '',
  oidc_id: '',
  wechat_id: '',
  telegram_id: '',
  linux_do_id: '',
  quota: 0,
  used_quota: 0,
  request_count: 0,
  group: 'default',
  aff_code: '',
  aff_count: 0,
  aff_quota: 0,
  aff_history_quota: 0,
  inviter_id: 0,
  setting: '',
  DeletedAt: null,
});
