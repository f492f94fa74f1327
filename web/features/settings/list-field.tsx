/** Entries of a list, added and taken away one by one. */
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Field } from '../../components/form.tsx';

export interface ListFieldProps {
  readonly option: string;
  readonly label: string;
  readonly help: string;
  readonly error: string | undefined;
  readonly entries: readonly string[];
  readonly locked: boolean;
  readonly onChange: (entries: readonly string[]) => void;
}

export function ListField({ option, label, help, error, entries, locked, onChange }: ListFieldProps) {
  const { t } = useTranslation();
  const [entry, setEntry] = useState('');
  const add = () => {
    if (entry.trim() === '') return;
    onChange([...entries, entry.trim()]);
    setEntry('');
  };
  return (
    <Field label={label} help={help} error={error}>
      {(ids) => (
        <div className="grid gap-1.5">
          <ul className="flex flex-wrap gap-1.5 empty:hidden">
            {entries.map((one) => (
              <li key={one} className="flex items-center gap-1 rounded-1 bg-sunken px-2 font-mono text-[12px]">
                {one}
                <button
                  type="button"
                  className="size-6 text-ink-3"
                  disabled={locked}
                  aria-label={t('settings.removeEntry', { name: one })}
                  onClick={() => onChange(entries.filter((other) => other !== one))}
                >
                  ×
                </button>
              </li>
            ))}
          </ul>
          <div className="flex gap-2">
            <input
              {...ids}
              data-option={option}
              className="field"
              disabled={locked}
              placeholder={t('settings.newEntry')}
              value={entry}
              onChange={(event) => setEntry(event.target.value)}
              onKeyDown={(event) => {
                if (event.key !== 'Enter') return;
                event.preventDefault();
                add();
              }}
            />
            <button type="button" className="button h-8" disabled={locked} onClick={add}>
              {t('settings.addEntry')}
            </button>
          </div>
        </div>
      )}
    </Field>
  );
}
