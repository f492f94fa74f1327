/** Prices of a newer build, and of the list that is read by the clock, that change only when somebody agrees. */

import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { OutputOf } from '../../../../server/contract/endpoint.ts';
import type { EndpointOf } from '../../../../server/contract/endpoints/index.ts';
import { FailureNote } from '../../../components/failure.tsx';
import { Scrolls } from '../../../components/scrolls.tsx';
import { Waiting } from '../../../components/waiting.tsx';
import { call } from '../../../lib/api.ts';
import { attempt } from '../../../lib/attempt.ts';
import { dateTime, day } from '../../../lib/format.ts';
import { useList } from '../../../lib/read.ts';
import { offerUndo } from '../../../lib/undo.ts';

type Proposal = OutputOf<EndpointOf<'ratio.proposals'>>[number];
type Change = Proposal['changes'][number];

interface RowsProps {
  readonly changes: readonly Change[];
  readonly selected: ReadonlySet<string>;
  readonly onSelect: (names: readonly string[], on: boolean) => void;
}

function Rows({ changes, selected, onSelect }: RowsProps) {
  const { t } = useTranslation();
  const byName = [...Map.groupBy(changes, ({ name }) => name)];
  return (
    <Scrolls className="overflow-auto" aria-label={t('prices.view.proposals')}>
      <table className="sheet-table">
        <thead>
          <tr>
            <th scope="col">
              <label className="flex items-center gap-2">
                <input
                  type="checkbox"
                  className="size-4 accent-(--accent)"
                  checked={byName.every(([name]) => selected.has(name))}
                  onChange={(event) =>
                    onSelect(
                      byName.map(([name]) => name),
                      event.target.checked,
                    )
                  }
                />
                {t('prices.name')}
              </label>
            </th>
            <th scope="col">{t('prices.map')}</th>
            <th scope="col" className="number">
              {t('prices.before')}
            </th>
            <th scope="col" className="number">
              {t('prices.proposed')}
            </th>
          </tr>
        </thead>
        <tbody>
          {byName.flatMap(([name, rows]) =>
            rows.map(({ key, before, after }, index) => (
              <tr key={`${name}/${key}`}>
                <td>
                  {index > 0 ? (
                    <span className="sr-only">{name}</span>
                  ) : (
                    <label className="flex items-center gap-2">
                      <input
                        type="checkbox"
                        className="size-4 accent-(--accent)"
                        checked={selected.has(name)}
                        onChange={(event) => onSelect([name], event.target.checked)}
                      />
                      {name}
                    </label>
                  )}
                </td>
                <td className="text-ink-3">{key}</td>
                <td className="number text-ink-3">{before ?? '–'}</td>
                <td className="number">{after ?? '–'}</td>
              </tr>
            )),
          )}
        </tbody>
      </table>
    </Scrolls>
  );
}

function Block({ proposal, onDecided }: { readonly proposal: Proposal; readonly onDecided: () => Promise<void> }) {
  const { t, i18n } = useTranslation();
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const { source, from, at, changes, held, error } = proposal;
  const names = [...new Set(changes.map(({ name }) => name))].filter((name) => selected.has(name));
  const chosen = names.length === 0 ? {} : { names };
  const select = (some: readonly string[], on: boolean) =>
    setSelected(on ? new Set([...selected, ...some]) : new Set([...selected].filter((name) => !some.includes(name))));
  const decided = async () => {
    setSelected(new Set());
    await onDecided();
  };
  const apply = async () => {
    let version = 0;
    const stored = await attempt(async () => {
      version = (await call('ratio.apply_proposal', { source, at, ...chosen })).version;
    });
    if (!stored) return;
    await decided();
    if (version > 0)
      offerUndo({ back: () => call('ratio.rollback', { version }), done: t('settings.saved'), refresh: onDecided });
  };
  const keep = async () => {
    if (await attempt(() => call('ratio.reject_proposal', { source, at, ...chosen }), t('prices.keptAsTheyAre')))
      await decided();
  };

  return (
    <>
      <div className="flex flex-wrap items-center gap-2 border-b border-line px-4 py-2.5">
        <p className="min-w-0 break-words text-ink-2">
          {source === 'shipped'
            ? t('prices.ofBuild', { day: day(at, i18n.language) })
            : at === 0
              ? t('prices.listUnread', { from })
              : t('prices.ofList', { from, time: dateTime(at) })}
        </p>
        {changes.length === 0 ? null : (
          <span className="flex gap-2 max-sm:w-full sm:ml-auto">
            <button type="button" className="button max-sm:flex-1" onClick={keep}>
              {names.length === 0 ? t('prices.keepAll') : t('prices.keepChosen', { count: names.length })}
            </button>
            <button type="button" className="button button-primary max-sm:flex-1" onClick={apply}>
              {names.length === 0 ? t('prices.applyAll') : t('prices.applyChosen', { count: names.length })}
            </button>
          </span>
        )}
      </div>
      {error === '' ? null : <p className="px-4 py-2.5 text-danger">{t('prices.listFailed', { error })}</p>}
      {changes.length === 0 ? (
        <p className="px-4 py-5 text-ink-2">{t('prices.noneProposed')}</p>
      ) : (
        <Rows {...{ changes, selected }} onSelect={select} />
      )}
      {held.length === 0 ? null : (
        <ul className="px-4 py-2.5 text-ink-3">
          {held.map(({ name, reason }) => (
            <li key={`${name}/${reason}`}>
              <span className="text-ink-2">{name}</span> · {t(`prices.held.${reason as 'gone'}`)}
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

export function Proposals({ onSaved }: { readonly onSaved: () => void }) {
  const client = useQueryClient();
  const list = useList({ queryKey: ['ratio', 'proposals'], queryFn: () => call('ratio.proposals') });
  const decided = async () => {
    onSaved();
    await client.invalidateQueries({ queryKey: ['ratio'] });
  };

  if (list.pending) return <Waiting />;
  return (
    <>
      {list.failure === null ? null : <FailureNote failure={list.failure} />}
      {(list.data ?? []).map((proposal) => (
        <Block key={proposal.source} proposal={proposal} onDecided={decided} />
      ))}
    </>
  );
}
