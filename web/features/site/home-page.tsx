/** The front door: the administrator's own page, or what this place is and how to call it. */

import { useTranslation } from 'react-i18next';
import { Link } from 'wouter';
import { Framed } from '../../components/framed.tsx';
import { Icon } from '../../components/icon.tsx';
import { PageHead } from '../../components/page.tsx';
import { Waiting } from '../../components/waiting.tsx';
import { call } from '../../lib/api.ts';
import { copyOrShow } from '../../lib/copy.ts';
import { useRead } from '../../lib/read.ts';
import { isAdmin, useUser } from '../../lib/session.ts';
import { useStatus } from '../../shell/status.ts';
import { Checklist } from '../checklist/checklist.tsx';

const doors = [
  ['OpenAI', '/v1/chat/completions'],
  ['OpenAI Responses', '/v1/responses'],
  ['Anthropic', '/v1/messages'],
  ['Gemini', '/v1beta/models/{model}:generateContent'],
] as const;

export function HomePage() {
  const { t } = useTranslation();
  const user = useUser();
  const status = useStatus().data;
  const home = useRead({ queryKey: ['home'], queryFn: () => call('status.home'), staleTime: 60_000 }).data;
  const address = status?.server_address || location.origin;
  if (home === undefined) return <Waiting />;
  if (home !== '') {
    const title = status?.system_name ?? '';
    return (
      <div className={/^https:\/\/\S+$/.test(home.trim()) ? 'h-full' : 'mx-auto max-w-4xl px-5 py-6'}>
        <h1 className="sr-only">{title}</h1>
        <Framed title={title} content={home} asPage />
      </div>
    );
  }
  return (
    <div className="mx-auto max-w-3xl py-4">
      <PageHead title={t('site.homeTitle')} />
      <div className="grid grid-cols-[minmax(0,1fr)] gap-5 px-5">
        <p className="max-w-prose text-[14px] text-ink-2">{t('site.homeText')}</p>
        <dl className="rounded-3 border border-line">
          {doors.map(([protocol, path]) => (
            <div
              key={protocol}
              className="flex items-center gap-3 border-b border-line px-4 last:border-0 max-sm:block max-sm:py-2"
            >
              <dt className="w-36 flex-none text-ink-2">{protocol}</dt>
              <dd className="flex min-w-0 flex-1 items-center gap-2">
                <code className="min-w-0 flex-1 truncate font-mono text-[12px]">{`${address}${path}`}</code>
                <button
                  type="button"
                  className="button button-ghost"
                  aria-label={t('site.copyAddress', { protocol })}
                  onClick={() => copyOrShow(`${address}${path}`)}
                >
                  <Icon name="copy" />
                </button>
              </dd>
            </div>
          ))}
        </dl>
        <p className="flex gap-2">
          <Link href={user === null ? '/login' : '/token'} className="button button-primary">
            {user === null ? t('nav.login') : t('nav.tokens')}
          </Link>
          {user === null ? null : (
            <Link href="/playground" className="button">
              {t('nav.playground')}
            </Link>
          )}
        </p>
        {isAdmin(user) ? <Checklist /> : null}
      </div>
    </div>
  );
}
