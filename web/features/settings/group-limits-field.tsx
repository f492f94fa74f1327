/** Limits of groups as a table: a row for each group, empty where it has no limit; or the JSON that is stored. */
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Field } from '../../components/form.tsx';
import { call } from '../../lib/api.ts';
import { useOptionalRead } from '../../lib/read.ts';
import { rowsIn, textOf } from './option-map.ts';

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
  const rows = rowsIn(value, shape);
  const text = asText || rows === null;
  const names = [...new Set([...groups, ...(rows ?? []).map(({ names: [group = ''] }) => group)])];
  const limitOf = (group: string, limit: string): string =>
    rows?.find(({ names }) => names[0] === group && names[1] === limit)?.value ?? '';
  const put = (group: string, limit: string, next: string) => {
    const others = (rows ?? []).filter(({ names }) => names[0] !== group || names[1] !== limit);
    onChange(textOf(next.trim() === '' ? others : [...others, { names: [group, limit], value: next }], shape));
  };
  return (
    <Field label={label} help={help} error={error}>
      {(ids) => (
        <div className="overflow-x-auto rounded-2 border border-line-control">
          {text ? (
            <textarea
              {...ids}
              data-option={option}
              className="block w-full bg-transparent px-2.5 py-1.5 font-mono text-[12px]"
              rows={8}
              spellCheck={false}
              disabled={locked}
              value={value}
              onChange={(event) => onChange(event.target.value)}
            />
          ) : (
            <table
              id={ids.id}
              data-option={option}
              className="sheet-table max-sm:[&_td]:px-1.5 max-sm:[&_th]:px-1.5 max-sm:[&_th]:whitespace-normal"
              aria-label={label}
            >
              <thead>
                <tr>
                  <th scope="col">{t('users.group')}</th>
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
                    <td className="font-mono text-[12px]">{group}</td>
                    {columns.map(([limit, name]) => (
                      <td key={limit} className="number">
                        <input
                          className="h-8 w-full min-w-16 bg-transparent text-right max-sm:h-9 max-sm:min-w-0"
                          inputMode="numeric"
                          aria-label={t('settings.limit.of', { name, group })}
                          placeholder={t('settings.limit.none')}
                          disabled={locked}
                          value={limitOf(group, limit)}
                          onChange={(event) => put(group, limit, event.target.value)}
                        />
                      </td>
                    ))}
                  </tr>
                ))}
              </tbody>
            </table>
          )}
          <p className="border-t border-line p-1.5 text-right">
            <button
              type="button"
              className="button"
              aria-pressed={text}
              aria-label={`${label}: JSON`}
              disabled={rows === null}
              onClick={() => setAsText(!text)}
            >
              {text ? t('settings.map.rows') : 'JSON'}
            </button>
          </p>
        </div>
      )}
    </Field>
  );
}
