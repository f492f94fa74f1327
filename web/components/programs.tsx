/** Programs that are signed in as a user: from where, when, what they spent today; each is signed out here. */
import { useQueryClient } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import type { OutputOf } from '../../server/contract/endpoint.ts';
import type { EndpointOf } from '../../server/contract/endpoints/index.ts';
import { call } from '../lib/api.ts';
import { attempt } from '../lib/attempt.ts';
import { copyOrShow } from '../lib/copy.ts';
import { dateTime } from '../lib/format.ts';
import { useMoney } from '../lib/money.ts';
import { useOptionalRead } from '../lib/read.ts';
import { useServerAddress } from '../lib/status.ts';
import { Card } from './card.tsx';

type Program = OutputOf<EndpointOf<'sign_in.list'>>['items'][number];

function Row({ program, onEnd }: { readonly program: Program; readonly onEnd: () => void }) {
  const { t } = useTranslation();
  const money = useMoney();
  const { name, host, address, created_time: since, last_used_time: last, spent_today: spent } = program;
  const place = host === '' || host === address ? address : `${host}, ${address}`;
  return (
    <li className="flex min-h-12 items-center gap-3 border-b border-line py-1">
      <span className="min-w-0 flex-1">
        <span className="font-medium break-words text-ink-1">{name}</span>
        <span className="block text-[12px] break-words text-ink-3">
          {[
            place,
            t('personal.programSince', { time: dateTime(since) }),
            t('personal.lastUsed', { time: dateTime(last) }),
            t('personal.spentToday', { amount: money(spent) }),
          ].join(' · ')}
        </span>
      </span>
      <button
        type="button"
        className="button button-ghost text-danger"
        aria-label={t('personal.endProgramNamed', { name })}
        onClick={onEnd}
      >
        {t('personal.endProgram')}
      </button>
    </li>
  );
}

/** @param userId of another user; absent = the reader, who is told how to connect one more. */
export function Programs({ userId }: { readonly userId?: number }) {
  const { t } = useTranslation();
  const client = useQueryClient();
  const origin = useServerAddress();
  const key = ['programs', userId ?? 0];
  const read = useOptionalRead({
    queryKey: key,
    queryFn: () => call('sign_in.list', userId === undefined ? {} : { user_id: userId }),
  }).data;
  if (read === undefined || (read.items.length === 0 && (!read.open || userId !== undefined))) return null;
  const end = async (id: number) => {
    await attempt(() => call('sign_in.end', { id }), t('personal.programEnded'));
    await client.invalidateQueries({ queryKey: key });
  };
  const lines = `gateway login ${origin}\ngateway connect`;
  return (
    <Card title={t(userId === undefined ? 'personal.programs' : 'personal.programsOf')}>
      {userId === undefined && read.open ? (
        <>
          <p className="mb-2 text-ink-2">{t('personal.programsHelp')}</p>
          <div className="mb-3 flex items-start gap-2">
            <pre className="min-w-0 flex-1 rounded-2 border border-line bg-sunken px-3 py-2 font-mono text-[12px] leading-5 break-all whitespace-pre-wrap">
              {lines}
            </pre>
            <button
              type="button"
              className="button"
              aria-label={`${t('app.copy')}: ${t('personal.programs')}`}
              onClick={() => void copyOrShow(lines)}
            >
              {t('app.copy')}
            </button>
          </div>
        </>
      ) : null}
      {read.items.length === 0 ? <p className="text-ink-3">{t('personal.noPrograms')}</p> : null}
      <ul>
        {read.items.map((program) => (
          <Row key={program.id} program={program} onEnd={() => void end(program.id)} />
        ))}
      </ul>
    </Card>
  );
}
