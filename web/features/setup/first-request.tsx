/** The first request: sent from here or by the reader's own client, and its bill the moment it has been written. */

import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'wouter';
import type { Log } from '../../../server/contract/entities.ts';
import { CostBreakdown } from '../../components/cost-breakdown.tsx';
import { messageOf } from '../../lib/attempt.ts';
import { askChat, type ChatAnswer } from '../../lib/chat-stream.ts';
import { grouped, timeText } from '../../lib/format.ts';
import { useMoney } from '../../lib/money.ts';

export function SendForMe({ keyText, model }: { readonly keyText: string; readonly model: string }) {
  const { t } = useTranslation();
  const [answer, setAnswer] = useState<ChatAnswer | null>(null);
  const [state, setState] = useState<'idle' | 'busy' | 'failed'>('idle');
  const [error, setError] = useState('');
  const run = async () => {
    setState('busy');
    setError('');
    try {
      await askChat({
        key: keyText,
        body: { model, stream: true, messages: [{ role: 'user', content: t('setup.question') }] },
        signal: new AbortController().signal,
        onChange: setAnswer,
      });
      setState('idle');
    } catch (failure) {
      setState('failed');
      setError(messageOf(failure));
    }
  };
  return (
    <div className="grid gap-2">
      <div className="flex flex-wrap items-center gap-2">
        <button
          type="button"
          className="button button-primary"
          disabled={state === 'busy' || keyText === '' || model === ''}
          onClick={run}
        >
          {t('setup.sendForMe')}
        </button>
        <code className="font-mono text-[12px] text-ink-3">{model}</code>
      </div>
      <p role="status" className={`break-words ${state === 'failed' ? 'text-danger' : 'text-ink-2'}`}>
        {state === 'failed' ? error : (answer?.text ?? '')}
      </p>
    </div>
  );
}

function detailsOf(row: Log): Readonly<Record<string, unknown>> {
  try {
    return JSON.parse(row.other || '{}') as Record<string, unknown>;
  } catch {
    return {};
  }
}

const seconds = (ms: unknown): string => (typeof ms === 'number' && ms >= 0 ? timeText(ms) : '–');

export function FirstRequest({ row }: { readonly row: Log }) {
  const { t } = useTranslation();
  const money = useMoney();
  const details = detailsOf(row);
  return (
    <div className="grid gap-3">
      <p className="flex flex-wrap items-baseline gap-x-5 gap-y-1">
        <span className="status">200</span>
        <code className="font-mono text-[12px]">{row.model_name}</code>
        {/* On a phone the cost ends the first row, and times and tokens share the second. */}
        <span className="max-sm:order-2">
          {t('setup.times', { first: seconds(details.frt), whole: seconds(details.ms ?? row.use_time * 1000) })}
        </span>
        <span className="ml-auto max-sm:order-3">
          {t('setup.tokens', {
            in: grouped(row.prompt_tokens),
            out: grouped(row.completion_tokens),
          })}
        </span>
        <strong className="text-[20px] leading-7 font-semibold max-sm:order-1 max-sm:ml-auto">
          {money(row.quota, 'exact')}
        </strong>
      </p>
      <CostBreakdown details={details} />
      <p className="flex flex-wrap items-center gap-x-4 gap-y-2">
        <Link href="/detail" className="button button-primary">
          {t('setup.toDashboard')}
        </Link>
        <Link href={`/log?open=${row.id}`}>{t('setup.showLog')}</Link>
        <Link href="/channel/add">{t('setup.second')}</Link>
      </p>
    </div>
  );
}
