/** What the editors of a stored JSON share: its rows as they are typed, and the text itself to be pasted. */
import { useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { FieldIds } from '../../components/form.tsx';
import { type MapRow, type MapShape, rowsIn, textOf } from './option-map.ts';

type Keyed<Row> = Row & { readonly key: number };
export type KeyedRow = Keyed<MapRow>;

export const rowIssues = {
  name: 'settings.map.noName',
  twice: 'settings.map.twice',
  number: 'settings.map.noNumber',
} as const;

/**
 * Rows with keys of their own: a name may be changed, and a number be half typed.
 * @param rowsIn null = the text is not one of rows.
 */
export function useKeyedRows<Row extends object>(
  value: string,
  rowsIn: (text: string) => readonly Row[] | null,
  textOf: (rows: readonly Row[]) => string,
  onChange: (value: string) => void,
) {
  const next = useRef(0);
  const keyed = (row: Row): Keyed<Row> => ({ ...row, key: next.current++ });
  const read = () => rowsIn(value)?.map(keyed) ?? null;
  const [state, setState] = useState(() => ({ text: value, rows: read() }));
  // Something else has changed it: stored, discarded, put back.
  const current = state.text === value ? state : { text: value, rows: read() };
  if (current !== state) setState(current);
  const change = (rows: readonly Keyed<Row>[]) => {
    const text = textOf(rows);
    setState({ text, rows: [...rows] });
    onChange(text);
  };
  return { rows: current.rows, change, keyed };
}

/** The rows of a map. */
export const useRows = (value: string, shape: MapShape, onChange: (value: string) => void) =>
  useKeyedRows<MapRow>(
    value,
    (text) => rowsIn(text, shape),
    (rows) => textOf(rows, shape),
    onChange,
  );

export interface JsonTextProps {
  readonly ids: FieldIds;
  readonly option: string;
  readonly value: string;
  readonly locked: boolean;
  readonly onChange: (value: string) => void;
}

export const JsonText = ({ ids, option, value, locked, onChange }: JsonTextProps) => (
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
);

export interface JsonSwitchProps {
  readonly label: string;
  /** The text is shown. */
  readonly on: boolean;
  /** The text is not one of rows. */
  readonly disabled: boolean;
  readonly onChange: (on: boolean) => void;
}

export function JsonSwitch({ label, on, disabled, onChange }: JsonSwitchProps) {
  const { t } = useTranslation();
  return (
    <button
      type="button"
      className="button"
      aria-pressed={on}
      aria-label={`${label}: JSON`}
      disabled={disabled}
      onClick={() => onChange(!on)}
    >
      {on ? t('settings.map.rows') : 'JSON'}
    </button>
  );
}
