/** First steps of an administrator. They tick themselves from what is stored; closing is kept on the server. */

import { useQueryClient } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { Link } from 'wouter';
import { storedText } from '../../../server/contract/stored-texts.ts';
import { Icon } from '../../components/icon.tsx';
import { call } from '../../lib/api.ts';
import { attempt } from '../../lib/attempt.ts';
import { useAside } from '../../lib/read.ts';
import { useStatus } from '../../shell/status.ts';

const requests = 2;

async function progress() {
  const [channels, tokens, logs, tests, unset] = await Promise.all([
    call('channel.list', { p: 0, page_size: 100 }),
    call('token.list', { p: 0, size: 1 }),
    call('log.list', { p: 1, page_size: 1, type: requests }),
    // Tests of channels are requests of nobody.
    call('log.list', { p: 1, page_size: 1, type: requests, token_name: storedText('channelTest') }),
    call('ratio.unset', {}),
  ]);
  return {
    channel: channels.length > 0,
    test: tests.total > 0 || channels.some(({ test_time }) => test_time > 0),
    token: tokens.length > 0,
    request: logs.total > tests.total,
    prices: channels.length > 0 && unset.length === 0,
  };
}

const steps = [
  ['channel', '/channel/add', 'gateway channel add'],
  ['test', '/channel', 'gateway channel test'],
  ['prices', '/setting?tab=operation&block=unset_models', 'gateway ratios unset'],
  ['token', '/token?new=1', 'gateway token create --name laptop'],
  ['request', '/playground', 'gateway logs tail'],
] as const;

export function Checklist() {
  const { t } = useTranslation();
  const client = useQueryClient();
  const wanted = useStatus().data?.checklist_enabled === true;
  const done = useAside({ queryKey: ['checklist'], queryFn: progress, enabled: wanted, refetchInterval: 10_000 }).data;
  if (!wanted || done === undefined || steps.every(([step]) => done[step])) return null;
  const next = steps.find(([step]) => !done[step])?.[0];
  return (
    <section aria-labelledby="checklist" className="rounded-3 border border-line">
      <header className="flex items-center gap-2 border-b border-line px-4 py-2">
        <h2 id="checklist" className="flex-1 font-semibold">
          {t('checklist.title')}
          <span className="ml-2 font-normal text-ink-3">
            {steps.filter(([step]) => done[step]).length}/{steps.length}
          </span>
        </h2>
        <button
          type="button"
          className="button button-ghost"
          onClick={async () => {
            await attempt(() => call('option.set', { key: 'console_setting.checklist_enabled', value: 'false' }));
            await client.invalidateQueries({ queryKey: ['status'] });
          }}
        >
          {t('checklist.dismiss')}
        </button>
      </header>
      <ol>
        {steps.map(([step, to, command]) => (
          <li key={step} className="flex min-h-10 items-center gap-3 border-b border-line px-4 last:border-0">
            <span
              className={`grid size-4 place-items-center rounded-full border ${done[step] ? 'border-accent bg-accent text-surface' : 'border-line-control'}`}
            >
              {done[step] ? <Icon name="check" /> : null}
              <span className="sr-only">{t(done[step] ? 'checklist.done' : 'checklist.open')}</span>
            </span>
            {done[step] ? (
              <span className="text-ink-3">{t(`checklist.${step}`)}</span>
            ) : (
              <Link href={to} className={step === next ? 'font-medium' : ''}>
                {t(`checklist.${step}`)}
              </Link>
            )}
            {done[step] ? null : (
              <code className="ml-auto font-mono text-[12px] text-ink-3 max-sm:hidden">{command}</code>
            )}
          </li>
        ))}
      </ol>
    </section>
  );
}
