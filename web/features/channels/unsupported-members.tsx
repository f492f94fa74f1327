/** What the upstream of a channel does not take: confirmed, deleted, and asked of the upstream itself. */
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { OutputOf } from '../../../server/contract/endpoint.ts';
import type { EndpointOf } from '../../../server/contract/endpoints/index.ts';
import { Confirm } from '../../components/overlay.tsx';
import { call } from '../../lib/api.ts';
import { attempt } from '../../lib/attempt.ts';
import { dateTime } from '../../lib/format.ts';
import { useOptionalRead } from '../../lib/read.ts';

type Row = OutputOf<EndpointOf<'channel.unsupported'>>[number];
type Plan = OutputOf<EndpointOf<'channel.probe_plan'>>;
type Report = OutputOf<EndpointOf<'channel.probe'>>;

const dollars = (value: number | null): string => (value === null ? '?' : `$${value.toFixed(4)}`);

function MemberRow({ channelId, row, onChanged }: { channelId: number; row: Row; onChanged: () => Promise<void> }) {
  const { t } = useTranslation();
  const { model, member } = row;
  const run = async (id: 'channel.unsupported_confirm' | 'channel.unsupported_delete') => {
    await attempt(() => call(id, { id: channelId, model, member }));
    await onChanged();
  };
  const lines = [
    t(`channels.unsupportedSource.${row.source}`),
    t(row.for_all ? 'channels.unsupportedAll' : 'channels.unsupportedOne'),
    ...(row.expires_time === 0 ? [] : [t('channels.unsupportedUntil', { time: dateTime(row.expires_time) })]),
  ];
  return (
    <li className="grid gap-1 border-t border-line py-2 first:border-t-0">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <code className="break-all text-ink-1">{member}</code>
        <span className="text-[12px] break-all text-ink-3">{model}</span>
        <span className="ml-auto flex gap-2">
          {row.source === 'learnt' ? (
            <button
              type="button"
              className="button h-8 max-sm:h-11"
              aria-label={t('channels.unsupportedConfirm', { member, model })}
              onClick={() => void run('channel.unsupported_confirm')}
            >
              {t('channels.unsupportedKeep')}
            </button>
          ) : null}
          <button
            type="button"
            className="button h-8 max-sm:h-11"
            aria-label={t('channels.unsupportedDelete', { member, model })}
            onClick={() => void run('channel.unsupported_delete')}
          >
            {t('app.delete')}
          </button>
        </span>
      </div>
      <p className="text-[12px] break-words text-ink-3">{lines.join(' · ')}</p>
    </li>
  );
}

/** What the upstream answered, where it differs from what is known here or where that stays open. */
function ProbeResult({ report, onStore }: { report: Report; onStore: () => void }) {
  const { t } = useTranslation();
  const different = report.lines.filter(({ differs }) => differs);
  const shown = report.lines.filter(({ differs, upstream }) => differs || upstream === 'unclear');
  return (
    <div role="status" className="grid gap-1 border-t border-line py-2 text-[12px] text-ink-2">
      <p>{t('channels.probeDone', { count: different.length, dollars: dollars(report.spent) })}</p>
      <ul>
        {shown.map(({ question, upstream, words }) => (
          <li key={question} className="break-words">
            {question}: {t(`channels.probeFound.${upstream}`)} {words}
          </li>
        ))}
      </ul>
      {different.some(({ member }) => member !== '') ? (
        <button type="button" className="button h-8 justify-self-start max-sm:h-11" onClick={onStore}>
          {t('channels.probeStore')}
        </button>
      ) : null}
    </div>
  );
}

export function UnsupportedMembers({ channelId }: { readonly channelId: number }) {
  const { t } = useTranslation();
  const client = useQueryClient();
  const [plan, setPlan] = useState<Plan | null>(null);
  const [report, setReport] = useState<Report | null>(null);
  const [busy, setBusy] = useState(false);
  const queryKey = ['channel-unsupported', channelId];
  const rows = useOptionalRead({ queryKey, queryFn: () => call('channel.unsupported', { id: channelId }) }).data ?? [];
  const onChanged = () => client.invalidateQueries({ queryKey });
  const ask = () => attempt(async () => setPlan(await call('channel.probe_plan', { id: channelId })));
  const probe = async () => {
    setPlan(null);
    setBusy(true);
    await attempt(async () => setReport(await call('channel.probe', { id: channelId })));
    setBusy(false);
  };
  const store = async (found: Report) => {
    const members = found.lines.flatMap(({ member }) =>
      member === '' ? [] : [{ model: found.upstream_model, member }],
    );
    await attempt(() => call('channel.unsupported_store', { id: channelId, source: 'probe', members }));
    setReport(null);
    await onChanged();
  };
  return (
    <section className="mb-4 rounded-2 border border-line px-3 pt-2" aria-label={t('channels.unsupported')}>
      <div className="flex items-center gap-3 pb-2">
        <h2 className="text-[12px] leading-4 font-medium text-ink-2">{t('channels.unsupported')}</h2>
        <button
          type="button"
          className="button ml-auto h-8 max-sm:h-11"
          aria-disabled={busy}
          onClick={() => void (busy ? undefined : ask())}
        >
          {t(busy ? 'channels.probing' : 'channels.probe')}
        </button>
      </div>
      {report === null ? null : <ProbeResult report={report} onStore={() => void store(report)} />}
      <ul>
        {rows.map((row) => (
          <MemberRow key={`${row.model} ${row.member}`} channelId={channelId} row={row} onChanged={onChanged} />
        ))}
      </ul>
      {plan === null ? null : (
        <Confirm
          title={t('channels.probe')}
          text={t('channels.probeCost', {
            calls: plan.calls,
            model: plan.upstream_model,
            dollars: dollars(plan.dollars),
          })}
          action={t('channels.probe')}
          onConfirm={() => void probe()}
          onClose={() => setPlan(null)}
        />
      )}
    </section>
  );
}
