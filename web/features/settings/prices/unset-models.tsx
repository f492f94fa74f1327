/** Models on enabled channels that have no price; several get a price at once. */

import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { FailureNote } from '../../../components/failure.tsx';
import { Pager } from '../../../components/pager.tsx';
import { Select } from '../../../components/select.tsx';
import { Waiting } from '../../../components/waiting.tsx';
import { call } from '../../../lib/api.ts';
import { useList } from '../../../lib/read.ts';
import { FillFields } from './fill-fields.tsx';
import { type MapTexts, type ModelRow, rowsOf, withModel } from './price-maps.ts';

const sizes = [10, 20, 50, 100];
interface UnsetTableProps {
  readonly visible: readonly string[];
  readonly selected: ReadonlySet<string>;
  readonly pick: (names: readonly string[], on: boolean) => void;
}

function UnsetTable({ visible, selected, pick }: UnsetTableProps) {
  const { t } = useTranslation();
  return (
    <table className="sheet-table">
      <thead>
        <tr>
          <th scope="col">
            <label className="flex items-center gap-2">
              <input
                type="checkbox"
                className="size-4 accent-(--accent)"
                checked={visible.length > 0 && visible.every((name) => selected.has(name))}
                onChange={(event) => pick(visible, event.target.checked)}
              />
              {t('prices.name')}
            </label>
          </th>
        </tr>
      </thead>
      <tbody>
        {visible.map((name) => (
          <tr key={name}>
            <td>
              <label className="flex items-center gap-2">
                <input
                  type="checkbox"
                  className="size-4 accent-(--accent)"
                  checked={selected.has(name)}
                  onChange={(event) => pick([name], event.target.checked)}
                />
                {name}
              </label>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function SizeSelect({ size, onSize }: { readonly size: number; readonly onSize: (size: number) => void }) {
  const { t } = useTranslation();
  return (
    <span className="mr-4 ml-auto">
      <Select
        label={t('prices.pageSize')}
        value={String(size)}
        options={sizes.map((one) => [String(one), String(one)] as const)}
        onChange={(next) => onSize(Number(next))}
      />
    </span>
  );
}

export function UnsetModels({
  texts,
  onChange,
}: {
  readonly texts: MapTexts;
  readonly onChange: (texts: MapTexts) => void;
}) {
  const { t } = useTranslation();
  const unset = useList({ queryKey: ['ratio', 'unset'], queryFn: () => call('ratio.unset') });
  const [page, setPage] = useState(1);
  const [size, setSize] = useState(10);
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  // What was priced a moment ago and is not stored yet is no longer unset.
  const priced = new Set(rowsOf(texts).map(({ name }) => name));
  const models = (unset.data ?? []).filter((name) => !priced.has(name));
  const visible = models.slice((page - 1) * size, page * size);
  const pick = (names: readonly string[], on: boolean) =>
    setSelected(on ? new Set([...selected, ...names]) : new Set([...selected].filter((name) => !names.includes(name))));

  const fill = (rowOf: (name: string) => ModelRow) => {
    onChange([...selected].reduce((before, name) => withModel(before, rowOf(name)), texts));
    setSelected(new Set());
  };

  if (unset.pending) return <Waiting />;
  if (unset.failure !== null) return <FailureNote failure={unset.failure} title={t('prices.enabledFailed')} />;
  if (unset.data !== undefined && models.length === 0)
    return <p className="px-4 py-5 text-ink-2">{t('prices.noneUnset')}</p>;
  return (
    <>
      <FillFields count={selected.size} onFill={fill} />
      <UnsetTable {...{ visible, selected, pick }} />
      <div className="flex items-center">
        <Pager page={page} size={size} total={models.length} onPage={setPage} />
        {models.length > 10 ? (
          <SizeSelect
            size={size}
            onSize={(next) => {
              setSize(next);
              setPage(1);
            }}
          />
        ) : null}
      </div>
    </>
  );
}
