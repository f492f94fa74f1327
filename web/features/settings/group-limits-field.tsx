/** Limits of groups as a table: a row for each group and for each that is added, empty where it has no limit; or the JSON that is stored. */
import { useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useSubmitted } from '../../components/checked-form.tsx';
import { Field } from '../../components/form.tsx';
import { Icon } from '../../components/icon.tsx';
import { call } from '../../lib/api.ts';
import { useOptionalRead } from '../../lib/read.ts';
import { issueOf } from './option-map.ts';
import { JsonSwitch, JsonText, type KeyedRow, rowIssues, useRows } from './stored-json.tsx';

const limits = [
  ['rpm', 'settings.limit.rpm'],
  ['tpm', 'settings.limit.tpm'],
  ['concurrency', 'settings.limit.concurrency'],
] as const;
const shape = { depth: 2, value: 'number' } as const;

export interface GroupLimitsFieldProps {
  readonly option: string;
  readonly label: string;
  readonly help: string;
  readonly error: string | undefined;
  readonly locked: boolean;
  /** JSON. */
  readonly value: string;
  readonly onChange: (value: string) => void;
}

export function GroupLimitsField({ option, label, help, error, locked, value, onChange }: GroupLimitsFieldProps) {
  const { t } = useTranslation();
  const groups = useOptionalRead({ queryKey: ['groups'], queryFn: () => call('group.list') }).data ?? [];
  const [asText, setAsText] = useState(false);
  const columns = limits.map(([limit, key]) => [limit, t(key)] as const);
  const submitted = useSubmitted();
  const { rows, change, keyed } = useRows(value, shape, onChange);
  const text = asText || rows === null;
  const [added, setAdded] = useState<readonly string[]>([]);
  const [other, setOther] = useState('');
  const names = [...new Set([...groups, ...(rows ?? []).map(({ names: [group = ''] }) => group), ...added])];
  const table = useRef<HTMLTableElement>(null);
  const add = () => {
    const name = other.trim();
    if (name === '') return;
    setAdded([...added, name]);
    setOther('');
    // Its limits are typed next.
    requestAnimationFrame(() => table.current?.querySelector<HTMLElement>('tbody tr:last-child input')?.focus());
  };
  const rowOf = (group: string, limit: string) => rows?.find((row) => row.names[0] === group && row.names[1] === limit);
  const isWrong = (row: KeyedRow | undefined) => row !== undefined && issueOf(row, [], shape) !== null;
  const put = (group: string, limit: string, next: string) => {
    const before = rowOf(group, limit);
    const others = (rows ?? []).filter((row) => row !== before);
    const row = { ...(before ?? keyed({ names: [group, limit], value: '' })), value: next };
    change(next.trim() === '' ? others : [...others, row]);
  };
  return (
    <Field
      label={label}
      help={help}
      error={error ?? (submitted && rows?.some(isWrong) === true ? t(rowIssues.number) : undefined)}
    >
      {(ids) => (
        <div className="overflow-x-auto rounded-2 border border-line">
          {text ? (
            <JsonText {...{ ids, option, value, locked, onChange }} />
          ) : (
            <table
              ref={table}
              id={ids.id}
              data-option={option}
              className="sheet-table table-fixed [&_th]:border-t-0 [&_tr:hover>td]:bg-transparent! max-sm:[&_:is(td,th)]:h-auto max-sm:[&_:is(td,th)]:border-0 max-sm:[&_:is(td,th)]:px-1.5 max-sm:[&_:is(td,th)]:py-1 max-sm:[&_tr]:grid max-sm:[&_tr]:grid-cols-3 max-sm:[&_tr]:border-b max-sm:[&_tr]:border-line max-sm:[&_tr]:px-2 max-sm:[&_thead_tr]:bg-sunken"
              aria-label={label}
            >
              <thead>
                <tr>
                  <th scope="col" className="max-sm:hidden">
                    {t('users.group')}
                  </th>
                  {columns.map(([limit, name]) => (
                    <th key={limit} scope="col" className="number">
                      {name}
                    </th>
                  ))}
                </tr>
              </thead>
              <tbody>
                {names.map((group) => (
                  <tr key={group}>
                    <td className="truncate font-mono text-[12px] max-sm:col-span-3 max-sm:pt-2" title={group}>
                      {group}
                    </td>
                    {columns.map(([limit, name]) => {
                      const row = rowOf(group, limit);
                      const wrong = isWrong(row);
                      return (
                        <td key={limit} className="number py-1">
                          <input
                            className={`field text-right max-sm:h-9! max-sm:px-1.5! max-sm:text-[13px]! ${wrong ? 'text-danger' : ''}`}
                            inputMode="numeric"
                            aria-label={t('settings.limit.of', { name, group })}
                            placeholder={t('settings.limit.none')}
                            disabled={locked}
                            aria-invalid={wrong}
                            data-unreadable={wrong || undefined}
                            value={row?.value ?? ''}
                            onChange={(event) => put(group, limit, event.target.value)}
                          />
                        </td>
                      );
                    })}
                  </tr>
                ))}
              </tbody>
            </table>
          )}
          <div className={`flex items-center gap-2 px-5 py-1.5 max-sm:px-1.5 ${text ? 'border-t border-line' : ''}`}>
            {text ? null : (
              <>
                <input
                  className="field h-7! w-44 min-w-0 max-sm:h-9! max-sm:text-[13px]!"
                  aria-label={`${label}: ${t('settings.limit.other')}`}
                  placeholder={t('settings.limit.other')}
                  disabled={locked}
                  value={other}
                  onChange={(event) => setOther(event.target.value)}
                  onKeyDown={(event) => {
                    if (event.key !== 'Enter') return;
                    event.preventDefault();
                    add();
                  }}
                />
                <button type="button" className="button" disabled={locked || other.trim() === ''} onClick={add}>
                  <Icon name="plus" />
                  {t('settings.map.add')}
                </button>
              </>
            )}
            <span className="ml-auto">
              <JsonSwitch label={label} on={text} disabled={rows === null} onChange={setAsText} />
            </span>
          </div>
        </div>
      )}
    </Field>
  );
}
