/** What the palette offers: places and actions, things by name or id, settings and chapters of the documentation. */

import { useTranslation } from 'react-i18next';
import { useLocation } from 'wouter';
import type { User } from '../../server/contract/entities.ts';
import type { IconName } from '../components/icon.tsx';
import { call, readFile } from '../lib/api.ts';
import { basePath } from '../lib/base-path.ts';
import { currentLanguage } from '../lib/i18n.ts';
import { pageLanguages } from '../lib/page-languages.ts';
import { useOptionalRead } from '../lib/read.ts';
import { isAdmin } from '../lib/session.ts';
import { toggleTheme } from '../lib/theme.ts';
import { wordScore } from '../lib/word-search.ts';
import type { NavItem } from './nav.ts';
import { pickLanguage } from './own-user.ts';

export interface Entry {
  readonly id: string;
  readonly icon: IconName;
  readonly text: string;
  readonly kind: string;
  readonly run: () => void;
}

export function useFixedEntries(user: User, items: readonly NavItem[]): readonly Entry[] {
  const { t } = useTranslation();
  const [, navigate] = useLocation();
  return [
    ...items.map(({ to, icon, label }) => ({
      id: to,
      icon,
      text: t(label),
      kind: t('palette.page'),
      run: () => navigate(to),
    })),
    { id: 'theme', icon: 'moon', text: t('app.theme'), kind: t('palette.action'), run: toggleTheme },
    {
      id: 'language',
      icon: 'globe',
      text: t('app.language'),
      kind: t('palette.action'),
      run() {
        const codes = Object.keys(pageLanguages);
        pickLanguage(codes[(codes.indexOf(currentLanguage()) + 1) % codes.length] ?? 'en');
      },
    },
    {
      id: 'token.new',
      icon: 'plus',
      text: t('palette.newToken'),
      kind: t('palette.action'),
      run: () => navigate('/token?new=1'),
    },
    ...(isAdmin(user)
      ? [
          {
            id: 'channel.new',
            icon: 'plus' as const,
            text: t('palette.newChannel'),
            kind: t('palette.action'),
            run: () => navigate('/channel/add'),
          },
        ]
      : []),
  ];
}

interface DocPart {
  readonly url: string;
  readonly page: string;
  readonly heading: string;
  readonly text: string;
}

const maxIndexed = 6;
const indexKeep = 3_600_000;

/** Settings by their names, and headings of the documentation; both are read when somebody types first. */
export function useIndexedEntries(admin: boolean, needle: string): readonly Entry[] {
  const { t } = useTranslation();
  const [, navigate] = useLocation();
  const search = needle.length >= 2;
  const language = currentLanguage() === 'zh' ? 'zh' : 'en';
  const rows = useOptionalRead({
    queryKey: ['palette', 'options', language],
    queryFn: async () => {
      const { optionKeys, optionRow } = await import('../../server/contract/options.ts');
      return optionKeys
        .map((key) => ({ key, row: optionRow(key) }))
        .filter(({ row }) => row.tab !== 'legacy')
        .map(({ key, row: { label, help } }) => ({
          key,
          name: label[language],
          text: `${key} ${label.zh} ${label.en} ${help.zh} ${help.en}`,
        }));
    },
    enabled: search && admin,
    staleTime: indexKeep,
  }).data;
  const parts = useOptionalRead({
    queryKey: ['palette', 'docs', language],
    queryFn: () => readFile<readonly DocPart[]>(`/docs/${language}/search.json`),
    enabled: search,
    staleTime: indexKeep,
  }).data;
  if (!search) return [];
  const best = <One>(all: readonly One[], name: (one: One) => string, text: (one: One) => string) =>
    all
      .map((one) => ({ one, score: 3 * wordScore(needle, name(one)) + wordScore(needle, text(one)) }))
      .filter(({ score }) => score > 0)
      .toSorted((one, other) => other.score - one.score)
      .slice(0, maxIndexed)
      .map(({ one }) => one);
  return [
    ...best(
      rows ?? [],
      ({ name }) => name,
      ({ text }) => text,
    ).map(({ key, name }) => ({
      id: `option:${key}`,
      icon: 'gear' as const,
      text: name,
      kind: t('settings.title'),
      run: () => navigate(`/setting?q=${encodeURIComponent(key)}`),
    })),
    ...best(
      parts ?? [],
      ({ page, heading }) => `${page} ${heading}`,
      ({ page, heading, text }) => `${page} ${heading} ${text}`,
    ).map(({ url, page, heading }) => ({
      id: `docs:${url}`,
      icon: 'book' as const,
      text: heading === '' ? page : `${page} › ${heading}`,
      kind: t('nav.docs'),
      run: () => location.assign(basePath + url),
    })),
  ];
}

/** As the site writes them: the second it came in, and what makes it its own. */
export const isRequestId = (needle: string): boolean => /^\d{14}[\da-z]{4,}$/i.test(needle.trim());

const maxModels = 5;
export const modelsNamed = (models: readonly string[], needle: string): readonly string[] =>
  models.filter((model) => model.toLowerCase().includes(needle.trim().toLowerCase())).slice(0, maxModels);

/** @param needle too short a word finds nothing. */
export function useFoundEntries(admin: boolean, needle: string): readonly Entry[] {
  const { t } = useTranslation();
  const [, navigate] = useLocation();
  const search = needle.length >= 2;
  const tokens = useOptionalRead({
    queryKey: ['palette', 'tokens', needle],
    queryFn: () => call('token.search', { keyword: needle }),
    enabled: search,
  }).data;
  const channels = useOptionalRead({
    queryKey: ['palette', 'channels', needle],
    queryFn: () => call('channel.search', { keyword: needle }),
    enabled: search && admin,
  }).data;
  const users = useOptionalRead({
    queryKey: ['palette', 'users', needle],
    queryFn: () => call('user.search', { keyword: needle }),
    enabled: search && admin,
  }).data;

  const models = useOptionalRead({
    queryKey: ['palette', 'models'],
    queryFn: () => call('user.models'),
    enabled: search,
  }).data;

  if (!search) return [];
  return [
    ...(isRequestId(needle)
      ? [
          {
            id: `log:${needle}`,
            icon: 'log' as const,
            text: needle,
            kind: t('logs.title'),
            run: () => navigate(`/log?open=${encodeURIComponent(needle)}`),
          },
        ]
      : []),
    ...modelsNamed(models ?? [], needle).map((model) => ({
      id: `model:${model}`,
      icon: 'bolt' as const,
      text: model,
      kind: t('palette.model'),
      run: () => navigate(`/pricing?q=${encodeURIComponent(model)}`),
    })),
    ...(tokens ?? []).slice(0, 5).map(({ id, name }) => ({
      id: `token:${id}`,
      icon: 'key' as const,
      text: name,
      kind: `${t('tokens.title')} #${id}`,
      run: () => navigate(`/token?open=${id}`),
    })),
    ...(channels ?? []).slice(0, 5).map(({ id, name }) => ({
      id: `channel:${id}`,
      icon: 'channel' as const,
      text: name,
      kind: `${t('channels.title')} #${id}`,
      run: () => navigate(`/channel/edit/${id}`),
    })),
    ...(users?.items ?? []).slice(0, 5).map(({ id, username }) => ({
      id: `user:${id}`,
      icon: 'person' as const,
      text: username,
      kind: `${t('users.title')} #${id}`,
      run: () => navigate(`/user/edit/${id}`),
    })),
  ];
}
