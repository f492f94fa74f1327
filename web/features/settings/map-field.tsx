/** A map of names to values: rows to add, change and take away; or the JSON that is stored, to be pasted. */
import { useDeferredValue, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { OptionKey } from '../../../server/contract/options.ts';
import { useSubmitted } from '../../components/checked-form.tsx';
import { Field } from '../../components/form.tsx';
import { Icon } from '../../components/icon.tsx';
import { issueOf, type MapRow, type MapShape } from './option-map.ts';
import { JsonSwitch, JsonText, type KeyedRow, rowIssues, useRows } from './stored-json.tsx';

/** So many rows are on the page at once: the rest is found by its name. */
const maxRows = 50;

export interface MapFieldProps {
  readonly option: OptionKey;
  readonly shape: MapShape;
  readonly label: string;
  readonly help: string;
  readonly error: string | undefined;
  readonly locked: boolean;
  /** JSON. */
  readonly value: string;
  readonly onChange: (value: string) => void;
}

export function MapField({ option, shape, label, help, error, locked, value, onChange }: MapFieldProps) {
  const { t } = useTranslation();
  const submitted = useSubmitted();
  const { rows, change, keyed } = useRows(value, shape, onChange);
  const [asText, setAsText] = useState(false);
  const [search, setSearch] = useState('');
  const needle = useDeferredValue(search.trim().toLowerCase());
  const list = useRef<HTMLUListElement>(null);
  const text = asText || rows === null;
  const found = (rows ?? []).filter(
    ({ names }) => needle === '' || names.some((name) => name === '' || name.toLowerCase().includes(needle)),
  );
  const wrong = (row: KeyedRow) => issueOf(row, rows ?? [], shape);
  const put = (row: KeyedRow, some: Partial<MapRow>) =>
    change((rows ?? []).map((one) => (one.key === row.key ? { ...one, ...some } : one)));
  const add = () => {
    setSearch('');
    change([keyed({ names: Array.from({ length: shape.depth }, () => ''), value: '' }), ...(rows ?? [])]);
    requestAnimationFrame(() => list.current?.querySelector('input')?.focus());
  };
  const firstIssue = (rows ?? []).map(wrong).find((issue) => issue !== null);
  return (
    <Field
      label={label}
      help={help}
      error={
        error ?? (submitted && firstIssue !== undefined && firstIssue !== null ? t(rowIssues[firstIssue]) : undefined)
      }
    >
      {(ids) => (
        <div className="rounded-2 border border-line-control">
          <div className="flex flex-wrap items-center gap-2 border-b border-line p-1.5">
            {text ? null : (
              <>
                <button type="button" className="button" disabled={locked} onClick={add}>
                  <Icon name="plus" />
                  {t('settings.map.add')}
                </button>
                {(rows?.length ?? 0) > 8 ? (
                  <input
                    type="search"
                    className="field h-7 w-48"
                    placeholder={t('settings.map.search')}
                    aria-label={`${label}: ${t('settings.map.search')}`}
                    value={search}
                    onChange={(event) => setSearch(event.target.value)}
                  />
                ) : null}
              </>
            )}
            <span className="ml-auto text-[12px] text-ink-3">{rows?.length ?? ''}</span>
            <JsonSwitch label={label} on={text} disabled={rows === null} onChange={setAsText} />
          </div>
          {text ? (
            <JsonText {...{ ids, option, value, locked, onChange }} />
          ) : (
            <ul ref={list} id={ids.id} data-option={option} className="max-h-80 overflow-auto" aria-label={label}>
              {found.slice(0, maxRows).map((row) => {
                const issue = wrong(row);
                const name = row.names.join(' → ');
                return (
                  <li
                    key={row.key}
                    className="flex min-w-0 flex-wrap items-center border-b border-line last:border-0 sm:flex-nowrap"
                  >
                    {row.names.map((one, at) => (
                      <input
                        // biome-ignore lint/suspicious/noArrayIndexKey: the places of a row do not move
                        key={at}
                        className="h-8 min-w-0 flex-1 bg-transparent px-2.5 font-mono text-[12px] max-sm:h-9 max-sm:basis-full"
                        aria-label={t('settings.map.name')}
                        title={one}
                        aria-invalid={issue === 'name' || issue === 'twice'}
                        data-unreadable={issue === 'name' || issue === 'twice' || undefined}
                        disabled={locked}
                        value={one}
                        onChange={(event) =>
                          put(row, { names: row.names.map((old, place) => (place === at ? event.target.value : old)) })
                        }
                      />
                    ))}
                    <input
                      className={`h-8 border-line bg-transparent px-2.5 max-sm:h-9 max-sm:text-left sm:border-l ${shape.value === 'number' ? 'w-28 flex-none text-right max-sm:flex-1' : 'min-w-0 flex-1'} ${issue === 'number' ? 'text-danger' : ''}`}
                      inputMode={shape.value === 'number' ? 'decimal' : undefined}
                      aria-label={t('settings.map.valueOf', { name })}
                      aria-invalid={issue === 'number'}
                      data-unreadable={issue === 'number' || undefined}
                      disabled={locked}
                      value={row.value}
                      onChange={(event) => put(row, { value: event.target.value })}
                    />
                    <button
                      type="button"
                      className="grid h-8 w-9 flex-none place-items-center text-ink-3 hover:text-danger max-sm:h-9"
                      aria-label={t('settings.removeEntry', { name })}
                      disabled={locked}
                      onClick={() => change((rows ?? []).filter(({ key }) => key !== row.key))}
                    >
                      <Icon name="close" />
                    </button>
                  </li>
                );
              })}
              {found.length > maxRows ? (
                <li className="px-2.5 py-2 text-[12px] text-ink-3">
                  {t('settings.map.more', { count: found.length - maxRows })}
                </li>
              ) : null}
              {found.length === 0 ? (
                <li className="px-2.5 py-2 text-[12px] text-ink-3">{t('settings.map.none')}</li>
              ) : null}
            </ul>
          )}
        </div>
      )}
    </Field>
  );
}
