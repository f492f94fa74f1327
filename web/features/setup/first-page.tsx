/** From nothing to the first answer on one page: administrator, upstream, key, first request. Each step folds when it is done. */
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'wouter';
import { displayedKey } from '../../../server/contract/token-key.ts';
import { UseWith } from '../../components/use-with.tsx';
import { Waiting } from '../../components/waiting.tsx';
import { call } from '../../lib/api.ts';
import { copyOrShow } from '../../lib/copy.ts';
import { usePageTitle } from '../../lib/page-title.ts';
import { useOptionalRead } from '../../lib/read.ts';
import { useUser } from '../../lib/session.ts';
import { progressKey, useProgress } from '../../lib/setup-progress.ts';
import { smallModel } from '../../lib/small-model.ts';
import { useStatus } from '../../lib/status.ts';
import { Connect } from './connect.tsx';
import { FirstRequest, SendForMe } from './first-request.tsx';
import { Step, type StepState, Steps } from './step.tsx';

export function FirstPage() {
  const { t } = useTranslation();
  usePageTitle(t('setup.firstTitle'));
  const client = useQueryClient();
  const user = useUser();
  const status = useStatus().data;
  const done = useProgress(true);
  const [more, setMore] = useState(false);
  const token = done?.token ?? null;
  const keyText = useOptionalRead({
    queryKey: ['first-key', token?.id],
    queryFn: () => call('token.key', { id: token?.id ?? 0 }),
    enabled: token !== null,
    staleTime: Number.POSITIVE_INFINITY,
  }).data?.key;
  if (done === undefined) return <Waiting />;
  const { channel, request, row } = done;
  const models = channel?.models.split(',').filter((name) => name !== '') ?? [];
  const states: readonly StepState[] = [
    'done',
    channel === null ? 'open' : 'done',
    channel === null ? 'later' : request ? 'done' : 'open',
    request ? 'done' : 'later',
  ];
  const refresh = () => client.invalidateQueries({ queryKey: progressKey });
  return (
    <Steps title={t('setup.firstTitle')} states={states}>
      <Step
        state="done"
        title={t('setup.administrator')}
        note={`${user?.username ?? ''} · ${t(status?.self_use_mode_enabled ? 'setup.self' : status?.demo_site_enabled ? 'setup.demo' : 'setup.external')}`}
        action={<Link href="/personal">{t('setup.change')}</Link>}
      />
      <Step
        state={states[1] ?? 'later'}
        title={t('setup.upstream')}
        note={
          channel === null
            ? t('setup.upstreamHelp')
            : t('setup.upstreamDone', { name: channel.name, count: models.length })
        }
        action={channel === null ? undefined : <Link href={`/channel/edit/${channel.id}`}>{t('setup.change')}</Link>}
      >
        <Connect onConnected={refresh} />
      </Step>
      <Step
        state={states[2] ?? 'later'}
        open={states[2] === 'open' || (more && token !== null)}
        title={t('setup.key')}
        note={
          token === null
            ? t('setup.keyHelp')
            : `${token.name} · ${token.unlimited_quota ? t('setup.unlimited') : t('setup.limited')}`
        }
        action={
          request && token !== null ? (
            <button type="button" className="text-accent-text" aria-expanded={more} onClick={() => setMore(!more)}>
              {t('setup.useIt')}
            </button>
          ) : undefined
        }
      >
        {token === null ? (
          <button
            type="button"
            className="button button-primary"
            onClick={() =>
              call('token.create', { name: 'first', unlimited_quota: true, expired_time: -1 }).then(refresh)
            }
          >
            {t('setup.makeKey')}
          </button>
        ) : (
          <>
            <div className="mb-3 flex items-center gap-2 rounded-2 border border-line-strong bg-sunken p-2">
              <code className="min-w-0 flex-1 font-mono text-[12px] break-all">
                {keyText === undefined ? '…' : displayedKey(keyText)}
              </code>
              <button
                type="button"
                className="button"
                disabled={keyText === undefined}
                onClick={() => copyOrShow(displayedKey(keyText ?? ''))}
              >
                {t('app.copy')}
              </button>
            </div>
            {keyText === undefined ? null : (
              <UseWith token={{ ...token, key: keyText }} onCopy={(text) => void copyOrShow(text)} />
            )}
          </>
        )}
      </Step>
      <Step
        state={request ? 'done' : channel !== null && token !== null ? 'open' : 'later'}
        open={request || (channel !== null && token !== null)}
        title={row === null && !request ? t('setup.waiting') : t('setup.arrived')}
        note={row === null && !request ? t('setup.waitingHelp') : undefined}
      >
        {row !== null ? (
          <FirstRequest row={row} />
        ) : keyText === undefined ? undefined : (
          <SendForMe keyText={displayedKey(keyText)} model={smallModel(models)} />
        )}
      </Step>
    </Steps>
  );
}
